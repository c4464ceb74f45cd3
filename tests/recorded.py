"""Records for tests: made of the store's own lines, in its own journals, with fixed ids and times.

The times lie far ahead, so that a table says `0s ago` on whatever day it is printed.
"""

import json
from collections.abc import Sequence
from typing import Any

from msgspec import Raw

from mcpctl.base.paths import Paths
from mcpctl.store import journal_lines
from mcpctl.store.journal import Journal

CLAUDE = "1c1a0de0-0000-4000-8000-000000000001"
CURSOR = "2c025020-0000-4000-8000-000000000002"


def raw(value: Any) -> Raw:
    """A value as a line holds it."""
    return Raw(json.dumps(value).encode())


def at(minute: float) -> str:
    """A moment of the one day on which everything here happens."""
    seconds = round(minute * 60)
    return f"2100-01-01T{12 + seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.000Z"


def call_id(number: int) -> str:
    """The id of the call of that number: ids begin with their number."""
    return f"{number}0ca1100-0000-4000-8000-00000000000{number}"


def created(session: str = CLAUDE, minute: float = 0, **changes: Any) -> journal_lines.SessionCreated:
    """The line that begins a session."""
    given = {
        "client_name": "claude-code",
        "client_version": "2.0",
        "protocol_version": "2025-11-25",
        "capabilities": raw({"roots": {}}),
    }
    return journal_lines.SessionCreated(timestamp=at(minute), id=session, **{**given, **changes})


def started(number: int | str, minute: float, session: str = CLAUDE, **changes: Any) -> journal_lines.CallStarted:
    """The line that begins a call."""
    given = {
        "request_id": raw(number),
        "via": "client",
        "server": "weather",
        "tool": "get_forecast",
        "arguments": raw({"city": "Oslo"}),
        "annotations": raw(None),
        "input_tokens": 5,
        "encoding": "estimate:bytes/4",
        "client_name": "claude-code",
        "client_version": "2.0",
    }
    id_ = call_id(number) if isinstance(number, int) else number
    return journal_lines.CallStarted(timestamp=at(minute), id=id_, session_id=session, **{**given, **changes})


def finished(number: int | str, minute: float, session: str = CLAUDE, **changes: Any) -> journal_lines.CallFinished:
    """The line that ends a call."""
    given = {
        "status": "ok",
        "response": raw({"content": [{"type": "text", "text": "cloudy"}]}),
        "error": raw(None),
        "duration_ms": 12,
        "output_tokens": 12,
        "response_bytes": 48,
        "response_truncated": False,
    }
    id_ = call_id(number) if isinstance(number, int) else number
    return journal_lines.CallFinished(timestamp=at(minute), id=id_, session_id=session, **{**given, **changes})


def searched(number: int, minute: float, session: str = CLAUDE, **changes: Any) -> journal_lines.DiscoveryFinished:
    """The line of one search."""
    given = {
        "query": raw(["weather in a city"]),
        "context": None,
        "provider": "bm25",
        "fallback": None,
        "results": raw([{"key": "weather:get_forecast", "relevance": 0.91}]),
        "started_at": at(minute),
        "duration_ms": 3,
        "tokens": 40,
    }
    id_ = f"{number}0d15c00-0000-4000-8000-00000000000{number}"
    return journal_lines.DiscoveryFinished(timestamp=at(minute), id=id_, session_id=session, **{**given, **changes})


def was_read(number: int, minute: float, session: str = CLAUDE, **changes: Any) -> journal_lines.ReadFinished:
    """The line of one resource that was read."""
    given = {
        "via": "client", "kind": "resource", "server": "notes", "name": f"note://{number}", "status": "ok",
        "error": journal_lines.NULL, "started_at": at(minute), "duration_ms": 7, "response_bytes": 120,
        "client_name": "claude-code", "client_version": "2.0", "project": None, "toolset": None,
    }  # fmt: skip
    id_ = f"{number}0ead000-0000-4000-8000-00000000000{number}"
    return journal_lines.ReadFinished(timestamp=at(minute), id=id_, session_id=session, **{**given, **changes})


