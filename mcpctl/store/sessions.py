"""Sessions on record: lists, and one with its aggregates and calls."""

import sqlite3
from collections.abc import Sequence

from mcpctl.base.fields import SESSION_FIELDS
from mcpctl.base.models import Found, Row
from mcpctl.store import calls, filters, query, schema
from mcpctl.store.filters import EVERYTHING, CallFilter

_STATUS = schema.session_status("dead")
_COLUMNS = {
    **{name: name for name in SESSION_FIELDS},
    "status": _STATUS,
    "end_time": schema.session_end("dead"),
}
_TOKENS = {"tokens": "total_tokens + discovery_tokens"}
_ORDER = "last_activity DESC, id"
_MEANT = f"(via = 'cli' AND tool_call_count = 0), {_ORDER}"
"""`last` never means a session in which something was only answered."""


def find(db: sqlite3.Connection, wanted: CallFilter = EVERYTHING, statuses: Sequence[str] = ()) -> Found:
    conditions = filters.sessions(wanted).any_of(f"({_STATUS})", statuses)
    return query.select(db, "sessions", _COLUMNS | _TOKENS, conditions, _ORDER)


_BYTES_OF_QUERY = "length(CAST(query AS BLOB)) + length(CAST(coalesce(context, '') AS BLOB))"
_AROUND_KEY = len('{"toolKey":":","arguments":}')
_BYTES_OF_KEY = f"length(server) + length(tool) + {_AROUND_KEY}"
_SUM = "(SELECT coalesce(sum(({} + 3) / 4), 0) FROM {} WHERE session_id = sessions.id)"
_OVERHEADS = {
    **{name: name for name in ("id", "client_name", "project", "last_activity", "discovery_tokens")},
    "query_tokens": _SUM.format(_BYTES_OF_QUERY, "discoveries"),
    "key_tokens": _SUM.format(_BYTES_OF_KEY, "calls"),
}


def overheads(db: sqlite3.Connection, wanted: CallFilter = EVERYTHING, statuses: Sequence[str] = ()) -> Found:
    conditions = filters.sessions(wanted).any_of(f"({_STATUS})", statuses).equal("via", "client")
    return query.select(db, "sessions", _OVERHEADS, conditions, _ORDER)


def resolve(db: sqlite3.Connection, ref: str) -> str:
    return query.resolve(db, "sessions", ref, _MEANT, "mcpctl sessions ls")


def show(db: sqlite3.Connection, ref: str, call_fields: Sequence[str] | None = None) -> Row:
    from mcpctl.store import statistics

    session = resolve(db, ref)
    (row,) = with_id(db, session)
    return {
        **row,
        "tools": statistics.of_session(db, session),
        "calls": calls.of_session(db, session, call_fields),
        "reads": calls.reads_of_session(db, session),
        "decisions": calls.find_decisions(db, session=session),
    }


def with_id(db: sqlite3.Connection, id_: str) -> list[Row]:
    return list(query.select(db, "sessions", _COLUMNS, query.Conditions().equal("id", id_), _ORDER).rows(1, 0))


def newest(db: sqlite3.Connection, prefix: str, at_most: int) -> list[Row]:
    columns = {name: name for name in ("id", "client_name", "tool_call_count", "last_activity")}
    return list(query.select(db, "sessions", columns, query.beginning(prefix), _ORDER).rows(at_most, 0))
