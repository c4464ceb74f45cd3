"""The answer to a search: hits with their relevance and its explanation; and the interface of every provider."""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Protocol

from msgspec import Struct, structs

from mcpctl.base.models import Tool


class Hit(Struct, frozen=True):
    key: str
    relevance: float  # from 0 to 1 in four digits, comparable between queries; 1.0 means that the query names the tool


MAX_QUERIES = 32  # the most queries that are read of one search
_MAX_RANKED = 0.99  # the highest relevance by ranking; 1 is for a tool that the query names
_DIGITS = 10_000
MAX_RESULTS = 50
MEANING_PART = "meaning"
CONTEXT_PART = "context"
PINNED_PART = "exact"
EMBEDDING_PART = "embedding"
USE_PART = "use"
LEAST_NEAR = 0.3  # the cosine from which a word is reported as near: nearly any two have less


class NearWord(Struct, frozen=True):
    word: str
    cosine: float  # from -1 to 1; words of one meaning have about .6 or more

    def __str__(self) -> str:
        return f"≈ {self.word} {self.cosine:.2f}"


class Part(Struct, frozen=True):
    word: str  # the word as the query has it; empty for a share that belongs to no single word
    field: str
    """A field's name, `meaning` (near to words of the tool), `embedding` (similar for an embedding model), `context`,
    `use` (it was called after a search like this one), or `exact` (the query names the tool)."""
    score: float
    near: NearWord | None = None  # the tool's word that is near to it, if it is another one
    recorded: str = ""  # of the part `use`, the query on record that it comes from


class Explanation(Struct, frozen=True):
    key: str
    relevance: float
    query: str
    parts: tuple[Part, ...]
    pinned: str | None  # the kind of name by which the query names the tool, whose relevance is then 1.0
    said: str = ""  # the explanation of a search service, in place of parts

    @property
    def score(self) -> float:
        """The sum of the parts. The relevance is the sum in four digits; above .9 it is compressed to stay below 1."""
        return sum(part.score for part in self.parts)

    def shares(self) -> tuple[Part, ...]:
        """The parts in four digits, so scaled that they, and the part `exact` of a named tool, are the relevance."""
        if not (self.parts or self.pinned):
            return ()
        ranked = min(self.score, _MAX_RANKED) if self.pinned else self.relevance
        exact = [part.score * ranked / (self.score or 1.0) * _DIGITS for part in self.parts]
        units = [math.floor(value) for value in exact]
        # The units lost by rounding down go to the parts that lost most.
        missing = round(ranked * _DIGITS) - sum(units)
        for number in sorted(range(len(units)), key=lambda n: units[n] - exact[n])[:missing]:
            units[number] += 1
        shares = zip(self.parts, units, strict=True)
        parts = [structs.replace(part, score=unit / _DIGITS) for part, unit in shares if unit]
        if self.pinned:
            parts.append(Part("", PINNED_PART, round(self.relevance - sum(units) / _DIGITS, 4)))
        return tuple(parts)

    def by_word(self) -> dict[str, dict[str, float]]:
        """The shares of each word by field, the largest first; shares that belong to no word come last, as ''."""
        words: dict[str, dict[str, float]] = {}
        for part in self.parts:
            fields = words.setdefault(part.word, {})
            fields[part.field] = fields.get(part.field, 0.0) + part.score
        return dict(sorted(words.items(), key=lambda pair: (pair[0] == "", -sum(pair[1].values()))))

    @property
    def short(self) -> str:
        """The explanation on one line: the words that counted with their fields, then the other shares."""
        if self.said:
            return self.said
        reasons = [f"the query is its {self.pinned}"] if self.pinned else []
        words = self.by_word()
        rest = words.pop("", {})
        near: dict[tuple[str, str], NearWord] = {}
        recorded = {part.field: f" (≈ {part.recorded!r})" for part in self.parts if part.recorded}
        for part in self.parts:
            place = part.word, part.field
            if part.near and (place not in near or part.near.cosine > near[place].cosine):
                near[place] = part.near
        for word, fields in list(words.items())[:8]:
            places = [f"{field} ({near[word, field]})" if (word, field) in near else field for field in fields]
            reasons.append(f"'{word}' in {', '.join(places)}: {sum(fields.values()):.2f}")
        reasons += [f"{field}{recorded.get(field, '')}: {score:.2f}" for field, score in rest.items()]
        return "; ".join(reasons)


@dataclass(frozen=True)
class Ranking:
    hits: tuple[Hit, ...]
    provider: str
    fallback: str | None  # the reason if another provider than the configured one ranked them
    unknown_words: tuple[str, ...]  # the words of the queries that no tool has, nor any word like them
    weak: bool
    unheard_words: tuple[str, ...] = ()  # those of them that the table of word vectors does not have either
    known_words: tuple[str, ...] = ()  # the words that tools have as they are written, if the search is weak
    best_of: tuple[tuple[str, str], ...] = ()  # each of several queries that finds anything, with its best hit's key
    unanswered: tuple[str, ...] = ()  # its queries without a good match, where another one has one
    notice: str = ""
    explain: Callable[[Sequence[Hit]], list[Explanation]] = field(default=lambda hits: [], repr=False, compare=False)

    @property
    def firsts(self) -> frozenset[str]:
        return frozenset(key for _, key in self.best_of)

    @property
    def lost_words(self) -> tuple[str, ...]:
        """The unknown words to report: one that no tool has may be understood by its meaning."""
        if self.weak:
            return self.unknown_words
        return () if self.provider == "semantic" else self.unheard_words


def kept(hits: Sequence[Hit], limit: int, firsts: Collection[str]) -> list[Hit]:
    """The best hits, in their order; but no query's second one where another query's best would be left out."""
    if limit >= len(hits) or not firsts:
        return list(hits[:limit])
    sure = [place for place, hit in enumerate(hits) if hit.key in firsts][:limit]
    others = (place for place in range(len(hits)) if place not in sure)
    return [hits[place] for place in sorted([*sure, *islice(others, limit - len(sure))])]


class Provider(Protocol):
    name: str
    waits: bool  # whether a search makes network or model calls, which may take seconds; then many may run at once

    def search(self, queries: Sequence[str], *, context: str | None = None, limit: int = 10) -> Ranking:
        """The best `limit` tools for any of the queries; the context only reorders them."""


class Unavailable(Exception):
    """A provider cannot rank now; the message is the reason, to be shown after its name and a colon."""


def fallen_back(provider: str, error: Exception, ranking: Ranking) -> Ranking:
    """The ranking of another provider, with the reason why `provider` failed: every search gets an answer."""
    why = error if isinstance(error, Unavailable) else f"{type(error).__name__}: {str(error)[:200]}"
    return replace(ranking, fallback=f"{provider}: {why}")


Build = Callable[[Sequence[Tool], Mapping[str, str] | None, Path | None], Provider]
"""Makes a provider over these tools. The notes, by key, are searched with their tools. The path is a file for the index
of words, so that a process that searches once need not build it."""