def decided(
    call: str | None, decision: str = "denied", minute: float = 2, **changes: Any
) -> journal_lines.DecisionMade:
    """The line of a decision about a call, or about an attempt that became none."""
    given = {
        "id": f"{decision}-{call}", "session_id": CLAUDE, "key": "weather:get_forecast",
        "rule": "deny = weather:*", "rule_place": "/home/anna/config.toml:12", "channel": "rule", "scope": None,
        "arguments_hash": None, "pin": None, "token_id": None, "project": None, "waited_ms": None, "enforced": True,
    }  # fmt: skip
    return journal_lines.DecisionMade(timestamp=at(2), call_id=call, decision=decision, **{**given, **changes})


def closed(session: str = CLAUDE, minute: float = 59) -> journal_lines.SessionClosed:
    """The line that ends a session."""
    return journal_lines.SessionClosed(timestamp=at(minute), id=session, end_time=at(minute))


def opened(paths: Paths, first: journal_lines.SessionCreated, rest: Sequence[journal_lines.AnyLine] = ()) -> Journal:
    """A session that goes on until its journal is closed."""
    journal = Journal.create(paths.sessions, first)
    if rest:
        journal.append(b"".join(map(journal_lines.encode, rest)))
    return journal


def session(paths: Paths, id_: str = CLAUDE, minute: float = 0, rest: Sequence[journal_lines.AnyLine] = ()) -> Journal:
    """A session that was closed five minutes after it began; what was done in it is `rest`."""
    journal = opened(paths, created(id_, minute), rest)
    journal.close(journal_lines.encode(closed(id_, minute + 5)))
    return journal


def call(number: int | str, minute: float, session: str = CLAUDE, **changes: Any) -> list[journal_lines.AnyLine]:
    """A call that began and ended; `changes` are members of either line."""
    of_start = {name: value for name, value in changes.items() if name in journal_lines.CallStarted.__struct_fields__}
    of_end = {name: value for name, value in changes.items() if name not in of_start}
    return [started(number, minute, session, **of_start), finished(number, minute + 0.1, session, **of_end)]


def hints(read_only: bool | None, destructive: bool | None, idempotent: bool | None, open_world: bool | None) -> Raw:
    """The hints that a tool declared when it was called; None is one it did not declare."""
    names = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
    values = zip(names, (read_only, destructive, idempotent, open_world), strict=True)
    return raw({name: {"value": value, "source": "declared"} for name, value in values if value is not None} or None)


def two_sessions(paths: Paths) -> None:
    """Six calls and two searches in two closed sessions, Cursor's the later."""
    forecast = hints(True, None, None, True)
    session(
        paths,
        CLAUDE,
        0,
        [
            searched(1, 1),
            *call(1, 2, annotations=forecast),
            *call(2, 3, server="notes", tool="add_note", annotations=hints(False, False, False, False), duration_ms=4),
            *call(3, 4, annotations=forecast, status="tool_error", arguments=raw({"city": 7})),
        ],
    )
    refused = {"code": "not_permitted", "message": "tool 'notes:delete_note' is not permitted"}
    cursor = {"session": CURSOR, "client_name": "cursor", "client_version": "1.7"}
    journal = opened(
        paths,
        created(CURSOR, 10, client_name="cursor", client_version="1.7", capabilities=raw({})),
        [
            *call(4, 11, **cursor, server="notes", tool="delete_note", annotations=hints(False, True, True, False),
                  status="denied", response=raw(None), error=raw(refused), duration_ms=0, response_bytes=0),
            *call(5, 12, **cursor, tool="convert_temperature", status="failed", response=raw(None),
                  error=raw({"code": "server_died", "message": "server 'weather' died"}), response_bytes=0),
            searched(2, 13, CURSOR, query=raw(["list", "notes"]), context="tidying up", results=raw([])),
            *call(6, 14, **cursor, server="notes", tool="list_notes", annotations=hints(True, None, True, False)),
        ],
    )  # fmt: skip
    journal.close(journal_lines.encode(closed(CURSOR, 15)))
