"""The default ranking: BM25 over weighted fields, exact names first, typing errors mended."""

import difflib
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rank_bm25 import BM25Okapi

from mcpctl.models import Tool
from mcpctl.search import Hit, Ranking
from mcpctl.search.tokens import folded, stem, words

# A grid of 4,800 settings on several catalogs is a broad plateau around these weights, K1 and B.
NAME, SERVER, PROSE = 4, 2, 1
K1, B = 1.5, 0.6

MAX_DEPTH = 3
MAX_PARAMETERS = 256
MAX_QUERIES = 32
"""Queries read of one search."""
MAX_WORDS = 256
MAX_MENDED = 4
"""Words of a query that is short enough to be a mistyped name."""

WEAK = 0.20
"""Below it hardly any first hit was a right one."""
CONTEXT = 0.05

Scores = NDArray[np.float64]


class Okapi(BM25Okapi):  # type: ignore[misc]
    """rank_bm25's Okapi for weighted words, with an idf for small catalogs, scored over posting lists."""

    idf: dict[str, float]
    doc_freqs: list[Mapping[str, float]]
    corpus_size: int

    def __init__(self, documents: Sequence[Mapping[str, float]]) -> None:
        super().__init__(documents, k1=K1, b=B)
        self._postings = _Postings(self)

    def _initialize(self, corpus: Sequence[Mapping[str, float]]) -> Counter[str]:
        self.corpus_size = len(corpus)
        self.doc_freqs = list(corpus)
        self.doc_len = [sum(document.values()) for document in corpus]
        self.avgdl = sum(self.doc_len) / max(len(corpus), 1) or 1.0
        return Counter(word for document in corpus for word in document)

    def _calc_idf(self, nd: Mapping[str, int]) -> None:
        """Lucene's idf; stock Okapi's is zero or negative for words in half of a catalog of one to three tools."""
        self.idf = {word: self._rarity(count) for word, count in nd.items()}

    def _rarity(self, count: int) -> float:
        return math.log(1 + (self.corpus_size - count + 0.5) / (count + 0.5))

    @property
    def idf_max(self) -> float:
        """The idf of a word that one tool has."""
        return self._rarity(1)

    def get_scores(self, query: Iterable[str]) -> Scores:
        """A score for each document, in the order in which they were given."""
        return self._postings.scores(query)


class _Postings:
    """What each word adds to the score of each document that has it: one pair of array slices a word."""

    def __init__(self, engine: Okapi) -> None:
        documents = engine.doc_freqs
        numbers = {word: number for number, word in enumerate(engine.idf)}
        sizes = [len(document) for document in documents]
        found = np.fromiter((numbers[word] for document in documents for word in document), np.intp, sum(sizes))
        tf = np.fromiter((n for document in documents for n in document.values()), np.float64, sum(sizes))
        holder = np.repeat(np.arange(len(documents)), sizes)
        norm = K1 * (1 - B + B * np.array(engine.doc_len, np.float64) / engine.avgdl)
        idf = np.array(list(engine.idf.values()), np.float64)
        order = np.argsort(found, kind="stable")
        self._size = len(documents)
        self._documents = holder[order]
        self._added = (idf[found] * tf * (K1 + 1) / (tf + norm[holder]))[order]
        ends = np.cumsum(np.bincount(found, minlength=len(numbers))).tolist()
        self._slices = {word: slice(ends[n - 1] if n else 0, ends[n]) for word, n in numbers.items()}

    def scores(self, query: Iterable[str]) -> Scores:
        scores = np.zeros(self._size)
        for word in query:
            if where := self._slices.get(word):
                scores[self._documents[where]] += self._added[where]
        return scores


@dataclass(frozen=True)
class _Query:
    """A query as the index sees it."""

    words: list[str]
    weight: float
    """Sum of the words' idf, unknown and mended ones counting as the rarest."""
    unknown: list[str]


