"""The filter of calls, searches and sessions: its value, and how people give it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mcpctl.base.errors import WrongUsage
from mcpctl.base.fields import CALL_STATUSES, SESSION_STATUSES, TOTAL_FIELDS
from mcpctl.base.models import NOT_FAILED, OUTCOMES

FAILED = tuple(status for status in CALL_STATUSES if status not in NOT_FAILED)

_HINTS = ("read-only", "destructive", "idempotent", "open-world")
HINTS = (*_HINTS, *(f"no-{name}" for name in _HINTS), "undeclared")  # as they were at the call

GROUPS = ("tool", "server", "client", "token", "project", "status", "day", "hour")  # of totals of calls
ERROR = "error"  # or failures are grouped by this, alone
_SORTS_OF_ERRORS = ("calls", "sessions", "first_used", "last_used")
MOST_VALUES = 200  # a filter takes so many values; SQLite takes some more alternatives
_LONGEST_TEXT = 1000  # SQLite takes no pattern that is much longer
_OF_GROUP = {"tool": ("server", "tool"), "client": ("client_name",)}
_OF_STATUS = ("failed", "status", "outcome")
_UNITS_MS = {"w": 604_800_000, "d": 86_400_000, "h": 3_600_000, "m": 60_000, "s": 1000, "ms": 1}
Called = Callable[[str], str]  # the name of a filter for those who give it: its option or its parameter


@dataclass(frozen=True)
class CallFilter:
    """The calls that are meant: one of the values of each member has to fit; an empty member fits all."""

    sessions: tuple[str, ...] = ()  # full ids
    parents: tuple[str, ...] = ()  # full ids of calls of which they are later rounds or replays
    servers: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()  # bare names, keys, or globs of either, with `*` and `?`
    statuses: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()
    clients: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()  # some of `HINTS`
    since: str | None = None  # a time as records have it
    until: str | None = None
    errors: tuple[str, ...] = ()  # the `error_group` of calls that failed
    codes: tuple[str, ...] = ()  # the `error_code`; with no- before it, any other or none
    http_statuses: tuple[str, ...] = ()  # of the answers of HTTP APIs: 404, or 4xx for all of its hundred
    arguments: tuple[tuple[str, str], ...] = ()  # all of these: the path of an argument, and its value as typed
    redacted: bool = False  # only those in which something was redacted
    grep: str | None = None  # a text in arguments, response or error, in any case; of a search: query, context, results
    min_duration_ms: int | None = None
    before: str | None = None  # listed after the call with this full id, newest first


EVERYTHING = CallFilter()
_OF_CALLS_ALONE = (
    "parents", "tools", "hints", "errors", "codes", "http_statuses", "arguments", "redacted", "before",
)  # fmt: skip


def is_of_reads(criteria: CallFilter) -> bool:
    """Whether reads can be asked for all of this."""
    return not any(getattr(criteria, name) for name in _OF_CALLS_ALONE)


def is_glob(name: str) -> bool:
    return "*" in name or "?" in name


# ---- as people give them


def option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def call_filter(
    given: Mapping[str, Any], called: Called = option, *, of_sessions: bool = False, commas: bool = True
) -> CallFilter:
    """The filter that people give; sessions as they were typed, no `status` of sessions. Without `commas`, a comma is a
    part of a server's, tool's or project's name. Raises `WrongUsage`, with the names by `called`."""
    since, until = (moment(called(name), given.get(name)) for name in ("since", "until"))
    if since and until and since >= until:
        raise WrongUsage(
            f"nothing is between {called('since')} {given['since']} and {called('until')} {given['until']}",
            f"{called('until')} is the later one, and a day stands for its beginning",
        )
    grep, least = given.get("grep"), given.get("min_duration")
    if grep is not None and not 0 < len(grep) <= _LONGEST_TEXT:
        hint = f"give 1 to {_LONGEST_TEXT} characters"
        raise WrongUsage(f"{called('grep')} has no text, or too long a text", hint)

    def values(name: str, allowed: Sequence[str] | None = None, *, commas: bool = True) -> tuple[str, ...]:
        return values_of(called(name), given.get(name), allowed, commas=commas)

    return CallFilter(
        sessions=values("session"), servers=values("server", commas=commas), tools=values("tool", commas=commas),
        statuses=_given_statuses(given, called, ("failed", "outcome") if of_sessions else _OF_STATUS),
        projects=values("project", commas=commas), clients=values("client", commas=False), hints=values("hint", HINTS),
        errors=values("error", commas=False), codes=values("code"),
        http_statuses=_http_statuses(called("http_status"), values("http_status")),
        arguments=_given_arguments(called("arg"), given["arg"]) if given.get("arg") else (),
        redacted=bool(given.get("redacted")), since=since, until=until, grep=grep,
        min_duration_ms=None if least is None else milliseconds(called("min_duration"), least),
    )  # fmt: skip


