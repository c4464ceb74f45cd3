"""Ranking tools for a query: the answer's types and the default provider."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

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


class Provider(Protocol):
    """A way to rank the tools it was built from."""

    @property
    def name(self) -> str:
        """What records and answers call it."""

    def search(self, queries: Sequence[str], *, context: str | None = None, limit: int = 10) -> Ranking:
        """The best `limit` tools for any of the queries; the context only decides between near equals."""


def build(tools: Sequence[Tool], descriptions: Mapping[str, str] | None = None) -> Provider:
    """The default provider over these tools; `descriptions` by key replace those a toolset's notes were added to."""
    from mcpctl.search.bm25 import Bm25

    return Bm25(tools, descriptions)
