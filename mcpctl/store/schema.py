"""The tables of the index, and the indexes that its lists are read by."""

import functools
import sqlite3
from collections.abc import Mapping
from contextlib import closing

from mcpctl.base import fields
from mcpctl.base.models import NOT_FAILED, OUTCOMES
from mcpctl.store.sqlite import SQLITE, Dialect

_ASIDE = {  # the columns of each table that are fields of no row
    "sessions": {"journal": "TEXT NOT NULL", "via": "TEXT NOT NULL"},
    "calls": {"position": "INTEGER NOT NULL", "hints": "TEXT NOT NULL"},
    **{table: {"position": "INTEGER NOT NULL"} for table in ("discoveries", "reads", "decisions")},
}
ELSEWHERE = {"calls": {"config_path": "(SELECT config_path FROM sessions WHERE id = calls.session_id)"}}
MARKS = ("arguments_redacted", "response_redacted")
_NOT_KEPT = {"calls": (*ELSEWHERE["calls"], "outcome")}
_LARGE = "annotations", "arguments", "error_message", "error", "response"  # last: SQLite passes through all before


def _type(name: str, written: str) -> str:
    if name == "id":
        return "TEXT PRIMARY KEY"
    kind = "INTEGER" if written.startswith(("int", "bool")) else "TEXT"
    if written.startswith("Json") or written.endswith("None"):
        return kind
    return f"{kind} NOT NULL DEFAULT 0" if written == "int" or name in MARKS else f"{kind} NOT NULL"


def stored(table: str) -> dict[str, str]:
    """The columns of a table with their types, in their order."""
    columns = _ASIDE[table] | {
        field: _type(field, written) for field, written in fields.types(fields.TABLES[table]).items()
        if field not in _NOT_KEPT.get(table, ())
    }  # fmt: skip
    order = sorted(columns, key=lambda each: (each != "id", _LARGE.index(each) + 1 if each in _LARGE else 0))
    return {name: columns[name] for name in order}


def _table(name: str) -> str:
    return f"CREATE TABLE {name} ({', '.join(f'{column} {type_}' for column, type_ in stored(name).items())})"


TABLES = (
    """CREATE TABLE journals (
        name TEXT PRIMARY KEY, session_id TEXT, offset INTEGER NOT NULL) WITHOUT ROWID""",
    *map(_table, fields.TABLES),
    """CREATE TABLE usage (
        server TEXT NOT NULL, tool TEXT NOT NULL, calls INTEGER NOT NULL, last_used TEXT NOT NULL,
        PRIMARY KEY (server, tool)) WITHOUT ROWID""",
    # The sessions whose process was gone when mcpctl last looked, for the views: SQL sees no lock.
    "CREATE TABLE gone (session_id TEXT PRIMARY KEY) WITHOUT ROWID",
    # Closing or forgetting a session asks for its calls, while a new index is filled too.
    "CREATE INDEX calls_by_session ON calls (session_id, position)",
)


REDACTED = "(arguments_redacted = 1 OR response_redacted = 1)"


def call_status(dead: str) -> str:
    """A call that runs in a session of the table `dead`, whose process is gone, was interrupted."""
    gone = f"status = 'running' AND session_id IN (SELECT session_id FROM {dead})"
    return f"CASE WHEN {gone} THEN 'interrupted' ELSE status END"


def call_failed(dead: str) -> str:
    return f"{call_status(dead)} NOT IN {NOT_FAILED}"


def call_outcome(dead: str) -> str:
    """The outcome of a call; null of one that goes on."""
    cases = " ".join(f"WHEN {_among(statuses)} THEN '{name}'" for name, statuses in OUTCOMES.items())
    return f"CASE WHEN {call_status(dead)} = 'interrupted' THEN 'error' {cases} END"


def _among(statuses: tuple[str, ...]) -> str:
    return f"status IN ({', '.join(repr(status) for status in statuses)})"


def error_group(dead: str) -> str:
    """The text that calls which failed alike have in common; the status where none was recorded."""
    return f"CASE WHEN {call_failed(dead)} THEN coalesce(error_group, {call_status(dead)}) END"


def person(sql: Dialect = SQLITE) -> str:
    """Who made a decision: its line says so, or that of the answer by which a call was let through or refused."""
    client = "(SELECT client_name FROM sessions WHERE id = {}.session_id)"
    # The answer may be on record a moment after the call that waited for it.
    answer = f"""(SELECT coalesce(answer.person, {client.format("answer")}) FROM decisions AS answer
        WHERE answer.key = decisions.key AND answer.id <> decisions.id
        AND answer.made_at <= {sql.after.format("decisions.made_at", 5)}
        AND answer.decision IN ('approved', 'declined')
        AND answer.decision = CASE decisions.decision WHEN 'declined' THEN 'declined' ELSE 'approved' END
        AND (answer.arguments_hash = decisions.arguments_hash OR answer.scope <> 'once')
        ORDER BY answer.made_at DESC LIMIT 1)"""
    of_channel = f"""CASE decisions.channel WHEN 'client' THEN {client.format("decisions")}
        WHEN 'hook' THEN {client.format("decisions")} WHEN 'terminal' THEN {answer}
        WHEN 'dashboard' THEN {answer} WHEN 'grant' THEN {answer} END"""
    is_answer = "decisions.decision IN ('approved', 'allowed', 'declined')"
    return f"coalesce(decisions.person, CASE WHEN {is_answer} THEN {of_channel} END)"


