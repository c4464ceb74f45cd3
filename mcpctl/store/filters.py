"""Which calls, searches and sessions are meant: one value, and what it asks of each table."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mcpctl.base import tool_keys
from mcpctl.base.fields import CALL_STATUSES
from mcpctl.base.models import NOT_FAILED

if TYPE_CHECKING:
    from mcpctl.store.query import Conditions

FAILED = tuple(status for status in CALL_STATUSES if status not in NOT_FAILED)
"""The statuses of calls that did not do what was asked."""

_PLACE = "started_at, session_id, position"
_HINTS = ("read-only", "destructive", "idempotent", "open-world")
_LETTERS = "RDIO"
HINTS = (*_HINTS, *(f"no-{name}" for name in _HINTS), "undeclared")
"""The hints of a tool when it was called; undeclared: neither that it only reads, nor whether it destroys."""


@dataclass(frozen=True)
class CallFilter:
    """Which calls are meant. One of the values of each member has to fit; an empty one asks nothing."""

    sessions: tuple[str, ...] = ()
    """Full ids."""
    parents: tuple[str, ...] = ()
    """Full ids of calls of which they are later rounds or replays."""
    servers: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    """Bare names, keys, or globs of either, with `*` and `?`."""
    statuses: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()
    clients: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()
    """Some of `HINTS`."""
    since: str | None = None
    """A time as records have it."""
    until: str | None = None
    grep: str | None = None
    """A text in arguments, response or error, in whatever case; in query, context or results of a search."""
    min_duration_ms: int | None = None
    before: str | None = None
    """Listed after the call with this full id, newest first, so that a list goes on where another one ended."""


EVERYTHING = CallFilter()


def calls(wanted: CallFilter) -> "Conditions":
    """The conditions on rows of `calls`; more can follow."""
    asked = _nothing().any_of("session_id", wanted.sessions).any_of("parent_id", wanted.parents)
    # The index by server has none of these: each row would have to be read, from all over the file.
    beyond = wanted.statuses or wanted.hints or wanted.clients or wanted.projects or wanted.min_duration_ms
    asked.any_of("+server" if beyond else "server", wanted.servers)
    _either(asked, [_tool(tool) for tool in wanted.tools])
    _status(asked, wanted.statuses)
    asked.any_of("project", wanted.projects).any_of("client_name", wanted.clients)
    _either(asked, [("hints GLOB ?", (_hint(hint),)) for hint in wanted.hints])
    _times(asked, wanted)
    asked.when(f"({_PLACE}) < (SELECT {_PLACE} FROM calls WHERE id = ?)", wanted.before)
    return _text(asked, wanted.grep, ("arguments", "error", "response"))


def searches(wanted: CallFilter) -> "Conditions":
    """The conditions on rows of `discoveries`, which have no server, tool, status or hints."""
    asked = _nothing().any_of("session_id", wanted.sessions).any_of("project", wanted.projects)
    if wanted.clients:
        inner = _nothing().any_of("client_name", wanted.clients)
        asked.when(f"session_id IN (SELECT id FROM sessions{inner.where})", *inner.values)
    _times(asked, wanted)
    return _text(asked, wanted.grep, ("query", "context", "results"))


def sessions(wanted: CallFilter) -> "Conditions":
    """The conditions on rows of `sessions`: active in that time, and with such calls if it asks for calls."""
    asked = _nothing().any_of("id", wanted.sessions).any_of("project", wanted.projects)
    asked.any_of("client_name", wanted.clients)
    asked.when("last_activity >= ?", wanted.since).when("start_time < ?", wanted.until)
    of_calls = replace(wanted, sessions=(), projects=(), clients=())
    if replace(of_calls, since=None, until=None) != EVERYTHING:
        inner = calls(of_calls)
        asked.when(f"id IN (SELECT session_id FROM calls{inner.where})", *inner.values)
    return asked


def is_glob(name: str) -> bool:
    return "*" in name or "?" in name


def _nothing() -> "Conditions":
    # Imported here, since every command that has filters imports this module to say so, and few go on to ask SQLite.
    from mcpctl.store.query import Conditions

    return Conditions()


def _tool(tool: str) -> tuple[str, tuple[str, ...]]:
    if ":" in tool:
        server, name = tool_keys.split(tool)
        if name == "*":
            return _named("server", server), (_pattern(server),)
        return f"({_named('server', server)} AND {_named('tool', name)})", (_pattern(server), _pattern(name))
    if "." not in tool:
        return _named("tool", tool), (_pattern(tool),)
    server, _, name = tool.partition(".")  # a server's name has no dot, a tool's may have some
    if is_glob(tool):
        either = f"({_named('tool', tool)} OR {_named('server', server)} AND {_named('tool', name)})"
        return either, (_pattern(tool), _pattern(server), _pattern(name))
    return "(tool IN (?, ?) AND (tool = ? OR server = ?))", (tool, name, tool, server)


def _named(column: str, name: str) -> str:
    # A glob is asked of the index by time, which has the rows in their order.
    return f"+{column} GLOB ?" if is_glob(name) else f"{column} = ?"


def _pattern(name: str) -> str:
    return name.replace("[", "[[]") if is_glob(name) else name


def _status(asked: "Conditions", statuses: tuple[str, ...]) -> None:
    """A call that runs in a session whose process is gone counts as interrupted."""
    if not statuses:
        return
    dead = "session_id IN (SELECT session_id FROM dead)"
    among = f"status IN ({', '.join('?' * len(statuses))})"
    if "interrupted" in statuses and "running" not in statuses:
        among = f"({among} OR status = 'running' AND {dead})"
    elif "running" in statuses and "interrupted" not in statuses:
        among = f"({among} AND NOT (status = 'running' AND {dead}))"
    # Word for word what the index of what was not ok is of, so that it may be used.
    asked.when(among if "ok" in statuses else f"status <> 'ok' AND {among}", *statuses)


def _hint(hint: str) -> str:
    if hint == "undeclared":
        return "--*"
    name = hint.removeprefix("no-")
    place = _HINTS.index(name)
    letter = _LETTERS[place] if name == hint else _LETTERS[place].lower()
    return f"{'?' * place}{letter}*"


def _times(asked: "Conditions", wanted: CallFilter) -> None:
    asked.when("started_at >= ?", wanted.since).when("started_at < ?", wanted.until)
    asked.when("duration_ms >= ?", wanted.min_duration_ms)


def _text(asked: "Conditions", text: str | None, columns: tuple[str, ...]) -> "Conditions":
    from mcpctl.store import query

    _either(asked, [query.having_text(column, text) for column in columns] if text else [])
    return asked


def _either(asked: "Conditions", alternatives: list[tuple[str, tuple[str, ...]]]) -> None:
    if len(alternatives) == 1:
        ((sql, values),) = alternatives
        asked.when(sql, *values)
    elif alternatives:
        every = tuple(value for _, values in alternatives for value in values)
        # With the sign it is no reason to go through other indexes and sort the rows that they give.
        asked.when(f"+({' OR '.join(sql for sql, _ in alternatives)})", *every)
