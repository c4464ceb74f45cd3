"""Totals of the calls on record: how many, how they ended, what they took."""

import sqlite3
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from itertools import accumulate

from mcpctl.base.errors import WrongUsage
from mcpctl.base.models import Row, Usage
from mcpctl.base.tool_keys import OWN
from mcpctl.store import calls, filters, journal_lines, schema
from mcpctl.store.filters import EVERYTHING, CallFilter

_EXPRESSIONS = {
    **{name: name for name in ("server", "tool", "project", "client_name")},
    "status": calls.STATUS,
    "day": "strftime('%Y-%m-%d', started_at, 'localtime')",
    "hour": "strftime('%Y-%m-%d %H:00', started_at, 'localtime')",
}
GROUPS = tuple(_EXPRESSIONS)
"""A day and an hour are those of the place where this runs."""
TIMES = ("day", "hour")
"""Groups that follow each other."""
_PERCENTILES = "percentiles(duration_ms) FILTER (WHERE duration_ms IS NOT NULL)"
_FOLLOWED = (  # by their numbers, which the index has that totals are told from
    "SELECT earlier.rowid FROM calls AS later JOIN calls AS earlier ON earlier.id = later.parent_id"
    f" WHERE later.via <> '{journal_lines.REPLAY}' AND later.server <> '{OWN}'"
)
_OF = {
    # The rounds of a call, after its tool had asked for input, have a row each; together they are one call. The last
    # round counts, since how a call ended is what it is chosen and grouped by.
    # Which were followed is looked up only where there is such a round: that goes through all calls.
    "calls": f"coalesce(sum(CASE status WHEN 'input_required' THEN calls.rowid NOT IN ({_FOLLOWED}) ELSE 1 END), 0)",
    "failed": f"coalesce(sum({schema.call_failed('dead')}), 0)",
    "denied": "coalesce(sum(status = 'denied'), 0)",
    "input_tokens": "sum(input_tokens)",
    "output_tokens": "sum(output_tokens)",
    "total_tokens": "sum(total_tokens)",
    "duration_ms": "sum(duration_ms)",
    "p50_ms": f"substr({_PERCENTILES}, 1, 20) + 0",
    "p95_ms": f"substr({_PERCENTILES}, 21) + 0",
    "longest_ms": "max(duration_ms)",
    "last_used": "max(started_at)",
}
FIELDS = tuple(_OF)
_OF_SESSION = ("calls", "failed", "denied", "total_tokens", "duration_ms")


def totals(
    db: sqlite3.Connection,
    by: Sequence[str] = (),
    wanted: CallFilter = EVERYTHING,
    *,
    fields: Sequence[str] = FIELDS,
) -> Sequence[Row]:
    """A row for each group, the one with the most calls first, or by time where that is grouped by: the group, then
    `fields`. Without groups it is one row, of all calls. Tokens are null where there is none, times where none has
    ended. Percentiles are exact: the least duration that so many of a hundred calls did not exceed."""
    if strange := [name for name in by if name not in GROUPS]:
        raise WrongUsage(f"calls are not grouped by '{strange[0]}'", f"groups: {', '.join(GROUPS)}")
    db.create_aggregate("percentiles", 1, _Percentiles)  # type: ignore[arg-type]  # its step is an attribute
    # By an index of its own a group would be read from the rows, and these from all over the file.
    groups = {name: f"+{_EXPRESSIONS[name]}" for name in by}
    columns = {**groups, **{name: _OF[name] for name in fields}}
    conditions = filters.calls(wanted)
    selection = ", ".join(f'{sql} AS "{name}"' for name, sql in columns.items())
    numbers = ", ".join(str(number) for number, _ in enumerate(by, 1))
    most_first = "" if set(TIMES).intersection(by) else f"{_OF['calls']} DESC, "
    grouped = f" GROUP BY {numbers} ORDER BY {most_first}{numbers}" if by else ""
    rows = db.execute(f"SELECT {selection} FROM calls{conditions.where}{grouped}", conditions.values)
    return [dict(zip(columns, row, strict=True)) for row in rows]


class _Percentiles:
    """An aggregate of SQL: the 50th and the 95th percentile, each in 20 characters; null of nothing."""

    def __init__(self) -> None:
        values = array("q")
        self._values = values
        # Called a million times, a method of Python's would take as long as everything else.
        self.step = values.append

    def finalize(self) -> str | None:
        # Many calls have few durations, in milliseconds: counted, they take a fraction of the memory of a sorted list.
        counts = Counter(self._values)
        ordered = sorted(counts)
        up_to = list(accumulate(counts[value] for value in ordered))
        ranks = (-(-len(self._values) * percent // 100) for percent in (50, 95) if ordered)
        return "".join(f"{ordered[bisect_left(up_to, rank)]:20}" for rank in ranks) or None


def of_session(db: sqlite3.Connection, session: str) -> Sequence[Row]:
    """`{server, tool, calls, failed, denied, total_tokens, duration_ms}`."""
    return totals(db, ("server", "tool"), CallFilter(sessions=(session,)), fields=_OF_SESSION)


def usage(db: sqlite3.Connection) -> Usage:
    rows = db.execute("SELECT server, tool, calls, last_used FROM usage")
    return {(server, tool): (count, last_used) for server, tool, count, last_used in rows}
