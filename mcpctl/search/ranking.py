"""What a search answers: hits with their relevance, why they have it, and what any provider of them looks like."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from mcpctl.models import Tool


@dataclass(frozen=True)
class Hit:
    """A tool that was found."""

    key: str
    relevance: float
    """0 to 1 in four digits, comparable between queries; 1.0 is a tool that the query names."""


MAX_QUERIES = 32
"""Queries read of one search."""
_MOST_RANKED = 0.99
"""What ranking gives at most; 1 is for a tool that the query names."""
_DIGITS = 10_000
MAX_RESULTS = 50
"""Tools that a search service is asked for at most."""
MEANING_PART = "meaning"
CONTEXT_PART = "context"
PINNED_PART = "exact"
EMBEDDING_PART = "embedding"


@dataclass(frozen=True)
class Part:
    """What one word in one field added to a relevance."""

    word: str
    """As the query has it; empty for what no single word adds."""
    field: str
    """A field's name, `meaning` (words that keep the same company), `embedding` (what a language model finds near),
    `context`, or `exact` (the query names the tool)."""
    score: float


@dataclass(frozen=True)
class Explanation:
    """Why a tool has its relevance."""

    key: str
    relevance: float
    query: str
    """The query that it answers best."""
    parts: tuple[Part, ...]
    pinned: str | None
    """How the query names the tool, in words; its relevance is then 1.0, whatever the parts add up to."""
    said: str = ""
    """What a search service says of it, in place of parts."""

    @property
    def score(self) -> float:
        """The sum of the parts, which shows as the relevance: in four digits, and bent from .9 on to stay below 1."""
        return sum(part.score for part in self.parts)

    def shares(self) -> tuple[Part, ...]:
        """The parts in four digits, which add up to the relevance: from .9 on they are compressed as it is, and naming
        the tool counts for what is left to 1."""
        if not self.parts:
            return ()
        ranked = min(self.score, _MOST_RANKED) if self.pinned else self.relevance
        exact = [part.score * ranked / (self.score or 1.0) * _DIGITS for part in self.parts]
        named = [Part("", PINNED_PART, self.relevance)] if self.pinned else []
        units = [math.floor(value) for value in exact]
        # What rounding down has left goes to those that lost most by it.
        left = round(ranked * _DIGITS) - sum(units)
        for number in sorted(range(len(units)), key=lambda n: units[n] - exact[n])[:left]:
            units[number] += 1
        parts = [replace(part, score=unit / _DIGITS) for part, unit in zip(self.parts, units, strict=True) if unit]
        return (*parts, *(replace(part, score=round(part.score - sum(units) / _DIGITS, 4)) for part in named))

    def by_word(self) -> dict[str, dict[str, float]]:
        """What each word added, by field, the word that added most first; what is of no word comes last, as ''."""
        words: dict[str, dict[str, float]] = {}
        for part in self.parts:
            fields = words.setdefault(part.word, {})
            fields[part.field] = fields.get(part.field, 0.0) + part.score
        return dict(sorted(words.items(), key=lambda pair: (pair[0] == "", -sum(pair[1].values()))))

    @property
    def short(self) -> str:
        """The explanation in one line: the words that counted, each with the fields that have it, and what else did."""
        if self.said:
            return self.said
        said = [f"the query is its {self.pinned}"] if self.pinned else []
        words = self.by_word()
        rest = words.pop("", {})
        said += [f"'{word}' in {', '.join(fields)}: {sum(fields.values()):.2f}" for word, fields in words.items()][:8]
        said += [f"{field}: {score:.2f}" for field, score in rest.items()]
        return "; ".join(said)


def _unexplained(_: Sequence[Hit]) -> list[Explanation]:
    return []


@dataclass(frozen=True)
class Ranking:
    """The tools found, best first, and what to say about them."""

    hits: tuple[Hit, ...]
    provider: str
    """The provider that ranked them."""
    fallback: str | None
    """Why another provider than the configured one ranked them."""
    unknown_words: tuple[str, ...]
    """Query words that no tool has, nor any word like them."""
    weak: bool
    """No hit is a good match."""
    notice: str = ""
    """What else there is to say, in sentences."""
    explain: Callable[[Sequence[Hit]], list[Explanation]] = field(default=_unexplained, repr=False, compare=False)
    """Why each of the hits has its relevance."""

    @property
    def lost_words(self) -> tuple[str, ...]:
        """The unknown words that a caller should hear of: a model may know what is meant by those that no tool has."""
        return () if self.provider == "semantic" and not self.weak else self.unknown_words


class Provider(Protocol):
    """A way to rank the tools it was built from."""

    @property
    def name(self) -> str:
        """What records and answers call it."""

    @property
    def waits(self) -> bool:
        """Whether a search asks others, which may take seconds; many may then be made at once."""

    def search(self, queries: Sequence[str], *, context: str | None = None, limit: int = 10) -> Ranking:
        """The best `limit` tools for any of the queries; the context only reorders them."""


class Unavailable(Exception):
    """A provider cannot rank now; why, in words that follow its name and a colon."""


def fallen_back(provider: str, error: Exception, ranking: Ranking) -> Ranking:
    """The ranking in place of one that a provider could not give, and why: whatever it is, a search is answered."""
    why = error if isinstance(error, Unavailable) else f"{type(error).__name__}: {str(error)[:200]}"
    return replace(ranking, fallback=f"{provider}: {why}")


Build = Callable[[Sequence[Tool], Mapping[str, str] | None, Path | None], Provider]
"""Makes a provider over these tools. Notes, by key, are searched with what they are about; a path is a file for the
index of words, so that a process that searches once need not build it."""
