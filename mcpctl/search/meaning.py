"""Nearness of meaning: a table of word vectors, in which words of one meaning point in about one direction, and tools
and queries as sums of their words' vectors. So a tool can be near to a query that has none of its words. The table
comes with mcpctl and is made by `python -m tests.words`; NOTICE says from which sources."""

from bisect import bisect_left
from collections.abc import Collection, Sequence
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mcpctl.base.errors import Unusable
from mcpctl.search.posting_lists import Okapi, Scores

FOLDER = Path(__file__).with_name("table")
WORDS, VECTORS, COUNTS = "words.npy", "vectors.npy", "counts.npy"
MADE = "made.json"  # the file with the sources of a table, and the hashes of its files
_SHARPNESS = 1.5  # the exponent of a term's BM25 score: above 1, words that stand out in a tool count more than in BM25
_MOVE = 0.3  # how far a word moves towards the tools that have it; a word that the table lacks is where they are
_STRANGE = 0.7  # the weight of a word that no tool has, beside that of a word that one tool has
_UNRELATED = 0.1
LARGE = 10_000  # from so many tools on, all are compared by the first numbers of the vectors alone, which say most, …
_FIRST = 24  # … these, …
_BEST = 1_000  # … and only the best ones by all numbers
_AT_ONCE = 4_096

Matrix = NDArray[np.float32]
Kept = NDArray[np.floating]
"""As vectors are kept: of a large catalog in 16 bits, which is half the size; among few tools they would break ties."""


class WordTable:
    """Stems as `tokens.stem` makes them, pairs and characters of Chinese and Japanese, each with its vector."""

    def __init__(
        self, words: NDArray[np.bytes_], vectors: NDArray[np.int8], counts: NDArray[np.unsignedinteger]
    ) -> None:
        """`words` are distinct and in order, in UTF-8; each has room for one byte more than the longest takes."""
        self.words = words
        self.vectors = vectors  # a row for each word, the longer the more it says; only directions count beside that
        self.counts = counts

    @classmethod
    def of(cls, words: Sequence[str], vectors: NDArray[np.int8], counts: Sequence[int]) -> "WordTable":
        encoded = [word.encode() for word in words]
        column = np.array(encoded, f"S{max(map(len, encoded), default=0) + 1}")
        order = np.argsort(column)
        return cls(column[order], vectors[order], np.array(counts).clip(max=65_535).astype(np.uint16)[order])

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: str) -> bool:
        return self.row(word) is not None

    def row(self, word: str) -> int | None:
        # A search in the mapped words takes microseconds; a dictionary of them all takes 20 ms to make.
        encoded = word.encode(errors="replace")
        place = bisect_left(self.words, encoded)
        return place if place < len(self.words) and self.words[place] == encoded else None

    def rows_of(self, words: Sequence[str]) -> NDArray[np.int32]:
        # A word that is cut to the size of the column is longer than all that are in it.
        encoded = np.array([word.encode(errors="replace") for word in words], self.words.dtype)
        places = np.searchsorted(self.words, encoded)
        matches = self.words[np.minimum(places, len(self.words) - 1)] == encoded
        return np.where(matches, places, -1).astype(np.int32)

    def commonest(self, words: Sequence[str], least: int) -> str | None:
        rows = self.rows_of(words) if words else np.zeros(0, np.int32)
        counts = np.where(rows >= 0, self.counts[rows], 0)
        return words[int(counts.argmax())] if np.max(counts, initial=0) >= least else None


@cache
def shipped() -> WordTable:
    """The table that comes with mcpctl; it is mapped, so that what is not looked up is not read. Raises `Unusable`."""
    try:
        return WordTable(_mapped(WORDS), _mapped(VECTORS), _mapped(COUNTS))
    except (OSError, ValueError, EOFError) as error:
        raise Unusable(f"the words in {FOLDER} cannot be read: {error}", "install mcpctl again") from None


def _mapped(name: str) -> NDArray:  # type: ignore[type-arg]
    # A plain array: each look into a numpy.memmap makes another one, ten times as slowly.
    return np.asarray(np.load(FOLDER / name, mmap_mode="r", allow_pickle=False))


