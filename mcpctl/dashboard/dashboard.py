"""The object that every handler of the dashboard gets: its records, catalog, totals, logins and event streams."""

import asyncio
import threading
import time
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, TypeVar, cast

from starlette.requests import Request

from mcpctl.base.errors import McpctlError
from mcpctl.base.models import Newest, Row, Usage
from mcpctl.base.paths import Paths
from mcpctl.calling import token_savings
from mcpctl.calling.token_savings import Saving
from mcpctl.catalog import held, rows
from mcpctl.catalog.cache import Catalog
from mcpctl.catalog.lists_in_memory import Lists
from mcpctl.dashboard.event_feed import Feed
from mcpctl.dashboard.running import Login, Logins
from mcpctl.policy import answering
from mcpctl.store import clock
from mcpctl.store.filters import EVERYTHING, CallFilter
from mcpctl.store.records import LocalRecords, Records, recorded_usage
from mcpctl.toolsets.toolset_files import NONE

MOST_EXPORTS = 4  # exports at once: each has a thread and a database connection of its own until its client has read it
_FEW = 20_000  # calls that are counted in less time than a page may wait
_FEW_TEXTS = 2_000  # calls in which a text is looked for in less time than that
_AT_LEAST_S = 2
_SHARE = 20
_KEPT = 32
_PATIENCE_S = 0.2  # so long a page waits for totals of many calls
T = TypeVar("T")


@dataclass(frozen=True)
class Summary:
    rows: Sequence[Row]
    counted_at: str | None = None  # the time of the count, if more calls are on record since


class Waiting(NamedTuple):
    """The number of things that wait for a person, by where they are answered."""

    approvals: int = 0
    review: int = 0

    @property
    def total(self) -> int:
        return sum(self)


class _Counted(NamedTuple):
    rows: Sequence[Row]
    version: Hashable  # the version of the records that were counted
    counted_at: str
    due: float  # the moment from which they may be counted again


class Summaries:
    """Totals for pages: those of few calls are counted each time, those of many are a moment old."""

    def __init__(self, few: int = _FEW) -> None:
        self._few = few
        self._kept: dict[tuple[tuple[str, ...], CallFilter], _Counted] = {}
        self._changing = threading.Lock()
        self._aside: dict[Hashable, Future[Any]] = {}  # counts that go on
        self._last: Newest[Hashable, tuple[Any, str]] = Newest(_KEPT)

    def are_few(self, records: Records) -> bool:
        return sum(calls for calls, _ in records.usage().values()) <= self._few

    def totals(self, records: Records, *by: str, wanted: CallFilter = EVERYTHING) -> Summary:
        """The rows of `records.totals`, now or as last counted; `wanted` has times of days."""
        return self._counted(records, by, wanted, lambda: records.totals(*by, criteria=wanted))

    def errors(self, records: Records, wanted: CallFilter, at_most: int) -> Summary:
        """The first rows of `records.errors`, likewise."""
        return self._counted(records, ("error",), wanted, lambda: list(records.errors(wanted).rows(at_most, 0)))

    def in_a_moment(
        self, records: Records, key: Hashable, count: Callable[[Records], T]
    ) -> tuple[T | None, str | None]:
        """All that `count` counts for a page, and when it did so if it counts again for longer than a page may wait,
        which goes on aside. None where it has not counted that before."""
        if self.are_few(records):
            return count(records), None
        with self._changing:
            counting = self._aside.get(key)
            if counting is None:
                counting = self._aside[key] = Future()
                work = partial(self._count_aside, counting, records.another(), key, count)
                threading.Thread(target=work, name="counting", daemon=True).start()
        try:
            return counting.result(_PATIENCE_S), None
        except TimeoutError:
            return self._last.get(key, (None, None))

    def _count_aside(
        self, counting: "Future[T]", opened: Records, key: Hashable, count: Callable[[Records], T]
    ) -> None:
        begun = clock.now()
        try:
            with opened as records:
                counted = count(records)
            with self._changing:
                self._last[key] = counted, begun
            tell: Callable[[], None] = partial(counting.set_result, counted)
        except Exception as error:  # for those who wait
            tell = partial(counting.set_exception, error)
        with self._changing:
            del self._aside[key]  # before anybody is told, who may ask again
        tell()

    def is_quick(self, records: Records, wanted: CallFilter) -> bool:
        """Whether the calls that match are counted in a moment: no text is looked for in many."""
        is_plain = not (wanted.grep or wanted.arguments)
        return is_plain or sum(calls for calls, _ in records.usage().values()) <= min(self._few, _FEW_TEXTS)

    def count(self, records: Records, wanted: CallFilter) -> int | None:
        """The number of the calls that match, likewise; None where that takes too long."""
        if not self.is_quick(records, wanted):
            return None
        counted = self._counted(records, ("count",), wanted, lambda: [{"calls": records.calls(wanted).count()}])
        return int(counted.rows[0]["calls"])

    def _counted(
        self, records: Records, by: tuple[str, ...], wanted: CallFilter, count: Callable[[], Sequence[Row]]
    ) -> Summary:
        if self.are_few(records):
            return Summary(count())
        key, version = (by, wanted), records.version()
        counted = self._kept.get(key)
        if counted is None or (counted.version != version and time.monotonic() >= counted.due):
            counted_at, start = clock.now(), time.monotonic()
            rows, end = count(), time.monotonic()
            counted = _Counted(rows, version, counted_at, end + max(_AT_LEAST_S, _SHARE * (end - start)))
            newest = [*self._kept.items()][1 - _KEPT :]
            self._kept = {**dict(newest), key: counted}
        return Summary(counted.rows, None if counted.version == version else counted.counted_at)


