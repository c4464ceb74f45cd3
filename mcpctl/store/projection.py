"""What the lines of a journal are in the tables of the index: the only code that inserts or deletes rows."""

import sqlite3
from collections.abc import Iterable
from typing import Any

import msgspec

from mcpctl.errors import warn
from mcpctl.store import journal_lines

_LONGEST_REASON = 500
"""Characters of a tool's own words that stand as the error of its call."""
SCHEMA = (
    """CREATE TABLE journals (
        name TEXT PRIMARY KEY, session_id TEXT, offset INTEGER NOT NULL) WITHOUT ROWID""",
    """CREATE TABLE sessions (
        id TEXT PRIMARY KEY, journal TEXT NOT NULL, via TEXT NOT NULL, client_name TEXT, client_version TEXT,
        protocol_version TEXT, status TEXT NOT NULL, start_time TEXT NOT NULL, last_activity TEXT NOT NULL,
        end_time TEXT, tool_call_count INTEGER NOT NULL DEFAULT 0, total_tokens INTEGER NOT NULL DEFAULT 0,
        discovery_count INTEGER NOT NULL DEFAULT 0, discovery_tokens INTEGER NOT NULL DEFAULT 0,
        capabilities TEXT, project TEXT, toolset TEXT)""",
    """CREATE TABLE calls (
        id TEXT PRIMARY KEY, position INTEGER NOT NULL, session_id TEXT NOT NULL, request_id TEXT, parent_id TEXT,
        via TEXT NOT NULL, server TEXT NOT NULL, tool TEXT NOT NULL, arguments TEXT, response TEXT,
        status TEXT NOT NULL, error TEXT, started_at TEXT NOT NULL, duration_ms INTEGER, input_tokens INTEGER,
        output_tokens INTEGER, total_tokens INTEGER, encoding TEXT, annotations TEXT, client_name TEXT,
        client_version TEXT, project TEXT, toolset TEXT, response_bytes INTEGER, response_truncated INTEGER)""",
    """CREATE TABLE discoveries (
        id TEXT PRIMARY KEY, position INTEGER NOT NULL, session_id TEXT NOT NULL, query TEXT, context TEXT,
        provider TEXT, fallback TEXT, results TEXT, started_at TEXT NOT NULL, duration_ms INTEGER, tokens INTEGER,
        project TEXT)""",
    """CREATE TABLE usage (
        server TEXT NOT NULL, tool TEXT NOT NULL, calls INTEGER NOT NULL, last_used TEXT NOT NULL,
        PRIMARY KEY (server, tool)) WITHOUT ROWID""",
    "CREATE INDEX calls_by_time ON calls (started_at, session_id, position)",
    "CREATE INDEX calls_by_session ON calls (session_id, position)",
    "CREATE INDEX calls_by_server ON calls (server, started_at, session_id, position)",
    "CREATE INDEX calls_by_tool ON calls (tool, started_at, session_id, position, server)",
    "CREATE INDEX discoveries_by_time ON discoveries (started_at, session_id, position)",
    "CREATE INDEX discoveries_by_session ON discoveries (session_id, position)",
    "CREATE INDEX sessions_by_activity ON sessions (last_activity, id)",
)


def forget(db: sqlite3.Connection, names: Iterable[str]) -> None:
    """Delete what was read of these journals."""
    called: set[tuple[str, str]] = set()
    for name in names:
        for (session,) in db.execute("SELECT session_id FROM journals WHERE name = ?", (name,)).fetchall():
            called.update(db.execute("SELECT DISTINCT server, tool FROM calls WHERE session_id = ?", (session,)))
            db.execute("DELETE FROM calls WHERE session_id = ?", (session,))
            db.execute("DELETE FROM discoveries WHERE session_id = ?", (session,))
            db.execute("DELETE FROM sessions WHERE id = ?", (session,))
        db.execute("DELETE FROM journals WHERE name = ?", (name,))
    for key in called:
        _count_again(db, *key)


def _count_again(db: sqlite3.Connection, server: str, tool: str) -> None:
    """Make a tool's usage what the calls that are left say."""
    db.execute("DELETE FROM usage WHERE server = ? AND tool = ?", (server, tool))
    db.execute(
        "INSERT INTO usage SELECT server, tool, sum(parent_id IS NULL), max(started_at) FROM calls"
        " WHERE server = ? AND tool = ? GROUP BY server, tool",
        (server, tool),
    )


def insert(db: sqlite3.Connection, name: str, position: int, text: bytes) -> None:
    """Take one line, which begins at byte `position` of the journal `name`."""
    try:
        line = journal_lines.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        if text.strip():
            warn(f"{name}: the line at byte {position} cannot be read; skipped")
        return
    match line:
        case journal_lines.SessionCreated():
            _insert_session(db, name, line)
        case journal_lines.CallStarted():
            _insert_call(db, position, line)
        case journal_lines.CallFinished():
            _finish_call(db, line)
        case journal_lines.DiscoveryFinished():
            _insert_discovery(db, position, line)
        case journal_lines.SessionClosed():
            _close_session(db, line)


