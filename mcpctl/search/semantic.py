"""Ranking by words and by sentence embeddings: the similarity that a model finds counts beside the words."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice

import numpy as np

from mcpctl.config import Config
from mcpctl.models import Progress, Tool
from mcpctl.paths import Paths
from mcpctl.search.bm25 import Bm25
from mcpctl.search.embeddings import Embeddings, Matrix, Model
from mcpctl.search.posting_lists import Scores
from mcpctl.search.ranking import MAX_QUERIES, Build, Ranking, Unavailable, fallen_back
from mcpctl.search.tokens import sendable, sentences, words

SERVER = 0.5
"""The weight of the mean of its server's tools beside a tool: it shows what a terse tool is for."""
MIN_CLOSENESS = 0.05
"""A lower closeness counts as 0."""
MAX_SENTENCES = 12
"""The most sentences of one search that are embedded; several queries share them."""
_ALIKE = 0.95
STRANGERS = (
    "Send an e-mail to a person",
    "The weather of the next days in a city",
    "Convert an amount of money between currencies",
    "Read the contents of a file",
    "Resize and crop a picture",
    "Book a table at a restaurant",
    "Play a song of an artist",
    "Delete a row of a database table",
    "Translate a text into another language",
    "Count the words of a document",
)
"""Unrelated sentences. Their mean cosine, 0.1 to 0.8 depending on the model, counts as closeness 0."""


class Semantic:
    """Ranks tools by BM25 and by the cosine of their embedding to the query's; without embeddings by BM25 only."""

    name = "semantic"
    waits = True

    def __init__(self, words: Bm25, embeddings: Embeddings) -> None:
        self._words = words
        self._embeddings = embeddings
        self._texts = [*map(_text, words.tools), *STRANGERS]
        self._space: tuple[Matrix, float] | None = None
        embeddings.begin(self._texts)

    def search(self, queries: Sequence[str], *, context: str | None = None, limit: int = 10) -> Ranking:
        """The best `limit` tools for any of the queries; the context only reorders them."""
        queries = queries[:MAX_QUERIES]
        texts = [*queries, context] if context else queries
        most = max(MAX_SENTENCES // len(texts), 1) if texts else 0
        try:
            near = self._near({text: _sentences(text, most) for text in texts})
        except Exception as error:
            return fallen_back(self.name, error, self._words.search(queries, context=context, limit=limit))
        ranking = self._words.search(queries, context=context, limit=limit, near=near.__getitem__)
        return replace(ranking, provider=self.name)

    def _near(self, sentences_of: Mapping[str, Sequence[str]]) -> dict[str, Scores]:
        """The closeness of each tool to each text, by its nearest sentence: 0 is unrelated, 1 is the same."""
        space = self._space
        if space is None:
            space = self._space = _space(self._words.tools, self._embeddings.of_tools(self._texts))
        tools, strange = space
        vectors = iter(self._embeddings.of_queries([part for parts in sentences_of.values() for part in parts]))
        near: dict[str, Scores] = {}
        for text, parts in sentences_of.items():
            nearest = np.zeros(len(tools))
            for vector in islice(vectors, len(parts)):
                if vector.size != tools.shape[1]:
                    self._space = None
                    self._embeddings.forget()
                    sizes = f"{tools.shape[1]} numbers for a tool, and {vector.size} for a query"
                    raise Unavailable(f"the model returned {sizes}")
                # Not by matmul: BLAS would start threads for it, and wait for them on a busy machine.
                np.maximum(nearest, np.einsum("ij,j->i", tools, vector), out=nearest)
            closeness = np.minimum((nearest - strange) / (1 - strange), 1)
            near[text] = np.where(closeness < MIN_CLOSENESS, 0, closeness)
        return near


def semantic_builder(config: Config, paths: Paths, on_progress: Progress | None) -> Build:
    """A function that makes the provider for each catalog, all with one model, which is loaded when first needed."""
    embeddings = Embeddings(lambda: _model(config), paths, config.search.semantic_timeout_s, on_progress)
    return lambda tools, notes, index_path: Semantic(Bm25(tools, notes, index_path), embeddings)


def _model(config: Config) -> Model:
    """The model that the configuration names; raises `Unavailable`."""
    settings = config.search
    if settings.semantic_url:
        from mcpctl.search.hosted_model import HostedModel

        return HostedModel(settings.semantic_url, settings.semantic_model)
    if settings.semantic_model:
        from mcpctl.search.local_model import LocalModel

        return LocalModel(config.beside(settings.semantic_model))
    raise Unavailable("[search] has no semantic_model")


def _sentences(text: str, most: int) -> list[str]:
    """A text and, if it has several, its sentences, since a long text as a whole is near to no tool; empty for a text
    without words."""
    return [] if next(words(text), None) is None else [text, *sentences(sendable(text), most)]


def _text(tool: Tool) -> str:
    """The text of a tool that is embedded: without parameters, which made results worse, and without notes."""
    return f"{tool.server} {tool.name}: {tool.description.removesuffix(tool.notes)}"


def _space(tools: Sequence[Tool], vectors: Matrix) -> tuple[Matrix, float]:
    """One vector for each tool, shifted towards its server's mean, and the mean cosine of `STRANGERS`."""
    own, strangers = vectors[: len(tools)], vectors[len(tools) :]
    numbers: dict[str, int] = {}
    server = [numbers.setdefault(tool.server, len(numbers)) for tool in tools]
    sums = np.zeros((len(numbers), own.shape[1]), np.float32)
    np.add.at(sums, server, own)
    sums /= np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-9)
    cosines = strangers @ strangers.T
    count = len(strangers)
    strange = float((cosines.sum() - np.trace(cosines)) / (count * (count - 1)))
    if strange > _ALIKE:
        raise Unavailable("the model returns nearly the same vector for every text")
    return ((own + SERVER * sums[server]) / (1 + SERVER)).astype(np.float32), strange