class Meaning:
    """The tools and the stems of a catalog in the space of a table of words."""

    def __init__(self, engine: Okapi, tools: Kept, stems: Kept) -> None:
        self._columns: Matrix = tools.T[: _FIRST if len(tools) >= LARGE else None].astype(np.float32, order="C")
        self.tools: Matrix = tools.astype(np.float32) if len(tools) >= LARGE else self._columns.T
        """A row for each document, as long as it is trusted, or of zeros if the table has none of its words."""
        self.stems = stems
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
        stems = slice(int(corpus.counts[:first].sum()), None)
        document = corpus.document[stems]
        weight = engine.added[stems] ** np.float32(_SHARPNESS)
        counts = corpus.counts[first:]
        order = np.argsort(document, kind="stable")
        term = np.repeat(np.arange(counts.size, dtype=np.int32), counts)
        by_document = np.bincount(document, minlength=len(corpus)), term[order], weight[order]
        del term, order
        tools = _units(_product(*by_document, vectors))
        length = np.linalg.norm(vectors, axis=1, keepdims=True)
        length[length == 0] = _median(length[length > 0]) if length.any() else 1
        there = _units(_product(counts, document, weight, tools)) * length
        vectors = np.where(known, (1 - _MOVE) * vectors, 0) + _MOVE * there
        tools = _units(_product(*by_document, vectors)) * corpus.trust[:, None]
        kept = np.float16 if len(corpus) >= LARGE else np.float32
        return cls(engine, tools.astype(kept), vectors.astype(kept))

    def only(self, engine: Okapi, documents: NDArray[np.int32], stems: NDArray[np.bool_]) -> "Meaning":
        """The meaning of these documents, which the engine has: as it is among all."""
        trust = engine.corpus.trust / np.maximum(self._engine.corpus.trust[documents], np.float32(1e-9))
        return Meaning(engine, self.tools[documents] * trust[:, None], self.stems[stems])

    def vectors(self, stems: Collection[str]) -> Matrix:
        """A row for each stem of a query, as long as it counts; of zeros if neither catalog nor table has it."""
        terms = [f"{stem}~" for stem in stems]
        places = [self._engine.numbers.get(term) for term in terms]
        known = [number for number, place in enumerate(places) if place is not None]
        lengths = np.array([self._engine.idf[terms[number]] for number in known], np.float32)
        of_catalog: Matrix = self.stems.take([place - self._first for place in places if place is not None], axis=0)
        of_catalog = of_catalog * lengths[:, None]
        if len(known) == len(terms):
            return of_catalog
        rows = np.zeros((len(terms), self.stems.shape[1]), np.float32)
        rows[known] = of_catalog
        table, strange = shipped(), np.float32(_STRANGE * self._engine.rarity())
        for number, stem in enumerate(stems):
            if places[number] is None and (row := table.row(stem)) is not None:
                rows[number] = table.vectors[row] * strange
        return rows

    def rows(self, stems: Sequence[str]) -> Matrix:
        return _units(self.stems[[self._engine.numbers[stem] - self._first for stem in stems]].astype(np.float32))

    def nearness(self, said: Matrix, beside: Scores) -> Scores:
        """How near each tool is to the nearest of the sums of a query's words, from 0 (unrelated) to 1. In a large
        catalog that is only roughly so, but for the tools that are the best together with scores `beside`."""
        units = _units(said)
        cosines = _cosines(units[:, : len(self._columns)], self._columns)
        if len(self._columns) == self.tools.shape[1]:
            return _near(cosines)
        both = np.maximum(cosines, np.float32(_UNRELATED))
        both -= np.float32(_UNRELATED)
        near = both.astype(np.float64)
        both /= both.max() or 1
        both += beside * (1 / (beside.max() or 1))
        best = np.argpartition(both, -_BEST)[-_BEST:]
        near[best] = _near(_cosines(units, self.tools[best].T))
        return near


def _cosines(units: Matrix, columns: Matrix) -> Matrix:
    # Not by matmul: BLAS would start threads for it, and wait for them on a busy machine.
    nearest: Matrix
    nearest, *others = [np.einsum("ji,j->i", columns, unit) for unit in units]
    for cosines in others:
        np.maximum(nearest, cosines, out=nearest)
    return nearest


def _near(cosines: Matrix) -> Scores:
    # Four digits, so that tools with the same text are equal in spite of rounding.
    near: Scores = ((cosines.astype(np.float64) - _UNRELATED) / (1 - _UNRELATED)).round(4)
    return np.maximum(near, 0)


def _units(rows: Matrix) -> Matrix:
    rows /= np.maximum(np.sqrt(np.einsum("ij,ij->i", rows, rows)), np.float32(1e-9))[:, None]
    return rows


def _median(values: Matrix) -> np.floating:
    """The same as `np.median`, which imports numpy.ma."""
    last = values.size - 1
    middle: np.floating = np.sort(values)[last // 2 : values.size // 2 + 1].mean()
    return middle


def _product(counts: NDArray[np.integer], column: NDArray[np.int32], values: Matrix, dense: Matrix) -> Matrix:
    """The product of a sparse matrix and a dense one; of each row of the sparse one the count of its values."""
    product = np.zeros((len(counts), dense.shape[1]), np.float32)
    start = 0
    for row, end in enumerate(np.cumsum(counts).tolist()):
        # By row this takes a fifth of the time that np.add.reduceat takes for all, and no memory.
        for begin in range(start, end, _AT_ONCE):
            part = slice(begin, min(begin + _AT_ONCE, end))
            product[row] += np.einsum("i,ij->j", values[part], dense[column[part]])
        start = end
    return product
