"""What all answers of a dashboard are made from."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from mcpctl.base.errors import McpctlError
from mcpctl.base.paths import Paths
from mcpctl.calling.savings import Saving
from mcpctl.catalog import rows
from mcpctl.catalog.cache import Catalog
from mcpctl.catalog.lists_in_memory import Lists
from mcpctl.dashboard.feed import Feed
from mcpctl.dashboard.logins import Login, Logins
from mcpctl.dashboard.summaries import Summaries
from mcpctl.store.filters import CallFilter
from mcpctl.store.records import Records
from mcpctl.toolsets.toolset_files import NONE

if TYPE_CHECKING:
    from starlette.requests import Request


MOST_EXPORTS = 4
"""Exports at once: each has a thread and a database of its own until its reader has read it."""


@dataclass(eq=False)
class Board:
    """A dashboard over one data directory."""

    paths: Paths
    port: int
    read_only: bool = False
    """Whether nobody may answer approvals in it."""
    logins: Logins = field(default_factory=Logins)
    lists: Lists = field(default_factory=Lists)
    """What servers list, read and checked once for all pages."""
    exports: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MOST_EXPORTS))
    """What an export has while it is sent."""
    summaries: Summaries = field(default_factory=Summaries)
    """Totals for pages; where there are many calls they may be some seconds old, and say so."""
    feed: Feed = field(init=False)
    """The streams of events."""

    def __post_init__(self) -> None:
        self.feed = Feed(self.paths)

    @contextmanager
    def records(self) -> Iterator[Records]:
        """The records, caught up with the journals; for the thread that answers one request."""
        with Records(self.paths) as records:
            yield records

    def saving(self, records: Records, wanted: CallFilter) -> Saving | None:
        """What such sessions saved, if it is known and not too much to be counted for a page."""
        try:
            return self.summaries.saving(records, wanted, lambda project: self.catalog(NONE, project))
        except McpctlError:
            return None  # what is wrong with the configuration, pages of tools and servers say

    @contextmanager
    def catalog(self, toolset: str | None = None, project: str | None = None) -> Iterator[Catalog]:
        """The tools of all servers, or of those of a project, with the toolset in force there, or with that one."""
        # What is held differs from project to project, so what is read once for all serves only without one.
        lists = self.lists if project is None else None
        with rows.catalog(self.paths, toolset, project, quiet=True, lists=lists) as catalog:
            yield catalog


def board_of(request: "Request") -> Board:
    """The dashboard that a request is for."""
    return cast(Board, request.app.state.board)


def login_of(request: "Request") -> Login:
    """Who asks; the guard lets nobody else through."""
    return cast(Login, request.state.login)


def body_of(request: "Request") -> bytes:
    """The body of a request that is not a GET, read whole."""
    return cast(bytes, getattr(request.state, "body", b""))
