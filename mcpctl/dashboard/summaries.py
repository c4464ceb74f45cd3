"""Totals of a record that is too large to be counted while somebody waits for a page."""

import threading
import time
from collections.abc import Callable, Hashable, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from typing import Any

from mcpctl import savings
from mcpctl.models import Row
from mcpctl.savings import Opened, Saving
from mcpctl.store import clock
from mcpctl.store.filters import EVERYTHING, CallFilter
from mcpctl.store.records import Records

_FEW = 20_000
"""So many calls are counted in less than what a page may wait."""
_PATIENCE_S = 0.15
_AT_LEAST_S = 2
_SHARE = 20
"""One part in so many of a core's time is what counting again may take."""
_KEPT = 32
"""How many totals are kept, and how many may wait to be counted."""

_Asked = tuple[tuple[str, ...], CallFilter]


@dataclass(frozen=True)
class Summary:
    """Totals, as `Records.totals` gives them."""

    rows: Sequence[Row] | None
    """None while they are counted for the first time."""
    counted_at: str | None = None
    """When they were counted, if something has come on record since."""


@dataclass(frozen=True)
class _Counted:
    rows: Sequence[Row]
    version: Hashable
    """Of the records that were counted."""
    counted_at: str
    due: float
    """When they may be counted again."""


@dataclass(frozen=True)
class _Count:
    calls: int
    version: Hashable
    due: float


class Summaries:
    """Totals of the records that `opened` gives: few calls are counted at once, many by a thread of its own, which runs
    only while there is something to count."""

    def __init__(self, opened: Callable[[], AbstractContextManager[Records]], few: int = _FEW) -> None:
        self._opened = opened
        self._few = few
        self._changed = threading.Condition()
        self._waiting: dict[_Asked, None] = {}
        self._kept: dict[_Asked, _Counted] = {}
        self._is_counting = False
        self._counts: dict[CallFilter, _Count] = {}

    def totals(
        self, records: Records, *by: str, wanted: CallFilter = EVERYTHING, patience_s: float = _PATIENCE_S
    ) -> Summary:
        """What `records.totals` says, or what it said last where counting takes longer than `patience_s`; what was
        denied is counted `apart`.

        Times in `wanted` should be those of a day: a moment that differs at each page would be counted for each.
        """
        if self._are_few(records):
            return Summary(apart(records.totals(*by, wanted=wanted)))
        asked, version = (by, wanted), records.version()
        with self._changed:
            if not self._is_fresh(asked, version):
                self._ask(asked)
                self._changed.wait_for(lambda: self._is_fresh(asked, version), patience_s)
            counted = self._kept.pop(asked, None)
            if counted is None:
                return Summary(None)
            self._kept[asked] = counted  # the last one now, which goes last
        return Summary(counted.rows, None if counted.version == version else counted.counted_at)

    def count(self, records: Records, wanted: CallFilter) -> int:
        """How many such calls there are; where counting took long, how many there were a moment ago."""
        if self._are_few(records):
            return records.calls(wanted).count()
        version, start = records.version(), time.monotonic()
        with self._changed:
            known = self._counts.get(wanted)
        if known and (known.version == version or start < known.due):
            return known.calls
        calls = records.calls(wanted).count()
        took = time.monotonic() - start
        with self._changed:
            self._counts[wanted] = _Count(calls, version, start + took + _SHARE * took)
            _shorten(self._counts)
        return calls

    def _are_few(self, records: Records) -> bool:
        return sum(calls for calls, _ in records.usage().values()) <= self._few

    def saving(self, records: Records, wanted: CallFilter, opened: Opened) -> Saving | None:
        """What such sessions saved; None also where to count it would take longer than a page may wait."""
        sessions = records.sessions(wanted).rows(self._few + 1, 0)
        if sum(1 + row["tool_call_count"] + row["discovery_count"] for row in sessions) > self._few:
            return None
        found = savings.rows(records.overheads(wanted), opened, only_last=False)
        return savings.together(found.rows(None, 0))

    def prepare(self, *by: str, wanted: CallFilter = EVERYTHING) -> None:
        """Begin to count what will be asked for."""
        with self._changed:
            self._ask((by, wanted))

    def _is_fresh(self, asked: _Asked, version: Hashable) -> bool:
        counted = self._kept.get(asked)
        return counted is not None and (counted.version == version or time.monotonic() < counted.due)

    def _ask(self, asked: _Asked) -> None:
        self._waiting.pop(asked, None)
        self._waiting[asked] = None
        _shorten(self._waiting)
        if not self._is_counting:
            self._is_counting = True
            threading.Thread(target=self._count_what_waits, name="summaries", daemon=True).start()

    def _count_what_waits(self) -> None:
        while True:
            with self._changed:
                if not self._waiting:
                    self._is_counting = False
                    return
                asked, _ = self._waiting.popitem()  # what was asked for last: somebody still looks at it
                if asked in self._kept and time.monotonic() < self._kept[asked].due:
                    continue  # it was being counted when it was asked for
            # What fails here fails wherever a page reads the records, and is told there.
            with suppress(Exception):
                counted = self._counted(*asked)
                with self._changed:
                    self._kept[asked] = counted
                    _shorten(self._kept)
                    self._changed.notify_all()

    def _counted(self, by: tuple[str, ...], wanted: CallFilter) -> _Counted:
        with self._opened() as records:
            version, counted_at, start = records.version(), clock.now(), time.monotonic()
            rows = apart(records.totals(*by, wanted=wanted))
            took = time.monotonic() - start
        return _Counted(rows, version, counted_at, start + took + max(_AT_LEAST_S, _SHARE * took))


def apart(rows: Sequence[Row]) -> Sequence[Row]:
    """Totals in which what was denied did not fail: a policy that works is not a fault."""
    return [{**row, "failed": row["failed"] - row["denied"]} for row in rows]


def _shorten(kept: dict[Any, Any]) -> None:
    while len(kept) > _KEPT:
        del kept[next(iter(kept))]
