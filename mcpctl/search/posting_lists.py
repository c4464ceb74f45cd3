"""BM25 over weighted fields: rank_bm25's formula and numbers, on posting lists in numpy."""

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
"""What the word as it is written counts beside its stem, which is a term of its own: `users` is nearer to `list_users`
than to `get_user`, and still finds both."""

Scores = NDArray[np.float64]
Numbers = NDArray[np.int32]

_WEIGHTS = np.array([field.weight for field in FIELDS])
_LENGTHS = np.array([field.length for field in FIELDS])


def stemmed(word: str) -> str:
    """The term of a word's stem. No word ends so, hence it is never taken for a word."""
    return stem(word) + "~"


class Corpus(Sequence[Mapping[str, float]]):
    """Documents of fields, as each term's weighted frequency in each: the `tf` of BM25F.

    A term's count in a field, times the field's weight, over 1 - b + b · length / mean length, summed over the fields
    (Robertson, Zaragoza and Taylor 2004, "Simple BM25 extension to multiple weighted fields").
    """

    def __init__(
        self, words: Sequence[str], stems: Sequence[str], norms: Scores, term: Numbers, document: Numbers, tf: Scores
    ) -> None:
        self.surface = words
        """Every word as it is written."""
        self.terms = [*words, *stems]
        self.norms = norms
        """What one occurrence counts, by document and field."""
        self.term = term
        """By term, and for each by document: the number of the term, …"""
        self.document = document
        """… that of the document, …"""
        self.frequency = tf
        """… and how much of the term it has."""

    @classmethod
    def read(cls, documents: Iterable[Sequence[str]]) -> "Corpus":
        """The corpus of documents, each a text for each of `FIELDS`."""
        vocabulary: dict[str, int] = {}
        found, per_field, lengths = _read(documents, vocabulary)
        surface = list(vocabulary)
        norms = _norms(lengths)
        stems, of_stem = _stems(surface)
        place = np.repeat(np.arange(per_field.size), per_field.ravel())
        size = max(len(lengths), 1)
        keys = np.concatenate((found, of_stem[found])) * size + np.tile(place // len(FIELDS), 2)
        unique, back = np.unique(keys, return_inverse=True)
        counted = np.tile(norms.ravel()[place], 2)
        frequency = np.bincount(back, counted, minlength=unique.size).astype(np.float64)
        term, document = np.divmod(unique, size)
        return cls(surface, stems, norms, term.astype(np.int32), document.astype(np.int32), frequency)

    def __len__(self) -> int:
        return len(self.norms)

    @overload
    def __getitem__(self, number: int) -> Mapping[str, float]: ...

    @overload
    def __getitem__(self, number: slice) -> Sequence[Mapping[str, float]]: ...

    def __getitem__(self, number: int | slice) -> Mapping[str, float] | Sequence[Mapping[str, float]]:
        """One document as rank_bm25 has it; made when asked for, since fifty thousand of them fill a memory."""
        if isinstance(number, slice):
            return [self[n] for n in range(*number.indices(len(self)))]
        if not 0 <= number < len(self):
            raise IndexError(number)
        where = np.flatnonzero(self.document == number)
        return {self.terms[self.term[n]]: float(self.frequency[n]) for n in where}


class Okapi(BM25Okapi):  # type: ignore[misc]
    """rank_bm25's Okapi over a corpus whose fields are weighed and normalised, hence its b is 0; with an idf that is
    right for small catalogs, scored over posting lists."""

    idf: dict[str, float]
    doc_freqs: Sequence[Mapping[str, float]]
    corpus_size: int

    def __init__(self, corpus: Corpus) -> None:
        super().__init__(corpus, k1=K1, b=0.0)
        rarity = np.fromiter(self.idf.values(), np.float64, len(self.idf))
        tf = corpus.frequency
        self.added: Scores = rarity[corpus.term] * tf * (K1 + 1) / (tf + K1)
        """What each term adds to the score of each document that has it, in the corpus's order."""
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
        """The idf of a term that so many tools have."""
        return math.log(1 + (self.corpus_size - count + 0.5) / (count + 0.5))

    @property
    def rarest(self) -> float:
        """What a word counts that one tool has: as it is written, and by its stem."""
        return (1 + SURFACE) * self.rarity()

    @cached_property
    def numbers(self) -> Mapping[str, int]:
        """The number of each term."""
        return {term: number for number, term in enumerate(self.idf)}

    def slice_of(self, term: str) -> slice:
        """Where the corpus and `added` have that term; empty for one that there is not."""
        number = self.numbers.get(term)
        return slice(0) if number is None else slice(self.ends[number - 1] if number else 0, self.ends[number])

    def get_scores(self, query: Iterable[str]) -> Scores:
        """A score for each document, in the order in which they were given."""
        places = [self.slice_of(term) for term in query]
        if not places:
            return np.zeros(self.corpus_size)
        holders = np.concatenate([self.corpus.document[place] for place in places])
        added = np.concatenate([self.added[place] for place in places])
        return np.bincount(holders, added, minlength=self.corpus_size).astype(np.float64, copy=False)


def _read(
    documents: Iterable[Sequence[str]], vocabulary: dict[str, int]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The number of every form in the order of the text; how many forms, and how many words, each field has."""
    found: list[int] = []
    forms_of: list[int] = []
    words_of: list[int] = []
    for document in documents:
        for text in document:
            before, count = len(found), 0
            for forms in words(text) if text else ():
                count += 1
                found.extend([vocabulary.setdefault(form, len(vocabulary)) for form in forms])
            forms_of.append(len(found) - before)
            words_of.append(count)
    shape = (-1, len(FIELDS))
    as_array = np.array(found, np.int64), np.array(forms_of, np.int64), np.array(words_of, np.int64)
    return as_array[0], as_array[1].reshape(shape), as_array[2].reshape(shape)


def _norms(lengths: NDArray[np.int64]) -> Scores:
    mean = lengths.mean(0) if len(lengths) else np.ones(len(FIELDS))
    found: Scores = _WEIGHTS / (1 - _LENGTHS + _LENGTHS * lengths / np.where(mean > 0, mean, 1.0))
    return found


def _stems(surface: Sequence[str]) -> tuple[list[str], NDArray[np.int64]]:
    """The terms of the stems, and the number of each word's, after those of the words."""
    stems: dict[str, int] = {}
    numbers = [stems.setdefault(stemmed(word), len(surface) + len(stems)) for word in surface]
    return list(stems), np.array(numbers, np.int64)