def session_status(dead: str) -> str:
    return f"CASE WHEN status = 'active' AND id IN (SELECT session_id FROM {dead}) THEN 'closed' ELSE status END"


def session_end(dead: str) -> str:
    """A session in the table `dead` ended when it did something last."""
    return f"CASE WHEN {session_status(dead)} = 'active' THEN NULL ELSE coalesce(end_time, last_activity) END"


@functools.cache
def selections(sql: Dialect) -> Mapping[str, Mapping[str, str]]:
    """The SQL of each field of the lists, by the table."""
    made: dict[str, dict[str, str]] = {
        "sessions": {"status": session_status("dead"), "end_time": session_end("dead")},
        "calls": {
            **ELSEWHERE["calls"], "status": call_status("dead"), "outcome": call_outcome("dead"),
            "error_group": error_group("dead"),
        },
        "decisions": {"person": person(sql)},
    }  # fmt: skip
    return {
        table: {name: name for name in fields.names(row)}
        | made.get(table, {})
        | {name: also.format(table) for name, also in sql.also.items()}
        for table, row in fields.TABLES.items()
    }


@functools.cache
def selections_of_calls(sql: Dialect) -> Mapping[str, str]:
    """The same of calls, with fields that are made where they are asked for."""
    return {
        **selections(sql)["calls"],
        "key": "server || ':' || tool",
        "consent": "(SELECT decision || coalesce(' ' || scope, '') || ', ' || channel"
        f" || coalesce(': ' || {person(sql)}, '') FROM decisions WHERE id = calls.decision_id)",
        "arguments_line": "substr(arguments, 1, 2048)",
    }


def _view(table: str, fields: tuple[str, ...], **changed: str) -> str:
    columns = {**{name: name for name in fields}, **changed}
    selection = ", ".join(f"{sql} AS {name}" for name, sql in columns.items())
    return f"CREATE VIEW v_{table} AS SELECT {selection} FROM {table}"


_MADE = {
    "sessions": {"status": session_status("gone"), "end_time": session_end("gone")},
    "decisions": {"person": person()},
    "calls": {
        "status": call_status("gone"), "outcome": call_outcome("gone"), "error_group": error_group("gone"),
        "key": "server || ':' || tool", "hints": "hints", "failed": call_failed("gone"), **ELSEWHERE["calls"],
    },
}  # fmt: skip
VIEWS = tuple(_view(table, fields.names(row), **_MADE.get(table, {})) for table, row in fields.TABLES.items())
"""The tables for others' SQL: the fields and the words of --json, whatever the tables are like."""
INDEXES = (  # made after a new index is filled: sorted once, they take a fraction of the time of growing row by row
    # Lists go through it newest first, and totals through all of it, without the rows, which are ten times as large.
    """CREATE INDEX calls_by_time ON calls (
        started_at, session_id, position, server, tool, status, duration_ms, client_name, project, hints, parent_id,
        via, input_tokens, output_tokens, total_tokens, response_bytes, arguments_redacted, response_redacted)""",
    """CREATE INDEX calls_not_ok ON calls (
        started_at, session_id, position, server, tool, status, error_group, error_code, client_name, project, hints,
        id) WHERE status <> 'ok'""",
    "CREATE INDEX calls_by_server ON calls (server, started_at, session_id, position)",
    "CREATE INDEX calls_by_tool ON calls (tool, started_at, session_id, position, server)",
    "CREATE INDEX calls_by_http ON calls (started_at, session_id, position, http_status) WHERE http_status > 0",
    "CREATE INDEX discoveries_by_time ON discoveries (started_at, session_id, position)",
    "CREATE INDEX discoveries_by_session ON discoveries (session_id, position)",
    "CREATE INDEX reads_by_time ON reads (started_at, session_id, position)",
    "CREATE INDEX reads_by_session ON reads (session_id, position)",
    "CREATE INDEX decisions_by_time ON decisions (made_at, session_id, position)",
    "CREATE INDEX decisions_by_call ON decisions (call_id, position)",
    "CREATE INDEX answers_by_key ON decisions (key, made_at) WHERE decision IN ('approved', 'declined')",
    "CREATE INDEX decisions_by_session ON decisions (session_id, position)",
    *VIEWS,
    "CREATE INDEX sessions_by_activity ON sessions (last_activity, id)",
)
LAST = "sessions_by_activity"  # only a whole index has it


def columns(kind: str = "table") -> dict[str, list[tuple[str, str]]]:
    with closing(sqlite3.connect(":memory:")) as db:
        for statement in (*TABLES, *VIEWS):
            db.execute(statement)
        names = db.execute("SELECT name FROM sqlite_master WHERE type = ? ORDER BY name", (kind,)).fetchall()
        return {name: [(row[1], row[2]) for row in db.execute(f"PRAGMA table_info({name})")] for (name,) in names}
