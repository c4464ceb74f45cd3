"""Ranking tools for a query: the answer's types, the default provider, and near names for a mistyped one."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Protocol

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


def nearest(name: str, keys: Iterable[str], n: int = 3) -> list[str]:
    """The keys most like a mistyped key or tool name, best first; for messages, never to act on."""
    wanted = name[:256].lower()
    near = sorted((-_likeness(wanted, key[:256].lower()), key) for key in keys)
    return [key for likeness, key in near[:n] if likeness <= -_NEAR]


_NEAR = 0.6
"""difflib's own bound for a close match."""


def _likeness(wanted: str, key: str) -> float:
    """How alike two names are; a bare name may be on any server, a key rather on the server it names."""
    bare, wanted_bare = key.partition(":")[2], wanted.partition(":")[2]
    if not wanted_bare:
        return max(_ratio(wanted, bare), _ratio(wanted, key))
    return max(_ratio(wanted, key), 0.9 * _ratio(wanted_bare, bare))


def _ratio(a: str, b: str) -> float:
    matcher = SequenceMatcher(None, a, b, autojunk=False)
    if matcher.real_quick_ratio() < _NEAR or matcher.quick_ratio() < _NEAR:
        return 0.0
    return matcher.ratio()
