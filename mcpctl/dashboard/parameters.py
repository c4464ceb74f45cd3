"""The parameters of requests: read as the command line reads its options, and refused in the same words."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from mcpctl.base.errors import WrongUsage
from mcpctl.base.models import Row
from mcpctl.store import filters
from mcpctl.store.filters import CallFilter

if TYPE_CHECKING:
    from mcpctl.dashboard.rest_names import Name

MOST = 1000
"""Rows of one answer."""
DEFAULT = 50
_MOST_OFFSET = 1_000_000_000
_LONGEST_NUMBER = 10
_LONGEST_NAME = 100
_SEVERAL = ("session", "server", "tool", "status", "hint", "client", "project")
_SINGLE = ("since", "until", "grep", "min_duration")
_FLAGS = {"true": True, "1": True, "false": False, "0": False}

WINDOW = ("limit", "offset", "fields")
OF_DISCOVERIES = ("session_id", "client", "project", "since", "until", "grep", "min_duration")
OF_CALLS = ("session_id", "server", "tool", "status", "failed", *OF_DISCOVERIES[1:3], "hint", *OF_DISCOVERIES[3:])
OF_SESSIONS = tuple(name for name in OF_CALLS if name != "session_id")
OF_TOOLS = ("read_only", "destructive", "idempotent", "open_world")
FLAGS = ("failed", "payloads", "approvals", "pending", *OF_TOOLS)
MEANINGS = {
    "limit": f"At most so many, 1 to {MOST}; {DEFAULT} without it.",
    "offset": "Leave out the first so many.",
    "fields": "Only these members, with commas between them, whatever else an answer has.",
    "before": "Only what is listed after the call with this id; offset counts from there, total does not.",
    "payloads": "false leaves out arguments, response and error, which are not even read.",
    "approvals": "true has approvals told too, whatever is asked of the rest.",
    "session_id": "Of these sessions: ids, their beginnings, or last.",
    "server": "Of these servers.",
    "tool": "Of these tools: names, keys or globs.",
    "status": "With one of these statuses.",
    "failed": "Only what failed.",
    "client": "Of this client; may be repeated.",
    "project": "With these projects in force.",
    "hint": "By a hint in effect when the call was made: destructive, read-only, no-destructive, undeclared and so on.",
    "since": "Since 30m, 1h30m, 2d or 1w ago, today, yesterday, 2026-11-20 or 2026-11-20T12:00Z.",
    "until": "Before then.",
    "grep": "With this text in arguments, response or error.",
    "min_duration": "That took as long: 500ms, 2s, 1m30s.",
    "by": f"A row for each of these: {', '.join(filters.GROUPS)}.",
    "sort": "The largest first, of this field; or tools by key, tool, usage or last_used.",
    "format": "jsonl or csv.",
    "pending": "Only approvals that can be answered now.",
    "toolset": "The toolset in force, or none; without it the one that is equipped.",
    "q": "Rank the tools against these words, the best first.",
    **dict.fromkeys(OF_TOOLS, "true or false: by this hint in effect."),
}
"""What a parameter asks, wherever it may stand."""


class Parameters:
    """What one request asks; raises `WrongUsage`, naming the parameter, for all that cannot be meant."""

    _session = "session_id"
    _has_commas = True
    """Whether a comma in the name of a server, tool or project is between two of them."""

    def __init__(self, given: Iterable[tuple[str, str]], known: Sequence[str]) -> None:
        self._given: dict[str, list[str]] = {}
        for name, value in given:
            if name not in known:
                raise _unknown(name, known)
            self._given.setdefault(name, []).append(value)

    def one(self, name: str) -> str | None:
        """The value of what can be given once."""
        values = self._given.get(name, [])
        if len(values) > 1:
            raise WrongUsage(f"{name} is given {len(values)} times", "give it once")
        return values[0] if values else None

    def choice(self, name: str, values: Sequence[str]) -> str | None:
        """The same, of these values."""
        filters.one_of(name, value := self.one(name), values)
        return value

    def several(self, name: str, allowed: Sequence[str] | None = None) -> tuple[str, ...]:
        """The values of what may be repeated, or have commas."""
        return filters.values_of(name, self._given.get(name), allowed)

    def flag(self, name: str) -> bool | None:
        """Whether it is true or false; None where it is not given."""
        text = self.one(name)
        if text is not None and text not in _FLAGS:
            raise WrongUsage(f"{name} has no value '{text}'", "values: true, false")
        return None if text is None else _FLAGS[text]

    @property
    def limit(self) -> int:
        """How many rows at most."""
        return self._number("limit", DEFAULT, 1, MOST)

    @property
    def offset(self) -> int:
        """How many rows to leave out."""
        return self._number("offset", 0, 0, _MOST_OFFSET)

    def _number(self, name: str, default: int, least: int, most: int) -> int:
        text = self.one(name)
        if text is None:
            return default
        is_number = text.isascii() and text.isdigit() and len(text) <= _LONGEST_NUMBER
        if not is_number or not least <= int(text) <= most:
            raise WrongUsage(f"{name} is '{text[:_LONGEST_NAME]}'", f"give it a whole number from {least} to {most:,}")
        return int(text)

    def calls(self, **instead: str | None) -> CallFilter:
        """Which calls are asked for, their sessions as they were typed; filters may have other values `instead`."""
        return filters.call_filter({**self._filters(), **instead}, self._called, commas=self._has_commas)

    def sessions(self) -> tuple[CallFilter, tuple[str, ...]]:
        """Which sessions are asked for: those with such calls, and with one of these statuses of their own."""
        given = self._filters()
        statuses = filters.session_statuses(given, self._called)
        return filters.call_filter(given, self._called, of_sessions=True, commas=self._has_commas), statuses

    def _filters(self) -> Row:
        several = {name: self._given.get(self._called(name)) for name in _SEVERAL}
        return {**several, **{name: self.one(name) for name in _SINGLE}, "failed": self.flag("failed")}

    def _called(self, name: str) -> str:
        return self._session if name == "session" else name

    def chosen(self, names: "Sequence[Name]") -> "Sequence[Name]":
        """The names that `fields` chooses, in its order, or all."""
        if "fields" not in self._given:
            return names
        members = list(dict.fromkeys(name.member for name in names))
        for asked in (asked_for := self.several("fields")):
            if asked not in members:
                raise WrongUsage(f"unknown field '{asked}'", _near(asked, members, "fields"))
        return [name for asked in asked_for for name in names if name.member == asked]


def _unknown(name: str, known: Sequence[str]) -> WrongUsage:
    hint = _near(name, known, "parameters") if known else "there are none here"
    return WrongUsage(f"unknown parameter '{name[:_LONGEST_NAME]}'", hint)


def _near(typed: str, names: Sequence[str], noun: str) -> str:
    from mcpctl.base.near_names import did_you_mean

    return f"{did_you_mean(typed[:_LONGEST_NAME].lower(), names, '')} {noun}: {', '.join(names)}".lstrip()
