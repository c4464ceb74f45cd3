"""Calls and discoveries on record: lists, and one of them whole."""

import itertools
import sqlite3
from collections.abc import Sequence
from typing import Any

from mcpctl.base.fields import CALL_FIELDS, DECISION_FIELDS, DISCOVERY_FIELDS, LOOSENED, READ_FIELDS
from mcpctl.base.models import Found, Row
from mcpctl.store import filters, query, schema
from mcpctl.store.filters import EVERYTHING, CallFilter

STATUS = schema.call_status("dead")
_COLUMNS = {**{name: name for name in CALL_FIELDS}, **schema.ELSEWHERE["calls"], "status": STATUS}
_KEY = {"key": "server || ':' || tool"}
_DECISION_COLUMNS = {name: name for name in DECISION_FIELDS}
_DISCOVERY_COLUMNS = {name: name for name in DISCOVERY_FIELDS}
_READ_COLUMNS = {name: name for name in READ_FIELDS if name != "session_id"}
_ORDER = "started_at DESC, session_id DESC, position DESC"


def find(db: sqlite3.Connection, wanted: CallFilter = EVERYTHING, fields: Sequence[str] = CALL_FIELDS) -> Found:
    """One field may be the key of the tool."""
    return query.select(db, "calls", {name: (_COLUMNS | _KEY)[name] for name in fields}, filters.calls(wanted), _ORDER)


def of_session(db: sqlite3.Connection, session: str, fields: Sequence[str] | None = None) -> Found:
    """With all fields but the responses, which may be large, where none are named."""
    of_each = fields or [name for name in _COLUMNS if name not in ("response", "session_id")]
    columns = {name: _COLUMNS[name] for name in of_each}
    return query.select(db, "calls", columns, query.Conditions().equal("session_id", session), "position")


def find_discoveries(db: sqlite3.Connection, wanted: CallFilter = EVERYTHING) -> Found:
    return query.select(db, "discoveries", _DISCOVERY_COLUMNS, filters.searches(wanted), _ORDER)


def find_decisions(db: sqlite3.Connection, *, session: str | None = None, call: str | None = None) -> Found:
    conditions = query.Conditions().equal("session_id", session).equal("call_id", call)
    return query.select(db, "decisions", _DECISION_COLUMNS, conditions, "made_at, session_id, position")


def loosened(db: sqlite3.Connection, since: str | None, at_most: int) -> list[Row]:
    conditions = query.Conditions().equal("decision", LOOSENED).when("made_at >= ?", since)
    return list(query.select(db, "decisions", _DECISION_COLUMNS, conditions, "made_at DESC").rows(at_most, 0))


def reads_of_session(db: sqlite3.Connection, session: str) -> Found:
    return query.select(db, "reads", _READ_COLUMNS, query.Conditions().equal("session_id", session), "position")


def followed_searches(db: sqlite3.Connection, project: str | None = None) -> list[tuple[Row, list[str]]]:
    """With a project, the searches made while it was in force. A call belongs to the latest search before it that had
    its tool. A search is `{query, context}`, its query JSON. Searches that led to no call are left out."""
    rows = db.execute(
        "SELECT session_id, started_at, position, NULL AS key, query, context, results FROM discoveries"
        " WHERE :project IS NULL OR project = :project"
        " UNION ALL SELECT session_id, started_at, position, server || ':' || tool, NULL, NULL, NULL FROM calls"
        " WHERE session_id IN (SELECT session_id FROM discoveries)"
        # Of a search and a call of one moment the search was first: NULL is sorted before every key.
        " ORDER BY session_id, started_at, key",
        {"project": project},
    )
    followed: list[tuple[tuple[str, str, int], Row, list[str]]] = []
    for session, events in itertools.groupby(rows, key=lambda row: row[0]):
        latest: dict[str, tuple[tuple[str, str, int], Row, list[str]]] = {}
        for _, started_at, position, key, text, context, results in events:
            if key is None:
                search = (started_at, session, position), {"query": text, "context": context}, list[str]()
                latest.update(dict.fromkeys(_result_keys(results), search))
            elif key in latest:
                *_, called = latest[key]
                if not called:
                    followed.append(latest[key])
                called.append(key)
    return [(search, called) for _, search, called in sorted(followed, key=lambda each: each[0])]


def _result_keys(results: str | None) -> list[str]:
    import msgspec

    try:
        hits = msgspec.json.decode(results or "[]", type=list[dict[str, Any]])
    except (msgspec.DecodeError, RecursionError):
        return []
    return [hit["key"] for hit in hits if isinstance(hit.get("key"), str)]


def show(db: sqlite3.Connection, ref: str) -> Row:
    """`ref` is a full id, a unique prefix, or `last` for the last call."""
    if ref != "last" and not _is_any(db, "calls", ref) and _is_any(db, "discoveries", ref):
        search = query.resolve(db, "discoveries", ref, _ORDER, "mcpctl calls ls --kind discovery")
        (row,) = with_id(db, "discoveries", search)
    else:
        (call,) = with_id(db, "calls", resolve(db, ref))
        row = {**call, "decisions": list(find_decisions(db, call=call["id"]).rows(None, 0))}
    return row


def resolve(db: sqlite3.Connection, ref: str) -> str:
    return query.resolve(db, "calls", ref, _ORDER, "mcpctl calls ls")


def with_id(db: sqlite3.Connection, table: str, id_: str) -> list[Row]:
    columns = {"calls": _COLUMNS, "discoveries": _DISCOVERY_COLUMNS, "decisions": _DECISION_COLUMNS}[table]
    return list(query.select(db, table, columns, query.Conditions().equal("id", id_), "id").rows(1, 0))


def last_shortened(db: sqlite3.Connection) -> str | None:
    row = db.execute(f"SELECT id FROM calls WHERE shortened ORDER BY {_ORDER} LIMIT 1").fetchone()
    return row[0] if row else None


def newest(db: sqlite3.Connection, prefix: str, at_most: int) -> list[Row]:
    columns = {name: name for name in ("id", "server", "tool", "status", "started_at")}
    return list(query.select(db, "calls", columns, query.beginning(prefix), _ORDER).rows(at_most, 0))


def _is_any(db: sqlite3.Connection, table: str, ref: str) -> bool:
    rows = db.execute(f"SELECT 1 FROM {table} WHERE id >= ? AND id < ?", (ref.lower(), ref.lower() + query.LAST))
    return rows.fetchone() is not None
