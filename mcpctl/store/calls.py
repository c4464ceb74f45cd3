"""Calls and discoveries on record: lists, and one of them whole."""

import sqlite3

from mcpctl.models import CALL_FIELDS, DISCOVERY_FIELDS, Found, Row
from mcpctl.store import query

STATUS = (
    "CASE WHEN status = 'running' AND session_id IN (SELECT session_id FROM dead) THEN 'interrupted' ELSE status END"
)
_COLUMNS = {**{name: name for name in CALL_FIELDS}, "status": STATUS}
_ORDER = "started_at DESC, session_id DESC, position DESC"


def find(
    db: sqlite3.Connection,
    *,
    session: str | None = None,
    server: str | None = None,
    tool: str | None = None,
    status: str | None = None,
    project: str | None = None,
    since: str | None = None,
) -> Found:
    """Calls, newest first. `tool` is a bare name or a key; `session` a full id; `since` a time as records have it."""
    conditions = query.Conditions().equal("session_id", session).equal("server", server)
    if tool is not None and ":" in tool:
        conditions.when("server = ? AND tool = ?", *tool.split(":", 1))
    else:
        conditions.when("? IN (tool, server || '.' || tool)", tool)
    conditions.equal(STATUS, status).equal("project", project).when("started_at >= ?", since)
    return query.found(db, "calls", _COLUMNS, conditions, _ORDER)


def find_discoveries(
    db: sqlite3.Connection, *, session: str | None = None, project: str | None = None, since: str | None = None
) -> Found:
    """Searches, newest first."""
    conditions = query.Conditions().equal("session_id", session).equal("project", project)
    conditions.when("started_at >= ?", since)
    return query.found(db, "discoveries", {name: name for name in DISCOVERY_FIELDS}, conditions, _ORDER)


def show(db: sqlite3.Connection, ref: str) -> Row:
    """One call whole, or one search; `ref` is a full id, a unique prefix, or `last` for the last call."""
    if ref != "last" and not _is_any(db, "calls", ref) and _is_any(db, "discoveries", ref):
        search = query.resolve(db, "discoveries", ref, _ORDER, "mcpctl calls ls --kind discovery")
        columns = {name: name for name in DISCOVERY_FIELDS}
        (row,) = query.found(db, "discoveries", columns, query.Conditions().equal("id", search), _ORDER).rows(1, 0)
        return row
    call = query.resolve(db, "calls", ref, _ORDER, "mcpctl calls ls")
    (row,) = query.found(db, "calls", _COLUMNS, query.Conditions().equal("id", call), _ORDER).rows(1, 0)
    return row


def _is_any(db: sqlite3.Connection, table: str, ref: str) -> bool:
    found = db.execute(f"SELECT 1 FROM {table} WHERE id >= ? AND id < ?", (ref.lower(), ref.lower() + "\U0010ffff"))
    return found.fetchone() is not None