class Bm25:
    """Ranks tools by the words of their names, servers, descriptions and parameters; safe to share between threads."""

    name = "bm25"

    def __init__(self, tools: Sequence[Tool], descriptions: Mapping[str, str] | None = None) -> None:
        described = descriptions or {}
        # In the order of the keys, so that a stable sort by relevance breaks ties by key.
        catalog = dict(sorted({tool.key: tool for tool in reversed(tools)}.items()))
        self._keys = list(catalog)
        self._pins = _Pins(catalog.values())
        self._words: dict[str, None] = {}
        self._engine = Okapi([self._document(tool, described.get(key)) for key, tool in catalog.items()])

    def search(self, queries: Sequence[str], *, context: str | None = None, limit: int = 10) -> Ranking:
        """The best `limit` tools for any of the queries; the context only decides between near equals."""
        read = [self._read(query) for query in queries[:MAX_QUERIES]]
        relevance = np.zeros(len(self._keys))
        for query in read:
            np.maximum(relevance, self._confidence(query), out=relevance)
        if context:
            relevance = relevance * (1 + CONTEXT * np.minimum(self._confidence(self._read(context)), 1))
        pinned = [number for query in queries[:MAX_QUERIES] for number in self._pins.find(query)]
        shown = _shown(relevance)
        shown[pinned] = 1.0
        return Ranking(
            hits=tuple(self._best(shown, limit)),
            provider=self.name,
            fallback=None,
            unknown_words=tuple(dict.fromkeys(word for query in read for word in query.unknown)),
            weak=bool(np.max(shown, initial=0.0) < WEAK),
        )

    def _best(self, relevance: Scores, limit: int) -> Iterator[Hit]:
        order = np.argsort(-relevance, kind="stable")[: np.count_nonzero(relevance)]
        for number in order[: max(limit, 0)].tolist():
            yield Hit(self._keys[number], float(relevance[number]))

    def _document(self, tool: Tool, description: str | None) -> Mapping[str, float]:
        counts: Counter[str] = Counter()
        for weight, text in _fields(tool, tool.description if description is None else description):
            for word in (word for forms in words(text) for word in forms):
                self._words[word] = None
                counts[stem(word)] += weight
        return counts

    def _read(self, query: str) -> _Query:
        asked = list(dict.fromkeys(words(query)))[:MAX_WORDS]
        idf = self._engine.idf
        known: dict[str, None] = {}
        mended: dict[str, None] = {}
        unknown = []
        strange = 0
        for forms in asked:
            # Of an identifier, the parts that tools have are enough: `getWeather` finds get_weather.
            if stems := [stem(form) for form in forms if stem(form) in idf]:
                known |= dict.fromkeys(stems)
                continue
            strange += 1
            repair = self._mend(forms[-1]) if len(asked) <= MAX_MENDED else []
            mended |= dict.fromkeys(stem(word) for word in repair)
            if not repair:
                unknown.append(forms[-1])
        weight = sum(idf[word] for word in known) + strange * self._engine.idf_max
        return _Query(list(known | mended)[:MAX_WORDS], weight, unknown)

    def _confidence(self, query: _Query) -> Scores:
        """Scores on one scale for all queries: score / ((k1 + 1) · sqrt(idf_max · Σ idf)), whose share of right first
        hits was found to rise evenly: about 20 % below .35, 85 % above .8."""
        ceiling = (K1 + 1) * math.sqrt(self._engine.idf_max * query.weight)
        return self._engine.get_scores(query.words) / (ceiling or 1.0)

    def _mend(self, word: str) -> list[str]:
        """The known words that an unknown one was meant to be: two run together, or the closest one."""
        if len(word) == 1 and not word.isascii():
            # CJK is indexed as pairs, so a single character asks for the pairs that have it.
            pairs = (known for known in self._words if len(known) == 2 and word in known)
            return list(islice(pairs, MAX_MENDED))
        if not (word.isalpha() and word.isascii()):
            return []
        cuts = ((word[:i], word[i:]) for i in range(2, len(word) - 1))
        if known := [(left, right) for left, right in cuts if left in self._words and right in self._words]:
            return list(max(known, key=lambda pair: min(map(len, pair))))
        return difflib.get_close_matches(word, self._by_first_letter.get(word[0], []), n=1, cutoff=0.85)

    @cached_property
    def _by_first_letter(self) -> dict[str, list[str]]:
        index: dict[str, list[str]] = defaultdict(list)
        for word in sorted(self._words):
            index[word[0]].append(word)
        return index


class _Pins:
    """Finds the tools that a query names: by key, else by name or `server.tool`, else by either without case and
    separators."""

    def __init__(self, tools: Iterable[Tool]) -> None:
        self._levels: tuple[dict[str, list[int]], ...] = ({}, {}, {})
        for number, tool in enumerate(tools):
            names = ({tool.key}, {tool.name, f"{tool.server}.{tool.name}"}, {folded(tool.key), folded(tool.name)})
            for level, forms in zip(self._levels, names, strict=True):
                for form in forms:
                    level.setdefault(form, []).append(number)

    def find(self, query: str) -> list[int]:
        query = query.strip()
        exact, named, loose = self._levels
        return exact.get(query) or named.get(query) or loose.get(folded(query)) or []


def _shown(confidence: Scores) -> Scores:
    """Confidence in four digits, below 1: from .9 on it nears .99 without reaching it, so that no two ranks merge."""
    bent = 0.99 - 0.09**2 / np.maximum(confidence - 0.81, 0.09)
    return np.where(confidence > 0, np.maximum(np.round(np.where(confidence > 0.9, bent, confidence), 4), 0.0001), 0.0)


def _fields(tool: Tool, description: str) -> Iterator[tuple[int, str]]:
    names, notes = [], []
    for count, (name, note) in enumerate(_parameters(tool.input_schema, MAX_DEPTH)):
        if count == MAX_PARAMETERS:
            break
        names.append(name)
        notes.append(note)
    yield NAME, tool.name
    yield SERVER, tool.server
    for text in (tool.title or "", description, " ".join(names), " ".join(notes)):
        yield PROSE, text


def _parameters(schema: Any, depth: int) -> Iterator[tuple[str, str]]:
    """The names and descriptions of a schema's parameters, those of objects and of items included."""
    while isinstance(schema, dict) and isinstance(schema.get("items"), dict):
        schema = schema["items"]
    if depth == 0 or not isinstance(schema, dict):
        return
    properties = schema.get("properties")
    for name, member in properties.items() if isinstance(properties, dict) else ():
        note = member.get("description") if isinstance(member, dict) else None
        yield str(name), note if isinstance(note, str) else ""
        yield from _parameters(member, depth - 1)
