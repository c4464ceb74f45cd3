"""REST requests and answers: parameters read as the command line reads its options, rows under REST's names."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from mcpctl.base.errors import WrongUsage
from mcpctl.base.fields import DECISIONS
from mcpctl.base.models import Found, Row
from mcpctl.base.near_names import did_you_mean
from mcpctl.dashboard.rest_names import Name, renamed
from mcpctl.output import to_json
from mcpctl.store import filters
from mcpctl.store.filters import CallFilter

BASE = "/api/v1"
MOST = 1000  # rows of one answer
DEFAULT = 50
_MOST_CHARACTERS = 1 << 26
_MOST_OFFSET = 1_000_000_000
_LONGEST_NUMBER = 10
_LONGEST_NAME = 100
_SEVERAL = (
    "session", "server", "tool", "status", "outcome", "hint", "client", "project", "error", "code", "http_status",
    "arg",
)  # fmt: skip
_SINGLE = ("since", "until", "grep", "min_duration")
_FILTER_FLAGS = ("failed", "redacted")
_FLAGS = {"true": True, "1": True, "false": False, "0": False}

WINDOW = ("limit", "offset", "fields")
OF_DISCOVERIES = ("session_id", "client", "project", "since", "until", "grep", "min_duration")
OF_CALLS = (
    "session_id", "server", "tool", "status", "failed", "outcome", *OF_DISCOVERIES[1:3], "hint", "error", "code",
    "http_status", "arg",
    "redacted", *OF_DISCOVERIES[3:],
)  # fmt: skip
OF_READS = ("session_id", "server", "status", "failed", "outcome", *OF_DISCOVERIES[1:])
OF_DECISIONS = ("session_id", "server", "tool", "client", "project", "since", "until", "decision", "channel")
OF_SESSIONS = tuple(name for name in OF_CALLS if name != "session_id")
OF_TOOLS = ("read_only", "destructive", "idempotent", "open_world")
FLAGS = ("failed", "redacted", "payloads", "approvals", "pending", *OF_TOOLS)
MEANINGS = {
    "limit": f"At most so many, 1 to {MOST}; {DEFAULT} without it.",
    "offset": "Leave out the first so many.",
    "fields": "Only these members, with commas between them, whatever else an answer has.",
    "before": "Only what is listed after the call with this id; offset counts from there, total does not.",
    "payloads": "false leaves out arguments, response and error, which are not even read.",
    "approvals": "true sends events of approvals and tools too, whatever the other filters are.",
    "session_id": "Only in these sessions: ids, their beginnings, or last.",
    "server": "Only of these servers.",
    "tool": "Only of these tools: names, keys or globs.",
    "status": "With one of these statuses.",
    "failed": "Only what failed, errors and refused.",
    "outcome": "With one of these outcomes: done, error, refused.",
    "error": "Whose error_group is this text; may be repeated.",
    "code": "Whose error has one of these codes, such as needs_consent; with no- before it, another one or none.",
    "http_status": "Whose HTTP API answered with one of these statuses: 404, or 4xx for 400 to 499.",
    "arg": "With this value among the arguments: city=Oslo, file.id=7; repeated, with all of them.",
    "redacted": "true leaves those in which something was redacted.",
    "client": "Only of this client; may be repeated.",
    "project": "With these projects in force.",
    "hint": "By a hint in effect when the call was made: destructive, read-only, no-destructive, undeclared and so on.",
    "since": "Since 30m, 1h30m, 2d or 1w ago, today, yesterday, 2026-11-20 or 2026-11-20T12:00Z.",
    "until": "Before then.",
    "grep": "With this text in arguments, response or error.",
    "min_duration": "That took at least as long: 500ms, 2s, 1m30s.",
    "by": f"A row for each of these: {', '.join(filters.GROUPS)}; or error alone, for failures by their text.",
    "sort": "The largest first, of this field; or tools by key, tool, usage or last_used.",
    "decision": f"One of these: {', '.join(DECISIONS)}.",
    "channel": "Made through one of these: rule, grant, client, hook, terminal, dashboard.",
    "kind": "call, or read for prompts and resources that were read.",
    "format": "jsonl or csv.",
    "pending": "Only approvals that can be answered now.",
    "toolset": "The toolset in force, or none; without it the one that is equipped.",
    "q": "Rank the tools against these words, the best first.",
    **dict.fromkeys(OF_TOOLS, "true or false: by this hint in effect."),
}


class Parameters:
    """The parameters of one request; raises `WrongUsage`, with its name, for a value that one cannot have."""

    _session = "session_id"
    _has_commas = True  # whether a comma in the name of a server, tool or project is between two of them

    def __init__(self, given: Iterable[tuple[str, str]], known: Sequence[str]) -> None:
        self._given: dict[str, list[str]] = {}
        for name, value in given:
            if name not in known:
                raise _unknown("parameter", name, known)
            self._given.setdefault(name, []).append(value)

    def one(self, name: str) -> str | None:
        values = self._given.get(name, [])
        if len(values) > 1:
            raise WrongUsage(f"{name} is given {len(values)} times", "give it once")
        return values[0] if values else None

    def choice(self, name: str, values: Sequence[str]) -> str | None:
        filters.one_of(name, value := self.one(name), values)
        return value

    def several(self, name: str, allowed: Sequence[str] | None = None) -> tuple[str, ...]:
        return filters.values_of(name, self._given.get(name), allowed)

    def flag(self, name: str) -> bool | None:
        """Whether it is true or false; None where it is not given."""
        text = self.one(name)
        if text is not None and text not in _FLAGS:
            raise WrongUsage(f"{name} has no value '{text}'", "values: true, false")
        return None if text is None else _FLAGS[text]

    @property
    def limit(self) -> int:
        return self._number("limit", DEFAULT, 1, MOST)

    @property
    def offset(self) -> int:
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
        """The filter of calls, its sessions as they were typed; some may have other values `instead`."""
        return filters.call_filter({**self._filters(), **instead}, self._called, commas=self._has_commas)

    def sessions(self) -> tuple[CallFilter, tuple[str, ...]]:
        given = self._filters()
        statuses = filters.session_statuses(given, self._called)
        return filters.call_filter(given, self._called, of_sessions=True, commas=self._has_commas), statuses

    def _filters(self) -> Row:
        several = {name: self._given.get(self._called(name)) for name in _SEVERAL}
        flags = {name: self.flag(name) for name in _FILTER_FLAGS}
        return {**several, **{name: self.one(name) for name in _SINGLE}, **flags}

    def _called(self, name: str) -> str:
        return self._session if name == "session" else name

    def chosen(self, names: Sequence[Name]) -> Sequence[Name]:
        if "fields" not in self._given:
            return names
        members = list(dict.fromkeys(name.member for name in names))
        fields = self.several("fields")
        for field in fields:
            if field not in members:
                raise _unknown("field", field, members)
        return [name for field in fields for name in names if name.member == field]


def _unknown(noun: str, name: str, known: Sequence[str]) -> WrongUsage:
    name = name[:_LONGEST_NAME]
    hint = f"{did_you_mean(name.lower(), known, '')} {noun}s: {', '.join(known)}".lstrip()
    return WrongUsage(f"unknown {noun} '{name}'", hint if known else "there are none here")


class Operation(NamedTuple):
    path: str  # below /api/v1
    answer: Callable[[Request, Parameters], Response]
    model: str  # the model in `openapi` that describes the answer; empty where none does
    parameters: Sequence[str] = ()
    method: str = "GET"
    body: str = ""  # the model of what is sent
    kinds: Sequence[str] = ("application/json",)

    def run(self, request: Request) -> Response:
        return self.answer(request, Parameters(request.query_params.multi_items(), self.parameters))


def answer(body: Any) -> Response:
    """JSON, with the numbers of records as they were recorded."""
    return Response(to_json(body), media_type="application/json")


def listing(query: Parameters, member: str, found: Found, names: Sequence[Name]) -> Response:
    """A window of a list, and the number of all rows; raises `WrongUsage` for one that takes too much memory."""
    names = query.chosen(names)
    rows, size = [], 0
    for row in found.rows(query.limit, query.offset):
        size += sum(len(value) for value in row.values() if isinstance(value, str))
        if size > _MOST_CHARACTERS:
            hint = "ask for fewer with limit, or for payloads=false; an export is sent while it is read"
            raise WrongUsage(f"these rows have more than {_MOST_CHARACTERS >> 20} MB", hint, "answer_too_large")
        rows.append(renamed(row, names))
    return answer({member: rows, "total": found.count()})
