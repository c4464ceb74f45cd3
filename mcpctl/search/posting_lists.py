"""BM25 over weighted fields, on posting lists in numpy; of rank_bm25 it has the class and the constants."""

import math
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, compress
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rank_bm25 import BM25Okapi

from mcpctl.search.fields import FIELDS, LEAST, OPERATION_FIELDS, Field, OperationTexts, trust
from mcpctl.search.tokens import runs, stem, words

K1 = 1.2
SURFACE = 0.75
"""The weight of the written word beside its stem, which is a term of its own: `users` is nearer to `list_users` than to
`get_user`, and still finds both."""
_MOST_KEPT = 4_096
_PORTION = 500_000

Scores = NDArray[np.float64]
Floats = NDArray[np.float32]
Numbers = NDArray[np.int32]


def stemmed(word: str) -> str:
    """The term of a word's stem. It ends in `~`, as no word does, so that it is never taken for a word."""
    return stem(word) + "~"


class Corpus:
    """The weighted frequency of each term in each document: the `tf` of BM25F over fields. It is the term's count in a
    field, times the field's weight, divided by 1 - b + b · length / mean length, summed over the fields (Robertson,
    Zaragoza and Taylor 2004, "Simple BM25 extension to multiple weighted fields")."""

    def __init__(
        self, words: Sequence[str], stems: Sequence[str], norms: Scores, trust: Floats,
        counts: Numbers, document: Numbers, tf: Floats,
    ) -> None:  # fmt: skip
        self.surface = words
        self.terms = [*words, *stems]
        self.norms = norms
        self.trust = trust  # how much the words of a document count, up to 1
        self.counts = counts
        self.document = document  # for each pair of a term and a document that has it, sorted by term, the document …
        self.frequency = tf  # … and the weighted frequency of the term in it

    @classmethod
    def read(cls, documents: Iterable[Sequence[str]]) -> "Corpus":
        vocabulary: dict[str, int] = {}
        forms, per_field, lengths, trusted, of_operation = _read(documents, vocabulary)
        norms: Scores = _norms(lengths, FIELDS)
        if of_operation.any():
            # Tools of APIs are compared with such ones, and others stay as they are without them.
            norms[~of_operation] = _norms(lengths[~of_operation], FIELDS)
            norms[of_operation] = _norms(lengths[of_operation], OPERATION_FIELDS)
        stems: dict[str, int] = {}
        stem_of = np.array([stems.setdefault(stemmed(word), len(stems)) for word in vocabulary], np.int32)
        of_words = _postings(forms, per_field, norms, len(vocabulary))
        of_stems = _postings(stem_of[forms], per_field, norms, len(stems))
        # Lists beside lists are as good as sentences beside sentences.
        trusted /= trusted.max(initial=LEAST)
        columns = (np.concatenate(both) for both in zip(of_words, of_stems, strict=True))
        return cls(list(vocabulary), list(stems), norms, trusted, *columns)

    def only(self, documents: Numbers) -> tuple["Corpus", NDArray[np.bool_]]:
        """The corpus of these documents, in ascending order, with none of the terms that only others have; and which of
        the terms it has. The lengths of fields stay compared with those of all."""
        place = np.full(len(self), -1, np.int32)
        place[documents] = np.arange(len(documents), dtype=np.int32)
        moved = place[self.document]
        there = moved >= 0
        term = np.repeat(np.arange(len(self.counts), dtype=np.int32), self.counts)[there]
        counts = np.bincount(term, minlength=len(self.counts)).astype(np.int32)
        known = counts > 0
        words, stems = (
            list(compress(terms, of_terms.tolist()))
            for terms, of_terms in zip(self._halves(self.terms), self._halves(known), strict=True)
        )
        trusted = self.trust[documents] / self.trust[documents].max(initial=LEAST)
        columns = counts[known], moved[there], self.frequency[there]
        return Corpus(words, stems, self.norms[documents], trusted, *columns), known

    def _halves(self, of_terms: Any) -> tuple[Any, Any]:
        return of_terms[: len(self.surface)], of_terms[len(self.surface) :]

    def __len__(self) -> int:
        return len(self.norms)


