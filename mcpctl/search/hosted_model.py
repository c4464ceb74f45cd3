"""A sentence-embedding model behind an OpenAI-compatible HTTP endpoint, as many model servers have it.

https://platform.openai.com/docs/api-reference/embeddings/create
"""

from collections.abc import Sequence
from hashlib import sha256
from urllib.parse import urlsplit, urlunsplit

import msgspec
import numpy as np
from numpy.typing import NDArray

from mcpctl.config.settings import SEMANTIC_TOKEN
from mcpctl.search.embeddings import Matrix
from mcpctl.search.json_service import Service
from mcpctl.search.ranking import Unavailable

_MAX_NUMBERS = 16_384
"""The most numbers of a vector; models have 256 to 8,192."""
_MAX_VECTOR = 32 * _MAX_NUMBERS
"""The most bytes of a vector's JSON."""
_MAX_ANSWER = 16 << 20
_MAX_TEXT = 6_000
"""The most characters of a text: as many as endpoints take if each is a token."""


class _Embedding(msgspec.Struct):
    index: int
    embedding: msgspec.Raw
    """A list of numbers, decoded one vector at a time, since decoded numbers take twenty times the memory."""


class _Embeddings(msgspec.Struct):
    data: list[_Embedding]


class HostedModel:
    """The model `model` at an address such as https://api.openai.com/v1, with or without /embeddings."""

    portion = 32
    """Every endpoint takes so many."""

    def __init__(self, url: str, model: str) -> None:
        address = urlsplit(url)
        path = address.path.rstrip("/")
        whole = path if path.endswith("/embeddings") else f"{path}/embeddings"
        self._service = Service(urlunsplit(address._replace(path=whole)), SEMANTIC_TOKEN, _MAX_ANSWER)
        self._model = model
        # Hashed, since an address may have a key in it.
        self.name = f"{sha256(url.encode()).hexdigest()} {model}"

    def embed(self, texts: Sequence[str], *, are_queries: bool, seconds: float) -> Matrix:
        """The vectors of texts, a row of length 1 for each; raises `Unavailable`."""
        inputs = [text[:_MAX_TEXT] for text in texts]
        request = {"model": self._model, "input": inputs, "encoding_format": "float"}
        answer = self._service.post(msgspec.json.encode(request), seconds)
        try:
            embeddings = sorted(msgspec.json.decode(answer, type=_Embeddings).data, key=lambda item: item.index)
            rows = [_vector(bytes(item.embedding)) for item in embeddings[: len(texts)]]
        except (msgspec.MsgspecError, RecursionError) as error:
            raise Unavailable(f"its answer is not that of an embeddings endpoint ({error})") from None
        if [item.index for item in embeddings] != list(range(len(texts))) or len({row.size for row in rows}) != 1:
            raise Unavailable("its answer does not have one embedding for each text, all of one length")
        vectors = np.stack(rows)
        lengths = np.abs(vectors).max(axis=1, keepdims=True).clip(1e-300)
        vectors /= lengths  # so that squares cannot overflow
        result: Matrix = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True).clip(1e-300)).astype(np.float32)
        return result


def _vector(text: bytes) -> NDArray[np.float64]:
    """The numbers of one embedding; raises `Unavailable` if it has none or more than any model's."""
    numbers = msgspec.json.decode(text, type=list[float]) if len(text) <= _MAX_VECTOR else ()
    if not 0 < len(numbers) <= _MAX_NUMBERS:
        raise Unavailable(f"its answer has an embedding with no numbers, or with more than {_MAX_NUMBERS:,}")
    return np.array(numbers)
