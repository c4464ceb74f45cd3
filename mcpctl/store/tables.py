"""Puts what journals say into the tables of the index: the only code that inserts, changes or deletes rows."""

import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import astuple
from operator import itemgetter
from typing import Any, TypeVar

from mcpctl.store import projection, schema
from mcpctl.store.journal_lines import CallFinished
from mcpctl.store.projection import Changes

T = TypeVar("T")


_INSERT = {
    table: f"INSERT OR IGNORE INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"
    for table, columns in (
        ("sessions", projection.SESSION.names), ("calls", projection.CALL), ("discoveries", projection.DISCOVERY.names),
        ("reads", projection.READ.names), ("decisions", projection.DECISION.names),
    )
}  # fmt: skip
_DEFAULTS = {  # the values of most calls, which SQLite fills in sooner than it takes them
    **dict.fromkeys(("parent_id", "toolset", "error", "http", "http_status", "token_id", "trace")),
    **dict.fromkeys(projection.OF_ERROR),
    **dict.fromkeys(schema.MARKS, 0),
}  # fmt: skip
_PLAIN = tuple(name for name in projection.CALL if name not in _DEFAULTS)
_INSERT_PLAIN = f"INSERT OR IGNORE INTO calls ({', '.join(_PLAIN)}) VALUES ({', '.join('?' * len(_PLAIN))})"
_of_plain, _of_others = (
    itemgetter(*map(projection.CALL.index, names)) for names in (_PLAIN, _DEFAULTS)
)  # fmt: skip
_AS_BY_DEFAULT = tuple(_DEFAULTS.values())
*_GIVEN, _LAST = projection.END.names
_END = (
    f"UPDATE calls SET ({', '.join(_GIVEN)}, {_LAST}) = ({'?, ' * len(_GIVEN)}input_tokens + ?)"
    " WHERE id = ? AND duration_ms IS NULL"
)
_ACTIVITY = (
    "UPDATE sessions SET tool_call_count = tool_call_count + ?, total_tokens = total_tokens + ?,"
    " discovery_count = discovery_count + ?, discovery_tokens = discovery_tokens + ?,"
    " last_activity = max(last_activity, ?) WHERE id = ?"
)
_USAGE = (
    "INSERT INTO usage VALUES (?, ?, ?, ?)"
    " ON CONFLICT DO UPDATE SET calls = calls + excluded.calls, last_used = max(last_used, excluded.last_used)"
)


def apply(db: sqlite3.Connection, journal: str, changes: Changes) -> None:
    """Change the rows as the lines of that journal say. Lines that the tables have already are not counted again."""
    if changes.sessions:
        db.executemany(
            _INSERT["sessions"], [projection.SESSION.row(line, journal) for line in changes.sessions.values()]
        )
    ended = _end_calls(db, changes.ended)
    for line in changes.closed:
        db.execute("UPDATE sessions SET status = 'closed', end_time = ? WHERE id = ?", (line.end_time, line.id))
        db.execute("UPDATE calls SET status = 'interrupted' WHERE session_id = ? AND status = 'running'", (line.id,))
    calls = _insert(db, "calls", changes.calls, projection.call_row)
    if len(calls) < len(changes.calls):
        old = (call.end for id_, call in changes.calls.items() if id_ not in calls)
        ended += _end_calls(db, (end for end in old if end is not None))
    discoveries = _insert(db, "discoveries", changes.discoveries, projection.DISCOVERY.placed)
    reads = _insert(db, "reads", changes.reads, projection.READ.placed)
    _insert(db, "decisions", changes.decisions, projection.DECISION.placed)
    about = [(line.id, line.call_id) for _, line in changes.decisions.values() if line.call_id]
    db.executemany("UPDATE calls SET decision_id = ? WHERE id = ?", about)
    of_lines = (line for _, line in discoveries.values()), (line for _, line in reads.values())
    gained = projection.activity(calls.values(), ended, *of_lines)
    db.executemany(_ACTIVITY, [(*astuple(gains), id_) for id_, gains in gained.items()])
    db.executemany(_USAGE, projection.usage(calls.values()))


def _insert(
    db: sqlite3.Connection, table: str, things: Mapping[str, T], row: Callable[[T], Sequence[Any]]
) -> Mapping[str, T]:
    """Insert rows; returns those whose id was not there."""
    if not things:
        return things
    (last,) = db.execute(f"SELECT max(rowid) FROM {table}").fetchone()
    rows = list(map(row, things.values()))
    inserted = 0
    if table == "calls":
        plain, others = [], []
        for each in rows:
            if _of_others(each) == _AS_BY_DEFAULT:
                plain.append(_of_plain(each))
            else:
                others.append(each)
        rows = others
        inserted = db.executemany(_INSERT_PLAIN, plain).rowcount if plain else 0
    inserted += db.executemany(_INSERT[table], rows).rowcount if rows else 0
    if inserted == len(things):
        return things
    new = db.execute(f"SELECT id FROM {table} WHERE rowid > ?", (last or 0,))
    return {id_: things[id_] for (id_,) in new}


def _end_calls(db: sqlite3.Connection, lines: Iterable[CallFinished]) -> list[CallFinished]:
    """End calls that are in the table; returns the lines that ended one."""
    return [line for line in lines if db.execute(_END, (*projection.end_row(line, 0), line.id)).rowcount > 0]


def forget(db: sqlite3.Connection, journals: Iterable[str]) -> None:
    tools: set[tuple[str, str]] = set()
    for name in journals:
        for (session,) in db.execute("SELECT session_id FROM journals WHERE name = ?", (name,)).fetchall():
            tools.update(db.execute("SELECT DISTINCT server, tool FROM calls WHERE session_id = ?", (session,)))
            for table in ("calls", "discoveries", "reads", "decisions"):
                db.execute(f"DELETE FROM {table} WHERE session_id = ?", (session,))
            db.execute("DELETE FROM sessions WHERE id = ?", (session,))
        db.execute("DELETE FROM journals WHERE name = ?", (name,))
    for server, tool in tools:
        _count_again(db, server, tool)


def _count_again(db: sqlite3.Connection, server: str, tool: str) -> None:
    db.execute("DELETE FROM usage WHERE server = ? AND tool = ?", (server, tool))
    db.execute(
        f"INSERT INTO usage SELECT server, tool, sum({projection.COUNTS}), max(started_at) FROM calls"
        " WHERE server = ? AND tool = ? GROUP BY server, tool",
        (server, tool),
    )


def mark_read(db: sqlite3.Connection, journal: str, position: int) -> None:
    db.execute(
        "INSERT INTO journals (name, session_id, offset) VALUES (?, ?, ?)"
        " ON CONFLICT (name) DO UPDATE SET offset = excluded.offset",
        (journal, journal.removesuffix(".jsonl").partition("_")[2], position),
    )
