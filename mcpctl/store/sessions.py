"""Sessions on record: lists, and one with its aggregates and calls."""

import sqlite3
from collections.abc import Sequence
from typing import Any

from mcpctl.models import SESSION_FIELDS, Found, Row
from mcpctl.store import calls, query

_STATUS = "CASE WHEN status = 'active' AND id IN (SELECT session_id FROM dead) THEN 'closed' ELSE status END"
_COLUMNS = {
    **{name: name for name in SESSION_FIELDS},
    "status": _STATUS,
    "end_time": f"CASE WHEN {_STATUS} = 'active' THEN NULL ELSE coalesce(end_time, last_activity) END",
}
_ORDER = "last_activity DESC, id"


def find(
    db: sqlite3.Connection, *, status: str | None = None, client: str | None = None, project: str | None = None
) -> Found:
    """Sessions, last activity newest first."""
    conditions = query.Conditions()
    conditions.equal(_STATUS, status)
    conditions.equal("client_name", client).equal("project", project)
    return query.found(db, "sessions", _COLUMNS, conditions, _ORDER)


def resolve(db: sqlite3.Connection, ref: str) -> str:
    """The id of the session that `ref` names: a full id, a unique prefix, or `last`."""
    return query.resolve(db, "sessions", ref, _ORDER, "mcpctl sessions ls")


def show(db: sqlite3.Connection, ref: str) -> Row:
    """One session: its fields, `tools` (what was called, how often, how it went) and `calls`, oldest first."""
    session = resolve(db, ref)
    (row,) = query.found(db, "sessions", _COLUMNS, query.Conditions().equal("id", session), _ORDER).rows(1, 0)
    return {**row, "tools": _by_tool(db, session), "calls": calls.of_session(db, session)}


def _by_tool(db: sqlite3.Connection, session: str) -> Sequence[dict[str, Any]]:
    cursor = db.execute(
        "SELECT server, tool, sum(parent_id IS NULL) AS calls,"
        f" sum({calls.STATUS} NOT IN ('ok', 'running', 'input_required')) AS failed,"
        " sum(total_tokens) AS total_tokens, sum(duration_ms) AS duration_ms"
        " FROM calls WHERE session_id = ? GROUP BY server, tool ORDER BY calls DESC, server, tool",
        (session,),
    )
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor]
