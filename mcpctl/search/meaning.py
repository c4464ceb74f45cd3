"""Nearness of meaning: tools and queries are sums of their words' vectors, in which words of one meaning are near.

So a tool can be near to a query that has none of its words.
"""

from collections.abc import Collection, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from mcpctl.search.posting_lists import Okapi, Scores
from mcpctl.search.word_table import WordTable, shipped

_SHARPNESS = 1.5
"""The exponent of a term's BM25 score: above 1, the words that stand out in a tool count more than in BM25."""
_MOVE = 0.3
"""How far a word moves towards the tools of the catalog that have it: to what it means there. A word that the table
lacks is where they are."""
_STRANGE = 0.7
"""The weight of a word that no tool has, beside that of a word that one tool has."""
UNRELATED = 0.1
"""A lower cosine counts as 0."""
_PORTION = 2_000_000
"""How many numbers are held in memory while sparse rows are multiplied."""

Matrix = NDArray[np.float32]


class Meaning:
    """The tools and the stems of a catalog in the space of a table of words."""

    def __init__(self, engine: Okapi, tools: Matrix, stems: Matrix) -> None:
        self.tools = tools
        """A row of length 1 for each document, or of zeros if the table has none of its words."""
        self.stems = stems
        """A row for each stem, in the corpus's order."""
        self._engine = engine
        self._first = len(engine.corpus.surface)

    @classmethod
    def of(cls, engine: Okapi, table: WordTable) -> "Meaning":
        """The meaning of an engine's documents: the sums of the vectors of their stems, weighted by BM25."""
        corpus = engine.corpus
        first = len(corpus.surface)
        rows = table.rows_of([term[:-1] for term in corpus.terms[first:]])
        known = (rows >= 0)[:, None]
        vectors = np.where(known, table.vectors[rows], np.float32(0))
        pairs = slice(int(np.searchsorted(corpus.term, first)), None)
        term, document = corpus.term[pairs] - first, corpus.document[pairs]
        weight = (engine.added[pairs] ** _SHARPNESS).astype(np.float32)
        order = np.argsort(document, kind="stable")
        by_document = document[order], term[order], weight[order]
        tools = _units(_product(*by_document, len(corpus), vectors))
        length = np.linalg.norm(vectors, axis=1, keepdims=True)
        length[length == 0] = np.median(length[length > 0]) if length.any() else 1
        there = _units(_product(term, document, weight, len(vectors), tools)) * length
        vectors = np.where(known, (1 - _MOVE) * vectors, 0) + _MOVE * there
        return cls(engine, _units(_product(*by_document, len(corpus), vectors)), vectors.astype(np.float32))

    def vectors(self, stems: Collection[str]) -> Matrix:
        """A row for each stem of a query: as long as it counts there, of zeros for what neither the catalog nor the
        table has."""
        rows = np.zeros((len(stems), self.stems.shape[1]), np.float32)
        table = shipped()
        strange = np.float32(_STRANGE * self._engine.rarity())
        for number, stem in enumerate(stems):
            place = self._engine.numbers.get(f"{stem}~")
            if place is not None:
                rows[number] = self.stems[place - self._first] * np.float32(self._engine.idf[f"{stem}~"])
            elif (row := table.row(stem)) is not None:
                rows[number] = table.vectors[row] * strange
        return rows

    def rows(self, stems: Sequence[str]) -> Matrix:
        """The directions of stems of the corpus, as its terms have them."""
        return _units(self.stems[[self._engine.numbers[stem] - self._first for stem in stems]])

    def nearness(self, vector: NDArray[np.float32]) -> Scores:
        """How near each tool is to the sum of a query's words, from 0 (unrelated) to 1."""
        length = float(np.linalg.norm(vector))
        # Not by matmul: BLAS would start threads for it, and wait for them on a busy machine.
        cosines: Scores = np.einsum("ij,j->i", self.tools, vector / (length or 1.0)).astype(np.float64)
        # Four digits, so that tools with the same text are equal in spite of rounding.
        return np.maximum(np.round((cosines - UNRELATED) / (1 - UNRELATED), 4), 0)


def _units(rows: Matrix) -> Matrix:
    """Rows of length 1; those of zeros stay."""
    units: Matrix = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)
    return units


def _product(row: NDArray[np.int32], column: NDArray[np.int32], values: Matrix, rows: int, dense: Matrix) -> Matrix:
    """The product of a sparse matrix, its rows in order, and a dense one."""
    product = np.zeros((rows, dense.shape[1]), np.float32)
    if not row.size:
        return product
    starts = np.flatnonzero(np.diff(row, prepend=-1))
    for heads, end in _portions(starts, row.size, max(1, _PORTION // dense.shape[1])):
        part = values[heads[0] : end, None] * dense[column[heads[0] : end]]
        product[row[heads]] = np.add.reduceat(part, heads - heads[0], axis=0)
    return product


def _portions(starts: NDArray[np.intp], end: int, size: int) -> Iterator[tuple[NDArray[np.intp], int]]:
    """Portions of whole rows with about `size` entries: the starts of the rows, and the end of the portion."""
    cuts = np.unique(np.searchsorted(starts, np.arange(0, end, size)).clip(0, starts.size - 1)).tolist()
    for first, after in zip(cuts, [*cuts[1:], starts.size], strict=True):
        yield starts[first:after], int(starts[after]) if after < starts.size else end
