"""Sentence-embedding models: in a folder, run by ONNX Runtime, or behind an OpenAI-compatible HTTP endpoint:
https://platform.openai.com/docs/api-reference/embeddings/create."""

import json
import os
import platform
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

import msgspec
import numpy as np
from numpy.typing import NDArray

from mcpctl.base import files
from mcpctl.base.errors import McpctlError
from mcpctl.config.settings import SEMANTIC_TOKEN
from mcpctl.search.embeddings import Matrix
from mcpctl.search.json_service import Service
from mcpctl.search.ranking import Unavailable

if TYPE_CHECKING:
    from tokenizers import Encoding

_MAX_TOKENS = 512
_BATCH = 8  # texts that the model reads at once: a larger batch is mostly padding, and does not fit the caches
_KINDS = {"tensor(int32)": np.int32, "tensor(int64)": np.int64}
_PADDING = {"direction", "pad_id", "pad_type_id", "pad_token"}
_MODULES = {"Transformer", "Pooling", "Normalize"}
_POOLINGS = {"pooling_mode_cls_token", "pooling_mode_mean_tokens"}

_PROCESSOR = Path("/proc/cpuinfo")
_WHOLE = ("model.onnx", "model_O3.onnx", "model_O2.onnx", "model_O1.onnx")
_UNSIGNED = ("model_quint8_avx2.onnx", "model_uint8.onnx")
_SIGNED = ("model_quantized.onnx", "model_int8.onnx")
"""8-bit models with signed weights, whose sums overflow on x86 processors without VNNI instructions; on those that have
them, a model with unsigned ones is slower than one with 32 bits."""
_VNNI = ("model_qint8_avx512_vnni.onnx", "model_qint8_avx512.onnx", *_SIGNED)
_ARM = ("model_qint8_arm64.onnx", *_SIGNED, *_UNSIGNED)

_MAX_NUMBERS = 16_384
_MAX_VECTOR = 32 * _MAX_NUMBERS
_MAX_ANSWER = 16 << 20
_MAX_TEXT = 6_000  # the most characters of a text: as many as endpoints take if each is a token


class LocalModel:
    """The model in a folder with `tokenizer.json` and `model.onnx` or another `model*.onnx`, there or in `onnx/`. It
    is the model that comes first in this machine's order: 8-bit numbers, then 32-bit, then others. Its
    settings are read as sentence-transformers does (https://sbert.net): the maximum of tokens from
    `sentence_bert_config.json`, the pooling (first token or mean) from `1_Pooling/config.json`, the prompts before
    queries and documents from `config_sentence_transformers.json`."""

    portion = 128

    def __init__(self, folder: Path) -> None:
        # Since 1.29 it would send events to its maker, with an id of this machine that it keeps. Its own switch comes
        # too late: this one must be set before it starts (Privacy.md of its package).
        os.environ["ORT_DISABLE_TELEMETRY"] = "1"
        try:
            import onnxruntime
            import tokenizers
        except ImportError as error:
            install = "install it with: pip install 'mcpctl[semantic]'"
            raise Unavailable(f"{error.name} is not installed; {install}") from None
        vocabulary = folder / "tokenizer.json"
        model = min((*folder.glob("model*.onnx"), *folder.glob("onnx/model*.onnx")), key=_place, default=None)
        if model is None or not vocabulary.is_file():
            raise Unavailable(f"there is no {'tokenizer.json' if model else 'model.onnx'} in {folder}")
        stat = model.stat()
        self.name = f"{model.resolve()}:{stat.st_size}:{stat.st_mtime_ns}"
        options = onnxruntime.SessionOptions()
        # Its threads must not spin while the server waits for queries.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        try:
            self._tokenizer = tokenizers.Tokenizer.from_file(str(vocabulary))
            self._session = onnxruntime.InferenceSession(str(model), options)
        except Exception as error:  # their exceptions have no common class
            raise Unavailable(f"the model in {folder} cannot be read: {str(error).splitlines()[0]}") from error
        _check_modules(folder)
        limit = _read(folder / "sentence_bert_config.json").get("max_seq_length")
        self._tokenizer.enable_truncation(min(limit, _MAX_TOKENS) if isinstance(limit, int) else _MAX_TOKENS)
        self._padding = {name: value for name, value in (self._tokenizer.padding or {}).items() if name in _PADDING}
        self._tokenizer.no_padding()
        self._by_first = _read(folder / "1_Pooling" / "config.json").get("pooling_mode_cls_token") is True
        prompts = _read(folder / "config_sentence_transformers.json").get("prompts")
        self._prompts = prompts if isinstance(prompts, dict) else {}
        self._inputs = {input_.name: _KINDS.get(input_.type, np.int64) for input_ in self._session.get_inputs()}
        self._tokenizing = Lock()

    def embed(self, texts: Sequence[str], *, are_queries: bool, seconds: float) -> Matrix:
        kinds = ("query",) if are_queries else ("document", "passage")
        prompt = next((str(self._prompts[kind]) for kind in kinds if self._prompts.get(kind)), "")
        with self._tokenizing:
            encodings = self._tokenizer.encode_batch([prompt + text for text in texts])
        # Sorted by length, so that short texts are not padded to the length of long ones.
        order = sorted(range(len(texts)), key=lambda number: len(encodings[number]))
        batches = (order[start : start + _BATCH] for start in range(0, len(order), _BATCH))
        vectors = np.concatenate([self._batch([encodings[number] for number in batch]) for batch in batches])
        return np.ascontiguousarray(vectors[np.argsort(order)])

    def _batch(self, encodings: "Sequence[Encoding]") -> Matrix:
        longest = max(map(len, encodings))
        for encoding in encodings:
            encoding.pad(longest, **self._padding)
        mask = np.array([encoding.attention_mask for encoding in encodings], np.int64)
        ids = np.array([encoding.ids for encoding in encodings], np.int64)
        inputs = {
            "input_ids": ids,
            "attention_mask": mask,
            "token_type_ids": np.zeros_like(ids),
            "position_ids": np.broadcast_to(np.arange(ids.shape[1]), ids.shape),
        }
        outputs = self._session.run(
            None, {name: inputs[name].astype(kind) for name, kind in self._inputs.items() if name in inputs}
        )
        vectors = next((output for output in outputs if output.ndim == 2), None)
        if vectors is None and self._by_first:
            vectors = outputs[0][:, 0]
        elif vectors is None:  # the mean of a text's tokens without the padding
            vectors = (outputs[0] * mask[..., None]).sum(1) / mask.sum(1, keepdims=True).clip(1)
        rows: Matrix = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True).clip(1e-9)).astype(np.float32)
        return rows