def _http_statuses(called: str, values: tuple[str, ...]) -> tuple[str, ...]:
    values = tuple(value.lower() for value in values)
    for value in values:
        is_number = value.isascii() and value.isdigit()
        if len(value) != len("404") or value[0] not in "12345" or not (is_number or value[1:] == "xx"):
            raise WrongUsage(f"{called} has no value '{value}'", f"give a status: {called} 404, or 4xx for 400 to 499")
    return values


def _given_arguments(called: str, texts: Sequence[str]) -> tuple[tuple[str, str], ...]:
    from mcpctl.store import arguments

    return tuple(arguments.given(called, text) for text in values_of(called, texts, commas=False))


def session_statuses(given: Mapping[str, Any], called: Called = option) -> tuple[str, ...]:
    return values_of(called("status"), given.get("status"), SESSION_STATUSES)


def _given_statuses(given: Mapping[str, Any], called: Called, names: Sequence[str]) -> tuple[str, ...]:
    """The statuses of calls by whichever of these names is given."""
    chosen = [name for name in names if given.get(name)]
    if len(chosen) > 1:
        raise WrongUsage(f"{called(chosen[0])} and {called(chosen[1])} are both given", "leave one of them out")
    if chosen == ["outcome"]:
        outcomes = values_of(called("outcome"), given["outcome"], tuple(OUTCOMES))
        return tuple(status for outcome in outcomes for status in OUTCOMES[outcome])
    return FAILED if chosen == ["failed"] else values_of(called("status"), chosen and given["status"], CALL_STATUSES)


def sorts(by: Sequence[str]) -> Sequence[str]:
    """The fields by which totals of these groups can be sorted; raises `WrongUsage` for groups that do not go
    together."""
    if ERROR in by and len(by) > 1:
        raise WrongUsage("failures are grouped by their tool and text alone", "leave out the other groups, or error")
    return _SORTS_OF_ERRORS if ERROR in by else TOTAL_FIELDS


def grouping(groups: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(field for group in groups for field in _OF_GROUP.get(group, (group,))))


def one_of(called: str, value: str | None, values: Sequence[str]) -> None:
    if value is not None and value not in values:
        raise WrongUsage(f"{called} has no value '{value}'", f"values: {', '.join(values)}")


def values_of(
    called: str, given: Sequence[str] | None, allowed: Sequence[str] | None = None, *, commas: bool = True
) -> tuple[str, ...]:
    """The values of an option that may be given several times, each once; with `commas` it takes several in one."""
    parts = (each.split(",") if commas else [each] for each in given or ())
    values = tuple(dict.fromkeys(value.strip() if commas else value for part in parts for value in part))
    for value in values if allowed else ():
        one_of(called, value, allowed or ())
    if "" in values or len(values) > MOST_VALUES:
        what = "an empty value" if "" in values else f"{len(values)} values"
        raise WrongUsage(f"{called} has {what}", f"give it 1 to {MOST_VALUES} of them: {called} A {called} B")
    return values


def moment(called: str, text: str | None) -> str | None:
    """A time in the format of records; a day is where it begins, here."""
    if text is None:
        return None
    import datetime
    import time

    from mcpctl.store.clock import iso

    days = {"today": 0, "yesterday": 1}
    try:
        ago = _milliseconds(text)
        if ago is not None:
            return iso(max(0, time.time() - ago / 1000))
        if text in days:
            text = str(datetime.date.today() - datetime.timedelta(days=days[text]))
        return iso(max(0, datetime.datetime.fromisoformat(text).timestamp()))
    except (ValueError, OverflowError):
        hint = f"give {called} as 30m, 1h30m, 2d, 1w, today, yesterday, 2026-11-20 or 2026-07-28T12:00Z"
        raise WrongUsage(f"'{text}' is not a time", hint) from None


def seconds(called: str, text: str | None) -> float | None:
    """The same in seconds since the epoch."""
    import datetime

    at = moment(called, text)
    return None if at is None else datetime.datetime.fromisoformat(at).timestamp()


def milliseconds(called: str, text: str) -> int:
    ms = _milliseconds(text)
    if ms is None:
        raise WrongUsage(f"'{text}' is not a duration", f"give {called} as 500ms, 2s or 1m30s")
    return ms


def is_duration(text: str) -> bool:
    return _milliseconds(text) is not None


def _milliseconds(text: str) -> int | None:
    """A duration such as 1h30m: each unit once, the largest first. None for another text."""
    import re

    match = re.fullmatch("".join(rf"(?:(\d{{1,9}}){unit})?" for unit in _UNITS_MS), text, re.ASCII) if text else None
    if match is None:
        return None
    return sum(int(number or 0) * ms for number, ms in zip(match.groups(), _UNITS_MS.values(), strict=True))
