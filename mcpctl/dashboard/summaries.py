"""Totals of a record that is too large to be counted again whenever somebody looks at a page."""

import time
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from mcpctl.base.models import Row
from mcpctl.calling import savings
from mcpctl.calling.savings import Opened, Saving
from mcpctl.store import clock
from mcpctl.store.filters import EVERYTHING, CallFilter
from mcpctl.store.records import Records

_FEW = 20_000
"""So many calls are counted in less than what a page may wait."""
_AT_LEAST_S = 2
_SHARE = 20
"""One part in so many of a core's time is what counting again may take."""
_KEPT = 32
"""How many totals are kept."""


@dataclass(frozen=True)
class Summary:
    """Totals, as `Records.totals` gives them."""

    rows: Sequence[Row]
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


class Summaries:
    """Totals for pages: those of few calls as of now, those of many as they were counted a moment ago."""

    def __init__(self, few: int = _FEW) -> None:
        self._few = few
        self._kept: dict[tuple[tuple[str, ...], CallFilter], _Counted] = {}

    def totals(self, records: Records, *by: str, wanted: CallFilter = EVERYTHING) -> Summary:
        """What `records.totals` says, or said when it was counted last; what was denied is counted `apart`.

        Times in `wanted` should be those of a day: a moment that differs at each page would be counted for each.
        """
        if sum(calls for calls, _ in records.usage().values()) <= self._few:
            return Summary(apart(records.totals(*by, wanted=wanted)))
        asked, version = (by, wanted), records.version()
        counted = self._kept.get(asked)
        if counted is None or (counted.version != version and time.monotonic() >= counted.due):
            counted_at, start = clock.now(), time.monotonic()
            rows, end = apart(records.totals(*by, wanted=wanted)), time.monotonic()
            counted = _Counted(rows, version, counted_at, end + max(_AT_LEAST_S, _SHARE * (end - start)))
            newest = [*self._kept.items()][1 - _KEPT :]
            self._kept = {**dict(newest), asked: counted}
        return Summary(counted.rows, None if counted.version == version else counted.counted_at)

    def saving(self, records: Records, wanted: CallFilter, opened: Opened) -> Saving | None:
        """What such sessions saved; None also where to count it would take longer than a page may wait."""
        sessions = records.sessions(wanted).rows(self._few + 1, 0)
        if sum(1 + row["tool_call_count"] + row["discovery_count"] for row in sessions) > self._few:
            return None
        found = savings.rows(records.overheads(wanted), opened, only_last=False)
        return savings.together(found.rows(None, 0))


def apart(rows: Sequence[Row]) -> Sequence[Row]:
    """Totals in which what was denied did not fail: a policy that works is not a fault."""
    return [{**row, "failed": row["failed"] - row["denied"]} for row in rows]