def _place(model: Path) -> tuple[int, str]:
    order = (*_small(), *_WHOLE)
    return (order.index(model.name) if model.name in order else len(order)), str(model)


def _small() -> tuple[str, ...]:
    """The 8-bit models that this processor runs well, the fastest first."""
    if platform.machine().lower() in ("arm64", "aarch64"):
        return _ARM
    try:
        return _VNNI if "_vnni" in files.read_text(_PROCESSOR) else _UNSIGNED
    except McpctlError:
        return _UNSIGNED  # systems other than Linux do not tell


def _check_modules(folder: Path) -> None:
    """Refuse a model with a module or a pooling that is not supported here: its vectors would be wrong."""
    try:
        modules = json.loads(files.read_text(folder / "modules.json"))
    except (McpctlError, ValueError, RecursionError):
        modules = []
    kinds = {str(module.get("type")).rpartition(".")[2] for module in modules if isinstance(module, dict)}
    pooling = _read(folder / "1_Pooling" / "config.json")
    modes = {name for name, is_used in pooling.items() if name.startswith("pooling_mode_") and is_used is True}
    if unsupported := sorted((kinds - _MODULES) | (modes - _POOLINGS)):
        raise Unavailable(f"the model in {folder} needs {', '.join(unsupported)}, which is not supported")


def _read(path: Path) -> dict[str, Any]:
    try:
        settings = json.loads(files.read_text(path))
    except (McpctlError, ValueError, RecursionError):
        return {}
    return settings if isinstance(settings, dict) else {}


class _Embedding(msgspec.Struct):
    index: int
    embedding: msgspec.Raw  # numbers, decoded one vector at a time, since decoded ones take twenty times the memory


class _Embeddings(msgspec.Struct):
    data: list[_Embedding]


class HostedModel:
    """The model `model` at an address such as https://api.openai.com/v1, with or without /embeddings."""

    portion = 32

    def __init__(self, url: str, model: str) -> None:
        address = urlsplit(url)
        path = address.path.rstrip("/")
        whole = path if path.endswith("/embeddings") else f"{path}/embeddings"
        self._service = Service(urlunsplit(address._replace(path=whole)), SEMANTIC_TOKEN, _MAX_ANSWER)
        self._model = model
        # Hashed, since an address may have a key in it.
        self.name = f"{sha256(url.encode()).hexdigest()} {model}"

    def embed(self, texts: Sequence[str], *, are_queries: bool, seconds: float) -> Matrix:
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
    numbers = msgspec.json.decode(text, type=list[float]) if len(text) <= _MAX_VECTOR else ()
    if not 0 < len(numbers) <= _MAX_NUMBERS:
        raise Unavailable(f"its answer has an embedding with no numbers, or with more than {_MAX_NUMBERS:,}")
    return np.array(numbers)