class Okapi(BM25Okapi):  # type: ignore[misc]
    """rank_bm25's Okapi over a corpus whose fields are weighted and normalised already (so its b is 0), with an idf for
    small catalogs, scored over posting lists."""

    idf: dict[str, float]
    corpus_size: int

    def __init__(self, corpus: Corpus) -> None:
        super().__init__(corpus, k1=K1, b=0.0)
        most = np.fromiter(self.idf.values(), np.float32, len(self.idf)) * np.float32(K1 + 1)
        tf = corpus.frequency
        self.added: Floats = np.repeat(most, corpus.counts) * (tf / (tf + np.float32(K1)))
        self.added *= corpus.trust[corpus.document]  # each term's score in each document that has it, in this order
        self.ends = np.cumsum(corpus.counts).tolist()
        self._kept: dict[str, tuple[Numbers, Floats]] = {}
        self.corpus = corpus

    def _initialize(self, corpus: Corpus) -> Mapping[str, int]:
        self.corpus_size = len(corpus)
        return dict(zip(corpus.terms, corpus.counts.tolist(), strict=True))

    def _calc_idf(self, nd: Mapping[str, int]) -> None:
        """Lucene's idf; stock Okapi's is zero or negative for words in half of a catalog of one to three tools."""
        self.idf = {term: self.rarity(n) * (1 if term.endswith("~") else SURFACE) for term, n in nd.items()}

    def rarity(self, count: int = 1) -> float:
        return math.log(1 + (self.corpus_size - count + 0.5) / (count + 0.5))

    @cached_property
    def rarest(self) -> float:
        """The weight of a word that only one tool has, as it is written and by its stem."""
        return (1 + SURFACE) * self.rarity()

    @cached_property
    def numbers(self) -> Mapping[str, int]:
        return {term: number for number, term in enumerate(self.idf)}

    def postings(self, term: str) -> tuple[Numbers, Floats]:
        """The documents that have a term, and its score in each; kept, since queries say the same words."""
        found = self._kept.get(term)
        if found is None:
            number = self.numbers.get(term)
            place = slice(0) if number is None else slice(self.ends[number - 1] if number else 0, self.ends[number])
            if len(self._kept) >= _MOST_KEPT:
                self._kept.clear()
            found = self._kept[term] = self.corpus.document[place], self.added[place]
        return found

    def get_scores(self, query: Iterable[str], weights: Mapping[str, float] | None = None) -> Scores:
        """A score for each document, in the corpus's order. Terms may have weights other than 1."""
        holders, added = [], []
        for term in query:
            documents, values = self.postings(term)
            weight = weights[term] if weights else 1.0
            holders.append(documents)
            added.append(values if weight == 1 else values * weight)
        if not holders:
            return np.zeros(self.corpus_size)
        scores = np.bincount(np.concatenate(holders), np.concatenate(added), minlength=self.corpus_size)
        return scores.astype(np.float64, copy=False)


class _NumberedRuns(dict[str, tuple[int, tuple[int, ...]]]):
    """The number of words in each run of letters and digits, and the numbers of their forms."""

    def __init__(self, vocabulary: dict[str, int]) -> None:
        self._vocabulary = vocabulary

    def __missing__(self, run: str) -> tuple[int, tuple[int, ...]]:
        read = list(words(run))
        numbers = [self._vocabulary.setdefault(form, len(self._vocabulary)) for forms in read for form in forms]
        self[run] = len(read), tuple(numbers)
        return self[run]


def _norms(lengths: NDArray[np.int64], fields: Sequence[Field]) -> Scores:
    """By how much a word counts in each field of each document."""
    weights, influence = (
        np.array(column) for column in zip(*((each.weight, each.length) for each in fields), strict=True)
    )
    mean = lengths.mean(0) if len(lengths) else np.ones(len(fields))
    norms: Scores = weights / (1 - influence + influence * lengths / np.where(mean > 0, mean, 1.0))
    return norms


def _read(
    documents: Iterable[Sequence[str]], vocabulary: dict[str, int]
) -> tuple[Numbers, Numbers, NDArray[np.int64], Floats, NDArray[np.bool_]]:
    """The numbers of all forms in the order of the text; the count of forms and the count of words of each field; the
    trust in each document; and whether it is of a tool of an HTTP API."""
    numbered = _NumberedRuns(vocabulary)
    numbers, forms_of, words_of = array("i"), array("i"), array("i")
    trusted, of_operation = array("f"), array("b")
    for document in documents:
        trusted.append(trust(document))
        of_operation.append(isinstance(document, OperationTexts))
        for text in document:
            found = runs(text) if text else ()
            counts, read = zip(*map(numbered.__getitem__, found), strict=True) if found else ((), ())
            before = len(numbers)
            numbers.extend(chain.from_iterable(read))
            forms_of.append(len(numbers) - before)
            words_of.append(sum(counts))
    forms, per_field, lengths = (np.array(column, np.int32) for column in (numbers, forms_of, words_of))
    by_field = lengths.astype(np.int64).reshape(-1, len(FIELDS))
    return forms, per_field, by_field, np.array(trusted, np.float32), np.array(of_operation, np.bool_)


def _postings(terms: Numbers, per_field: Numbers, norms: Scores, size: int) -> tuple[Numbers, Numbers, Floats]:
    """How many documents have each term; and by term each document that has it, with its weighted frequency."""
    keys = terms.astype(np.int64)
    keys *= norms.size
    keys += np.repeat(np.arange(norms.size), per_field)
    # Numbers alone, in place: the order that would sort them takes several times the time and the memory.
    keys.sort()
    parts = [_pairs(part, norms) for part in _portions(keys)] or [_pairs(keys, norms)]
    term, document, frequency = (np.concatenate(column) for column in zip(*parts, strict=True))
    return np.bincount(term, minlength=size).astype(np.int32), document, frequency


def _portions(keys: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Keys in portions, so that memory need not be had for all at once; a term in a document is in one of them."""
    start = 0
    while start < keys.size:
        last = keys[min(start + _PORTION, keys.size) - 1]
        end = int(np.searchsorted(keys, last - last % len(FIELDS) + len(FIELDS)))
        yield keys[start:end]
        start = end


def _pairs(keys: NDArray[np.int64], norms: Scores) -> tuple[Numbers, Numbers, Floats]:
    heads = np.flatnonzero(np.diff(keys // len(FIELDS), prepend=-1))
    weights = norms.ravel()[keys % max(norms.size, 1)]
    term, place = np.divmod(keys[heads], max(norms.size, 1))
    frequency = np.add.reduceat(weights, heads) if heads.size else weights
    return term.astype(np.int32), (place // len(FIELDS)).astype(np.int32), frequency.astype(np.float32)