def _insert_session(db: sqlite3.Connection, name: str, line: journal_lines.SessionCreated) -> None:
    db.execute(
        "INSERT OR IGNORE INTO sessions (id, journal, via, client_name, client_version, protocol_version, status,"
        " start_time, last_activity, capabilities, project, toolset) VALUES (?,?,?,?,?,?,'active',?,?,?,?,?)",
        (line.id, name, line.via, line.client_name, line.client_version, line.protocol_version, line.timestamp,
         line.timestamp, _text(line.capabilities), line.project, line.toolset),
    )  # fmt: skip


def _insert_call(db: sqlite3.Connection, position: int, line: journal_lines.CallStarted) -> None:
    new = db.execute(
        "INSERT OR IGNORE INTO calls (id, position, session_id, request_id, parent_id, via, server, tool, arguments,"
        " status, started_at, input_tokens, total_tokens, encoding, annotations, client_name, client_version, project,"
        " toolset) VALUES (?,?,?,?,?,?,?,?,?,'running',?,?,?,?,?,?,?,?,?)",
        (line.id, position, line.session_id, _text(line.request_id), line.parent_id, line.via, line.server, line.tool,
         _text(line.arguments), line.timestamp, line.input_tokens, line.input_tokens, line.encoding,
         _text(line.annotations), line.client_name, line.client_version, line.project, line.toolset),
    ).rowcount  # fmt: skip
    # What goes on with an earlier call, after the tool had asked for input, is the same call: it counts once.
    counted = new if line.parent_id is None else 0
    if new:
        db.execute(
            "INSERT INTO usage VALUES (?1, ?2, ?4, ?3)"
            " ON CONFLICT DO UPDATE SET calls = calls + ?4, last_used = max(last_used, ?3)",
            (line.server, line.tool, line.timestamp, counted),
        )
    db.execute(
        "UPDATE sessions SET tool_call_count = tool_call_count + ?, total_tokens = total_tokens + ?,"
        " last_activity = max(last_activity, ?) WHERE id = ?",
        (counted, line.input_tokens * new, line.timestamp, line.session_id),
    )


def _finish_call(db: sqlite3.Connection, line: journal_lines.CallFinished) -> None:
    new = db.execute(
        "UPDATE calls SET status = ?, response = ?, error = ?, duration_ms = ?, output_tokens = ?,"
        " total_tokens = input_tokens + ?, response_bytes = ?, response_truncated = ?"
        " WHERE id = ? AND duration_ms IS NULL",
        (line.status, _text(line.response), _text(line.error) or _reason(line), line.duration_ms, line.output_tokens,
         line.output_tokens, line.response_bytes, line.response_truncated, line.id),
    ).rowcount  # fmt: skip
    db.execute(
        "UPDATE sessions SET total_tokens = total_tokens + ?, last_activity = max(last_activity, ?) WHERE id = ?",
        (line.output_tokens * new, line.timestamp, line.session_id),
    )


def _insert_discovery(db: sqlite3.Connection, position: int, line: journal_lines.DiscoveryFinished) -> None:
    new = db.execute(
        "INSERT OR IGNORE INTO discoveries (id, position, session_id, query, context, provider, fallback, results,"
        " started_at, duration_ms, tokens, project) VALUES (?,?,?,?,?,?,?,?,?,?,?,?)",
        (line.id, position, line.session_id, _text(line.query), line.context, line.provider, line.fallback,
         _text(line.results), line.started_at, line.duration_ms, line.tokens, line.project),
    ).rowcount  # fmt: skip
    db.execute(
        "UPDATE sessions SET discovery_count = discovery_count + ?, discovery_tokens = discovery_tokens + ?,"
        " last_activity = max(last_activity, ?) WHERE id = ?",
        (new, line.tokens * new, line.timestamp, line.session_id),
    )


def _close_session(db: sqlite3.Connection, line: journal_lines.SessionClosed) -> None:
    db.execute("UPDATE sessions SET status = 'closed', end_time = ? WHERE id = ?", (line.end_time, line.id))
    db.execute("UPDATE calls SET status = 'interrupted' WHERE session_id = ? AND status = 'running'", (line.id,))


def _text(raw: msgspec.Raw) -> str | None:
    text = bytes(raw).decode()
    return None if text == "null" else text


def _reason(line: journal_lines.CallFinished) -> str | None:
    """What a tool itself said went wrong, the beginning of its first text, in the form of other errors."""
    if line.status != "tool_error":
        return None
    try:
        result = msgspec.json.decode(line.response)
    except (msgspec.DecodeError, RecursionError):
        return None
    said = result if isinstance(result, str) else _first_text(result)  # one that was cut is the text of its beginning
    if not said:
        return None
    message = said if len(said) <= _LONGEST_REASON else said[:_LONGEST_REASON] + "…"
    return msgspec.json.encode({"code": "tool_error", "message": message}).decode()


def _first_text(result: Any) -> str:
    content = result.get("content") if isinstance(result, dict) else None
    texts = (block.get("text") for block in content if isinstance(block, dict)) if isinstance(content, list) else ()
    return next((text for text in texts if isinstance(text, str) and text), "")
