"""Ranking by words and by sentence embeddings: what a language model finds near counts beside the words."""

import re
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
from mcpctl.search.tokens import sendable, words

SERVER = 0.5
"""What the mean of its server's tools counts beside a tool: it tells what a terse tool is for."""
FAINTEST = 0.05
"""What is less near is not near."""
MOST_SENTENCES = 12
"""Sentences of one search that are embedded; of several queries each has its share."""
_ALIKE = 0.95
_SHORTEST = 2
"""Words, stop words not counted, of a sentence that says something."""
_SENTENCE = re.compile("(?<![.?!;])[.?!;]+\\s+|[\u3002\uff01\uff1f\uff1b\n]+")
"""Where one ends, in European and in East Asian scripts. Each dot of many is looked at once."""
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
"""Tools that have nothing to do with each other. Models differ in what they give such (.1 to .8): it is what 0 is."""


class Semantic:
    """Ranks tools by BM25 and by the cosine of their embedding to the query's; by BM25 alone while there is none."""

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
        most = max(MOST_SENTENCES // len(texts), 1) if texts else 0
        asked = {text: _sentences(text, most) for text in texts}
        try:
            near = self._near(asked)
        except Exception as error:
            return fallen_back(self.name, error, self._words.search(queries, context=context, limit=limit))
        found = self._words.search(queries, context=context, limit=limit, near=near.__getitem__)
        return replace(found, provider=self.name)

    def _near(self, asked: Mapping[str, Sequence[str]]) -> dict[str, Scores]:
        """How near each tool is to each text, by the sentence it is nearest to: 0 is what strangers are, 1 the same."""
        space = self._space
        if space is None:
            space = self._space = _space(self._words.tools, self._embeddings.of_tools(self._texts))
        tools, strange = space
        vectors = iter(
            self._embeddings.of_queries([sentence for sentences in asked.values() for sentence in sentences])
        )
        near: dict[str, Scores] = {}
        for text, sentences in asked.items():
            nearest = np.zeros(len(tools))
            for vector in islice(vectors, len(sentences)):
                if vector.size != tools.shape[1]:
                    self._space = None
                    self._embeddings.forget()
                    told = f"the model gave {tools.shape[1]} numbers for a tool, and {vector.size} for a query"
                    raise Unavailable(told)
                # Not by matmul: BLAS would start threads for it, and wait for them where the processors are busy.
                np.maximum(nearest, np.einsum("ij,j->i", tools, vector), out=nearest)
            closeness = np.minimum((nearest - strange) / (1 - strange), 1)
            near[text] = np.where(closeness < FAINTEST, 0, closeness)
        return near


def semantic_builder(config: Config, paths: Paths, on_progress: Progress | None) -> Build:
    """What makes the provider for each catalog, all with one model, loaded when it is first needed."""
    embeddings = Embeddings(lambda: _model(config), paths, config.search.semantic_timeout_s, on_progress)
    return lambda tools, notes, kept: Semantic(Bm25(tools, notes, kept), embeddings)


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
    """A text and, where it has several, its sentences: one that tells much is near to no tool as a whole. Nothing of
    one without a word."""
    if next(words(text), None) is None:
        return []
    found = [part for part in _SENTENCE.split(sendable(text)) if len(list(words(part))) >= _SHORTEST]
    return [text, *(found[:most] if len(found) > 1 else ())]


def _text(tool: Tool) -> str:
    """What of a tool is embedded; its parameters were found to blur it, and notes have words enough."""
    return f"{tool.server} {tool.name}: {tool.description.removesuffix(tool.notes)}"


def _space(tools: Sequence[Tool], vectors: Matrix) -> tuple[Matrix, float]:
    """A row for each tool, drawn towards its server; and the mean cosine of those that are strangers."""
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
        raise Unavailable("the model finds all texts alike")
    return ((own + SERVER * sums[server]) / (1 + SERVER)).astype(np.float32), strange
