"""Soft words: where tools lack most words of a query, as in another language, each counts by the nearest words that
they have."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from mcpctl.search.meaning import Matrix, Meaning, WordTable
from mcpctl.search.posting_lists import Floats, Numbers, Okapi, Scores
from mcpctl.search.query_reading import Query

LACKING = 0.5  # the share of words without a match from which on near words count, in English; .3 was as good
_MOST = 8  # the nearest words that count: 4 to 12 differed little
_LEAST = 0.5  # the least cosine of a word that counts, and …
_NOTHING = 0.35  # … that of one that would count nothing; the same word would count wholly
_LOOKED_AT = 64  # the words that are compared by all numbers of their vectors: the nearest by the first ones, …
_FIRST = 24  # … these, which say most
_KEPT = 4_096  # the most words of queries whose neighbours are kept, …
_KEPT_SCORES = 2_000_000  # … and the most scores of tools that are kept with them


class Neighbour(NamedTuple):
    term: str  # the stem of a word of the catalog
    cosine: float
    weight: float  # how much its score counts for the word of the query


class Softened(NamedTuple):
    """The words that are near to one, and what they add."""

    neighbours: Sequence[Neighbour]
    documents: Numbers  # those that have any of the neighbours, …
    scores: Floats  # … each with the score of the best that it has


NearWords = Mapping[str, Softened]
"""By word of a query."""


class SoftWords:
    """Finds the words of a catalog that are near in meaning to those of a query; safe to share between threads."""

    def __init__(self, engine: Okapi, meaning: Meaning, table: WordTable) -> None:
        self._engine = engine
        self._stems = meaning.stems
        self._table = table
        self._names = engine.corpus.terms[len(engine.corpus.surface) :]
        self._kept: dict[tuple[str, ...], Softened] = {}
        self._size = 0

    def near(self, query: Query, vectors: Matrix) -> NearWords:
        """The words near to each word; none if tools have most words. `vectors` has a row for each of
        `query.meaning`."""
        missing = sum(f"{stem}~" not in self._engine.idf for stem in query.meaning)
        if query.in_english and missing < LACKING * len(query.meaning):
            return {}
        rows_of: dict[str, dict[str, int]] = defaultdict(dict)
        for row, (stem, word) in enumerate(query.meaning.items()):
            rows_of[word][stem] = row
        return {word: self._softened(rows, vectors) for word, rows in rows_of.items()}

    def scores(self, query: Query, near: NearWords) -> Scores:
        """A score for each document as `Okapi.get_scores` has it, in which each word counts by its match or by the best
        of its neighbours, whichever is more."""
        matches: dict[str, list[str]] = defaultdict(list)
        for term, word in query.terms.items():
            matches[word].append(term)
        alone = [near[word] for word in near if word not in matches]
        documents = np.concatenate([each.documents for each in alone] or [np.zeros(0, np.int32)])
        scores = np.concatenate([each.scores for each in alone] or [np.zeros(0, np.float32)])
        total: Scores = np.bincount(documents, scores, minlength=self._engine.corpus_size).astype(
            np.float64, copy=False
        )
        for word, terms in matches.items():
            by_match = self._engine.get_scores(terms, query.shares)
            if word in near:
                documents = near[word].documents
                by_match[documents] = np.maximum(by_match[documents], near[word].scores)
            total += by_match
        return total

    def _softened(self, rows: Mapping[str, int], vectors: Matrix) -> Softened:
        key = tuple(rows)
        if (found := self._kept.get(key)) is None:
            found = self._best([each for stem, row in rows.items() for each in self._nearest(stem, vectors[row])])
            if len(self._kept) >= _KEPT or self._size > _KEPT_SCORES:
                self._kept, self._size = {}, 0
            self._kept[key] = found
            self._size += len(found.documents)
        return found

    def _best(self, near: Sequence[Neighbour]) -> Softened:
        best = np.zeros(self._engine.corpus_size, np.float32)
        for each in near:
            documents, scores = self._engine.postings(each.term)
            best[documents] = np.maximum(best[documents], scores * np.float32(each.weight))
        documents = best.nonzero()[0].astype(np.int32)
        return Softened(near, documents, best[documents])

    def _nearest(self, stem: str, vector: Matrix) -> list[Neighbour]:
        columns, lengths = self._columns
        length = np.sqrt(np.einsum("i,i->", vector, vector))
        if not length or not lengths.size:
            return []
        unit = vector / length
        # Not by matmul: BLAS would start threads for it, and wait for them on a busy machine.
        roughly = np.einsum("ji,j->i", columns, unit[: len(columns)])
        roughly /= lengths
        rows = np.argpartition(roughly, -min(_LOOKED_AT, lengths.size))[-_LOOKED_AT:]
        cosines = np.einsum("ij,j->i", self._stems[rows].astype(np.float32), unit) / lengths[rows]
        is_near = cosines > _LEAST
        # In four digits, so that words that are as near are in the order of the alphabet in spite of rounding.
        named = zip(rows[is_near].tolist(), cosines[is_near].tolist(), strict=True)
        near = sorted((-round(cosine, 4), self._names[row]) for row, cosine in named)
        # A word that the table lacks is where the tools are that have it, and so near to what these say otherwise.
        others = [(term, -less) for less, term in near if term != f"{stem}~" and term[:-1] in self._table]
        return [Neighbour(term, cosine, (cosine - _NOTHING) / (1 - _NOTHING)) for term, cosine in others[:_MOST]]

    @cached_property
    def _columns(self) -> tuple[Matrix, Matrix]:
        """The first numbers of the vectors of all stems, and the lengths of these vectors."""
        columns = self._stems.T[:_FIRST].astype(np.float32, order="C")
        squares = np.einsum("ij,ij->i", self._stems, self._stems, dtype=np.float32)
        return columns, np.maximum(np.sqrt(squares), np.float32(1e-9))