@dataclass(eq=False)
class Dashboard:
    paths: Paths
    port: int
    read_only: bool = False  # whether nobody may answer approvals in it
    logins: Logins = field(default_factory=Logins)
    lists: Lists = field(default_factory=Lists)  # the servers' lists, read and checked once for all pages
    exports: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MOST_EXPORTS))
    summaries: Summaries = field(default_factory=Summaries)
    store: Records | None = None  # where it reads, if not in the records of this machine
    feed: Feed = field(init=False)

    def __post_init__(self) -> None:
        self.feed = Feed(self.paths, self.records)

    def records(self) -> Records:
        """The records, caught up with the journals; for the thread that answers one request."""
        return self.store.another() if self.store else LocalRecords(self.paths)

    def usage(self) -> Usage:
        if self.store is None:
            return recorded_usage(self.paths)
        with self.records() as records:
            return records.usage()

    def waiting(self) -> Waiting:
        """The number of all that waits now; where it cannot be read, the page of it says why."""
        approvals = review = 0
        with suppress(McpctlError):
            approvals = answering.rows(self.paths, pending=True).count()
        with suppress(McpctlError), self.catalog() as catalog:
            review = len(held.keys(catalog))
        return Waiting(approvals, review)

    def saving(self, records: Records, wanted: CallFilter) -> Saving | None:
        """The tokens that these sessions saved; None where that is unknown, or takes too long to count for a page."""
        try:
            sessions = records.sessions(wanted).rows(_FEW + 1, 0)
            if sum(1 + row["tool_call_count"] + row["discovery_count"] for row in sessions) > _FEW:
                return None
            overheads = records.overheads(wanted)
            found = token_savings.rows(
                self.paths, overheads, lambda project: self.catalog(NONE, project), only_last=False
            )
            return token_savings.together(found.rows(None, 0))
        except McpctlError:
            return None  # pages of tools and servers say what is wrong with the configuration

    def catalog(self, toolset: str | None = None, project: str | None = None) -> AbstractContextManager[Catalog]:
        # Which tools are held differs from project to project, so the lists are shared only without one.
        lists = self.lists if project is None else None
        return rows.catalog(self.paths, toolset, project, quiet=True, lists=lists)


def dashboard_of(request: Request) -> Dashboard:
    return cast(Dashboard, request.app.state.dashboard)


def login_of(request: Request) -> Login:
    """The login of a request; the guard lets no other through."""
    return cast(Login, request.state.login)


def body_of(request: Request) -> bytes:
    return cast(bytes, getattr(request.state, "body", b""))
