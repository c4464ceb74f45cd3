"""The tables of the index, and the indexes that its lists are read by."""

import sqlite3
from contextlib import closing

TABLES = (
    """CREATE TABLE journals (
        name TEXT PRIMARY KEY, session_id TEXT, offset INTEGER NOT NULL) WITHOUT ROWID""",
    """CREATE TABLE sessions (
        id TEXT PRIMARY KEY, journal TEXT NOT NULL, via TEXT NOT NULL, client_name TEXT, client_version TEXT,
        protocol_version TEXT, status TEXT NOT NULL, start_time TEXT NOT NULL, last_activity TEXT NOT NULL,
        end_time TEXT, tool_call_count INTEGER NOT NULL DEFAULT 0, total_tokens INTEGER NOT NULL DEFAULT 0,
        discovery_count INTEGER NOT NULL DEFAULT 0, discovery_tokens INTEGER NOT NULL DEFAULT 0,
        capabilities TEXT, project TEXT, toolset TEXT)""",
    # What may be large stands last: SQLite goes through a row from its beginning to reach a column.
    """CREATE TABLE calls (
        id TEXT PRIMARY KEY, position INTEGER NOT NULL, session_id TEXT NOT NULL, request_id TEXT, parent_id TEXT,
        via TEXT NOT NULL, server TEXT NOT NULL, tool TEXT NOT NULL, status TEXT NOT NULL, started_at TEXT NOT NULL,
        duration_ms INTEGER, input_tokens INTEGER, output_tokens INTEGER, total_tokens INTEGER, encoding TEXT,
        client_name TEXT, client_version TEXT, project TEXT, toolset TEXT, decision_id TEXT,
        response_bytes INTEGER, response_truncated INTEGER, hints TEXT NOT NULL, annotations TEXT, arguments TEXT,
        error TEXT, response TEXT)""",
    """CREATE TABLE discoveries (
        id TEXT PRIMARY KEY, position INTEGER NOT NULL, session_id TEXT NOT NULL, query TEXT, context TEXT,
        provider TEXT, fallback TEXT, results TEXT, started_at TEXT NOT NULL, duration_ms INTEGER, tokens INTEGER,
        project TEXT)""",
    """CREATE TABLE decisions (
        id TEXT PRIMARY KEY, position INTEGER NOT NULL, session_id TEXT NOT NULL, call_id TEXT, key TEXT NOT NULL,
        decision TEXT NOT NULL, rule TEXT NOT NULL, rule_place TEXT, channel TEXT NOT NULL, scope TEXT,
        arguments_hash TEXT, pin TEXT, token_id TEXT, project TEXT, waited_ms INTEGER, enforced INTEGER NOT NULL,
        made_at TEXT NOT NULL)""",
    """CREATE TABLE usage (
        server TEXT NOT NULL, tool TEXT NOT NULL, calls INTEGER NOT NULL, last_used TEXT NOT NULL,
        PRIMARY KEY (server, tool)) WITHOUT ROWID""",
    # What closes or forgets a session asks for its calls, while a new index is filled too.
    "CREATE INDEX calls_by_session ON calls (session_id, position)",
)
INDEXES = (
    # Lists go through it newest first, and totals through all of it, without the rows, which are ten times as large.
    """CREATE INDEX calls_by_time ON calls (
        started_at, session_id, position, server, tool, status, duration_ms, client_name, project, hints, parent_id,
        via, input_tokens, output_tokens, total_tokens)""",
    "CREATE INDEX calls_not_ok ON calls (started_at, session_id, position, server, tool, status) WHERE status <> 'ok'",
    "CREATE INDEX calls_by_server ON calls (server, started_at, session_id, position)",
    "CREATE INDEX calls_by_tool ON calls (tool, started_at, session_id, position, server)",
    "CREATE INDEX discoveries_by_time ON discoveries (started_at, session_id, position)",
    "CREATE INDEX discoveries_by_session ON discoveries (session_id, position)",
    "CREATE INDEX decisions_by_call ON decisions (call_id, position)",
    "CREATE INDEX decisions_by_session ON decisions (session_id, position)",
    "CREATE INDEX sessions_by_activity ON sessions (last_activity, id)",
)
"""Made after a new index is filled: sorted once, they take a fraction of the time of growing row by row."""
LAST = "sessions_by_activity"
"""What a whole index has, and one that was never finished has not."""


def columns() -> dict[str, list[tuple[str, str]]]:
    """The tables by name, each with its columns and their types."""
    with closing(sqlite3.connect(":memory:")) as db:
        for statement in TABLES:
            db.execute(statement)
        names = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
        return {name: [(row[1], row[2]) for row in db.execute(f"PRAGMA table_info({name})")] for name in names}
