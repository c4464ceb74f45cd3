"""Ranking tools for a query: the answer's types and the default provider."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

from mcpctl.catalog.near import nearest as nearest
from mcpctl.models import Tool


@dataclass(frozen=True)
class Hit:
    """A tool that was found."""

    key: str
    relevance: float
    """0 to 1 in four digits, comparable between queries; 1.0 is a tool that the query names."""


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


MEANING_PART = "meaning"
CONTEXT_PART = "context"


@dataclass(frozen=True)
class Part:
    """What one word in one field added to a relevance."""

    word: str
    """As the query has it; empty for what no single word adds."""
    field: str
    """A field's name, `meaning` (words that keep the same company) or `context`."""
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

    @property
    def score(self) -> float:
        """The sum of the parts, which shows as the relevance: in four digits, and bent from .9 on to stay below 1."""
        return sum(part.score for part in self.parts)

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
        said = [f"the query is its {self.pinned}"] if self.pinned else []
        words = self.by_word()
        rest = words.pop("", {})
        said += [f"'{word}' in {', '.join(fields)}: {sum(fields.values()):.2f}" for word, fields in words.items()][:8]
        said += [f"{field}: {score:.2f}" for field, score in rest.items()]
        return "; ".join(said)


class Provider(Protocol):
    """A way to rank the tools it was built from."""

    @property
    def name(self) -> str:
        """What records and answers call it."""

    def search(self, queries: Sequence[str], *, context: str | None = None, limit: int = 10) -> Ranking:
        """The best `limit` tools for any of the queries; the context only reorders them."""


@runtime_checkable
class Explaining(Protocol):
    """A provider that can tell why."""

    def explain(self, queries: Sequence[str], hits: Sequence[Hit], context: str | None = None) -> list[Explanation]:
        """The explanation of each of the hits of that search."""


PROVIDERS = ("bm25",)
"""The names of those that `build` makes."""


def build(tools: Sequence[Tool], notes: Mapping[str, str] | None = None, kept: Path | None = None) -> Provider:
    """The default provider over these tools; `notes`, by key, are searched with what they are about.

    `kept` is a file for the index, so that a process that searches once need not build it.
    """
    from mcpctl.search.bm25 import Bm25

    return Bm25(tools, notes, kept)
