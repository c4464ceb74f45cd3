"""Ranking by words and by sentence embeddings: the similarity that a model finds counts beside the words."""

import copy
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from mcpctl.base.models import Progress, Tool, unseen
from mcpctl.base.paths import Paths
from mcpctl.config.config import Config
from mcpctl.search.bm25 import Bm25, Teach
from mcpctl.search.embeddings import Directions, Embeddings, Model
from mcpctl.search.fields import fields_of, texts
from mcpctl.search.posting_lists import Scores
from mcpctl.search.ranking import MAX_QUERIES, Build, Ranking, Unavailable, fallen_back
from mcpctl.search.scripts import SENTENCES, script
from mcpctl.search.tokens import sendable, sentences, words

SERVER = 0.5  # the weight of the mean of its server's tools beside a tool: it shows what a terse tool is for
MIN_CLOSENESS = 0.05
MAX_SENTENCES = 12
_ALIKE = 0.95
_ALIKE_IN_SCRIPT = 0.3  # how much nearer than STRANGERS; an English model has .47 or more, a multilingual about 0
_JOINT = re.compile("[\\W_]+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
"""The places where a name falls into words."""
STRANGERS = (
    "Send an e-mail to a person", "The weather of the next days in a city",
    "Convert an amount of money between currencies", "Read the contents of a file", "Resize and crop a picture",
    "Book a table at a restaurant", "Play a song of an artist", "Delete a row of a database table",
    "Translate a text into another language", "Count the words of a document",
)  # fmt: skip
"""Unrelated sentences. Their mean cosine, 0.1 to 0.8 depending on the model, counts as closeness 0."""


class Semantic:
    """Ranks tools by BM25 and by the cosine of their embedding to the query's; without embeddings by BM25 only."""

    name = "semantic"
    waits = True

    def __init__(self, words: Bm25, embeddings: Embeddings) -> None:
        self._words = words
        self._embeddings = embeddings
        self._texts = [*map(_text, words.tools), *STRANGERS]
        self._spaces: dict[int, _Space] = {}  # the one that was made last, for all that are taught, too
        embeddings.begin(self._texts)

    def taught(self, teach: Teach) -> "Semantic":
        taught = copy.copy(self)
        taught._words = self._words.taught(teach)
        return taught

    def search(self, queries: Sequence[str], *, context: str | None = None, limit: int = 10) -> Ranking:
        queries, context = self._words.parted(queries[:MAX_QUERIES], context)
        inputs = [*queries, context] if context else queries
        most = max(MAX_SENTENCES // len(inputs), 1) if inputs else 0
        try:
            near = self._near({text: _sentences(text, most) for text in inputs})
        except Exception as error:
            return fallen_back(self.name, error, self._words.search(queries, context=context, limit=limit))
        ranking = self._words.search(queries, context=context, limit=limit, near=near.__getitem__)
        return replace(ranking, provider=self.name)

    def _near(self, sentences_of: Mapping[str, Sequence[str]]) -> dict[str, Scores | None]:
        """The closeness of each tool to each text, by its nearest sentence: 0 is unrelated, 1 is the same. None of a
        text that the model does not know a word of, or whose script it cannot read."""
        space = self._spaces.get(0)
        if space is None:
            space = self._spaces[0] = _Space(self._words.tools, self._embeddings.of_tools(self._texts))
        vectors = iter(self._embeddings.of_queries([part for parts in sentences_of.values() for part in parts]))
        near: dict[str, Scores | None] = {}
        for text, parts in sentences_of.items():
            nearest = np.zeros(len(self._words.tools))
            for vector in islice(vectors, len(parts)):
                if vector.size != space.size:
                    self._spaces.clear()
                    self._embeddings.forget()
                    sizes = f"{space.size} numbers for a tool, and {vector.size} for a query"
                    raise Unavailable(f"the model returned {sizes}")
                np.maximum(nearest, space.closeness(vector), out=nearest)
            nearest[nearest < MIN_CLOSENESS] = 0
            near[text] = nearest if nearest.any() and self._can_read(script(text), space) else None
        return near

    def _can_read(self, name: str, space: "_Space") -> bool:
        """Whether unrelated sentences in a script are unrelated for the model: those that it cannot read are alike."""
        if name not in SENTENCES:
            return True
        if name not in space.can_read:
            rows = self._embeddings.of_queries(SENTENCES[name]).astype(np.float64)
            space.can_read[name] = _mean_cosine(rows) - space.strange <= _ALIKE_IN_SCRIPT * (1 - space.strange)
        return space.can_read[name]


class _Space:
    """The tools of a catalog as vectors, each shifted towards its server's mean."""

    def __init__(self, tools: Sequence[Tool], rows: Directions) -> None:
        self._rows = rows[: len(tools)]
        self.size = rows.shape[1]
        # Not by matmul here and below: BLAS would start threads for it, and wait for them on a busy machine.
        self._lengths = np.sqrt(np.einsum("ij,ij->i", self._rows, self._rows, dtype=np.float64)).clip(1)
        numbers: dict[str, int] = {}
        self._server = np.array([numbers.setdefault(tool.server, len(numbers)) for tool in tools], np.intp)
        self._servers = np.zeros((len(numbers), self.size))
        for server, row, length in zip(self._server, self._rows, self._lengths, strict=True):
            self._servers[server] += row / length
        self._servers /= np.linalg.norm(self._servers, axis=1, keepdims=True).clip(1e-9)
        strangers = rows[len(tools) :].astype(np.float64)
        strangers /= np.linalg.norm(strangers, axis=1, keepdims=True).clip(1)
        self.strange = _mean_cosine(strangers)
        self.can_read: dict[str, bool] = {}  # by the name of a script
        if self.strange > _ALIKE:
            raise Unavailable("the model returns nearly the same vector for every text")

    def closeness(self, vector: NDArray[np.float32]) -> Scores:
        """How near each tool is to a query's vector: 0 is unrelated, 1 is the same."""
        own = np.einsum("ij,j->i", self._rows, vector) / self._lengths
        # Were there one server, its mean would only make the tools more alike.
        shift = SERVER if len(self._servers) > 1 else 0.0
        cosines = (own + shift * np.einsum("ij,j->i", self._servers, vector)[self._server]) / (1 + shift)
        closeness: Scores = np.minimum((cosines - self.strange) / (1 - self.strange), 1)
        return closeness


def _mean_cosine(rows: NDArray[np.float64]) -> float:
    """The mean cosine of different rows of length 1."""
    cosines = np.einsum("ij,kj->ik", rows, rows)
    count = len(rows)
    return float((cosines.sum() - np.trace(cosines)) / (count * (count - 1)))


def semantic_builder(config: Config, paths: Paths, on_progress: Progress | None) -> Build:
    embeddings = Embeddings(lambda: _model(config), paths, config.search.semantic_timeout_s, on_progress)
    return lambda tools, notes, index_path: Semantic(Bm25(tools, notes, index_path, on_progress or unseen), embeddings)


def _model(config: Config) -> Model:
    settings = config.search
    if settings.semantic_url:
        from mcpctl.search.embedding_models import HostedModel

        return HostedModel(settings.semantic_url, settings.semantic_model)
    if settings.semantic_model:
        from mcpctl.search.embedding_models import LocalModel

        return LocalModel(config.beside(settings.semantic_model))
    raise Unavailable("[search] has no semantic_model")


def _sentences(text: str, most: int) -> list[str]:
    """A text and its sentences, since a long text as a whole is near to no tool; nothing if it has no word."""
    return [] if next(words(text), None) is None else [text, *sentences(sendable(text), most)]


def _text(tool: Tool) -> str:
    """The text of a tool that is embedded: few words that tell it from others, without notes."""
    of_tool = texts(tool)
    field = dict(zip((field.name for field in fields_of(of_tool)), of_tool, strict=True))
    names = f"{_spaced(tool.server)} {_spaced(tool.name)}"
    said = field["summary" if tool.inferred is None else "title"].strip()
    summary = f": {said}" if said else ""
    parameters = f" ({', '.join(field['parameters'].split())})" if field["parameters"] else ""
    return names + summary + parameters


def _spaced(name: str) -> str:
    return _JOINT.sub(" ", name).strip()
