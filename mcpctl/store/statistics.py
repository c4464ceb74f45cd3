"""Totals of the calls on record: how many, how they ended, what they took."""

import sqlite3
from collections.abc import Sequence

from mcpctl.errors import WrongUsage
from mcpctl.models import Row, Usage
from mcpctl.store import calls, filters, projection
from mcpctl.store.filters import EVERYTHING, CallFilter

GROUPS = ("server", "tool", "status", "project", "client_name")
"""What calls can be grouped by."""
_OF = {
    # The rounds of a call, after its tool had asked for input, have a row each; together they are one call.
    "calls": f"coalesce(sum({projection.COUNTS}), 0)",
    "failed": f"coalesce(sum({calls.STATUS} NOT IN ('ok', 'running', 'input_required')), 0)",
    "input_tokens": "sum(input_tokens)",
    "output_tokens": "sum(output_tokens)",
    "total_tokens": "sum(total_tokens)",
    "duration_ms": "sum(duration_ms)",
    "longest_ms": "max(duration_ms)",
    "last_used": "max(started_at)",
}
FIELDS = tuple(_OF)
"""What is told of each group."""
_OF_SESSION = ("calls", "failed", "total_tokens", "duration_ms")


def totals(
    db: sqlite3.Connection,
    by: Sequence[str] = (),
    wanted: CallFilter = EVERYTHING,
    *,
    fields: Sequence[str] = FIELDS,
) -> Sequence[Row]:
    """A row for each group, the one with the most calls first: what it is grouped by, then `fields`.

    Without groups it is one row, of all calls. Tokens are null where there is none, times where none has ended.
    """
    if strange := [name for name in by if name not in GROUPS]:
        raise WrongUsage(f"calls are not grouped by '{strange[0]}'", f"groups: {', '.join(GROUPS)}")
    groups = {name: calls.STATUS if name == "status" else name for name in by}
    columns = {**groups, **{name: _OF[name] for name in fields}}
    conditions = filters.calls(wanted)
    selection = ", ".join(f'{sql} AS "{name}"' for name, sql in columns.items())
    numbers = ", ".join(str(number) for number, _ in enumerate(by, 1))
    grouped = f" GROUP BY {numbers} ORDER BY {_OF['calls']} DESC, {numbers}" if by else ""
    rows = db.execute(f"SELECT {selection} FROM calls{conditions.where}{grouped}", conditions.values)
    return [dict(zip(columns, row, strict=True)) for row in rows]


def of_session(db: sqlite3.Connection, session: str) -> Sequence[Row]:
    """What was called in one session: `{server, tool, calls, failed, total_tokens, duration_ms}`."""
    return totals(db, ("server", "tool"), CallFilter(sessions=(session,)), fields=_OF_SESSION)


def usage(db: sqlite3.Connection) -> Usage:
    """How much tools were used, by server and tool; only those with calls on record."""
    rows = db.execute("SELECT server, tool, calls, last_used FROM usage")
    return {(server, tool): (count, last_used) for server, tool, count, last_used in rows}
