"""BM25 over weighted fields, on posting lists in numpy; of rank_bm25 it has the class and the constants."""

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import overload

import numpy as np
from numpy.typing import NDArray
from rank_bm25 import BM25Okapi

from mcpctl.search.fields import FIELDS
from mcpctl.search.tokens import stem, words

K1 = 1.2
SURFACE = 0.75
"""The weight of the written word beside its stem, which is a term of its own: `users` is nearer to `list_users` than to
`get_user`, and still finds both."""

Scores = NDArray[np.float64]
Numbers = NDArray[np.int32]

_WEIGHTS = np.array([field.weight for field in FIELDS])
_LENGTHS = np.array([field.length for field in FIELDS])


def stemmed(word: str) -> str:
    """The term of a word's stem. It ends in `~`, as no word does, so that it is never taken for a word."""
    return stem(word) + "~"


class Corpus(Sequence[Mapping[str, float]]):
    """The weighted frequency of each term in each document: the `tf` of BM25F over fields.

    It is the term's count in a field, times the field's weight, divided by 1 - b + b · length / mean length, summed
    over the fields (Robertson, Zaragoza and Taylor 2004, "Simple BM25 extension to multiple weighted fields").
    """

    def __init__(
        self, words: Sequence[str], stems: Sequence[str], norms: Scores, term: Numbers, document: Numbers, tf: Scores
    ) -> None:
        self.surface = words
        """The words as they are written."""
        self.terms = [*words, *stems]
        self.norms = norms
        """The weight of one occurrence, by document and field."""
        self.term = term
        """For each pair of a term and a document that has it, sorted by term: the number of the term, …"""
        self.document = document
        """… the number of the document, …"""
        self.frequency = tf
        """… and the weighted frequency of the term in it."""

    @classmethod
    def read(cls, documents: Iterable[Sequence[str]]) -> "Corpus":
        """The corpus of documents, each with a text for each of `FIELDS`."""
        vocabulary: dict[str, int] = {}
        forms, per_field, lengths = _read(documents, vocabulary)
        surface = list(vocabulary)
        norms = _norms(lengths)
        stems, of_stem = _stems(surface)
        place = np.repeat(np.arange(per_field.size), per_field.ravel())
        size = max(len(lengths), 1)
        keys = np.concatenate((forms, of_stem[forms])) * size + np.tile(place // len(FIELDS), 2)
        unique, back = np.unique(keys, return_inverse=True)
        weights = np.tile(norms.ravel()[place], 2)
        frequency = np.bincount(back, weights, minlength=unique.size).astype(np.float64)
        term, document = np.divmod(unique, size)
        return cls(surface, stems, norms, term.astype(np.int32), document.astype(np.int32), frequency)

    def __len__(self) -> int:
        return len(self.norms)

    @overload
    def __getitem__(self, number: int) -> Mapping[str, float]: ...

    @overload
    def __getitem__(self, number: slice) -> Sequence[Mapping[str, float]]: ...

    def __getitem__(self, number: int | slice) -> Mapping[str, float] | Sequence[Mapping[str, float]]:
        """One document as rank_bm25 has it, built on demand: fifty thousand of them would fill the memory."""
        if isinstance(number, slice):
            return [self[n] for n in range(*number.indices(len(self)))]
        if not 0 <= number < len(self):
            raise IndexError(number)
        pairs = np.flatnonzero(self.document == number)
        return {self.terms[self.term[n]]: float(self.frequency[n]) for n in pairs}


class Okapi(BM25Okapi):  # type: ignore[misc]
    """rank_bm25's Okapi over a corpus with weighted and normalised fields (so its b is 0), with an idf that suits small
    catalogs, scored over posting lists."""

    idf: dict[str, float]
    doc_freqs: Sequence[Mapping[str, float]]
    corpus_size: int

    def __init__(self, corpus: Corpus) -> None:
        super().__init__(corpus, k1=K1, b=0.0)
        rarity = np.fromiter(self.idf.values(), np.float64, len(self.idf))
        tf = corpus.frequency
        self.added: Scores = rarity[corpus.term] * tf * (K1 + 1) / (tf + K1)
        """The score that each term adds to each document that has it, in the corpus's order."""
        self.ends = np.cumsum(np.bincount(corpus.term, minlength=len(self.idf))).tolist()
        self.corpus = corpus

    def _initialize(self, corpus: Corpus) -> Mapping[str, int]:
        self.corpus_size = len(corpus)
        self.doc_freqs = corpus
        self.doc_len = [1] * len(corpus)
        self.avgdl = 1.0
        counts = np.bincount(corpus.term, minlength=len(corpus.terms)).tolist()
        return dict(zip(corpus.terms, counts, strict=True))

    def _calc_idf(self, nd: Mapping[str, int]) -> None:
        """Lucene's idf; stock Okapi's is zero or negative for words in half of a catalog of one to three tools."""
        self.idf = {term: self.rarity(n) * (1 if term.endswith("~") else SURFACE) for term, n in nd.items()}

    def rarity(self, count: int = 1) -> float:
        """The idf of a term that `count` tools have."""
        return math.log(1 + (self.corpus_size - count + 0.5) / (count + 0.5))

    @property
    def rarest(self) -> float:
        """The weight of a word that only one tool has, as it is written and by its stem."""
        return (1 + SURFACE) * self.rarity()

    @cached_property
    def numbers(self) -> Mapping[str, int]:
        """The number of each term."""
        return {term: number for number, term in enumerate(self.idf)}

    def slice_of(self, term: str) -> slice:
        """The range of a term in the corpus and in `added`; empty for an unknown term."""
        number = self.numbers.get(term)
        return slice(0) if number is None else slice(self.ends[number - 1] if number else 0, self.ends[number])

    def get_scores(self, query: Iterable[str], weights: Mapping[str, float] | None = None) -> Scores:
        """A score for each document, in the corpus's order. Terms may have weights other than 1."""
        places = [(self.slice_of(term), weights[term] if weights else 1.0) for term in query]
        if not places:
            return np.zeros(self.corpus_size)
        holders = np.concatenate([self.corpus.document[place] for place, _ in places])
        added = np.concatenate([self.added[place] * weight for place, weight in places])
        return np.bincount(holders, added, minlength=self.corpus_size).astype(np.float64, copy=False)


def _read(
    documents: Iterable[Sequence[str]], vocabulary: dict[str, int]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The numbers of all forms in the order of the text; the count of forms and the count of words of each field."""
    numbers: list[int] = []
    forms_of: list[int] = []
    words_of: list[int] = []
    for document in documents:
        for text in document:
            before, count = len(numbers), 0
            for forms in words(text) if text else ():
                count += 1
                numbers.extend([vocabulary.setdefault(form, len(vocabulary)) for form in forms])
            forms_of.append(len(numbers) - before)
            words_of.append(count)
    shape = (-1, len(FIELDS))
    per_field, lengths = np.array(forms_of, np.int64).reshape(shape), np.array(words_of, np.int64).reshape(shape)
    return np.array(numbers, np.int64), per_field, lengths


def _norms(lengths: NDArray[np.int64]) -> Scores:
    mean = lengths.mean(0) if len(lengths) else np.ones(len(FIELDS))
    norms: Scores = _WEIGHTS / (1 - _LENGTHS + _LENGTHS * lengths / np.where(mean > 0, mean, 1.0))
    return norms


def _stems(surface: Sequence[str]) -> tuple[list[str], NDArray[np.int64]]:
    """The terms of the stems, and for each word the number of its stem; stems are numbered after the words."""
    stems: dict[str, int] = {}
    numbers = [stems.setdefault(stemmed(word), len(surface) + len(stems)) for word in surface]
    return list(stems), np.array(numbers, np.int64)
