"""What is asked of the records in words: filters, times and groups as people give them, in options or parameters."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mcpctl.base.errors import WrongUsage
from mcpctl.base.fields import CALL_STATUSES, SESSION_STATUSES

if TYPE_CHECKING:
    from mcpctl.store.filters import CallFilter

GROUPS = ("tool", "server", "client", "project", "status", "day", "hour")
"""Totals of calls are grouped by these."""
MOST_VALUES = 200
"""A filter takes so many values; SQLite takes some more alternatives."""
_LONGEST_TEXT = 1000
"""SQLite takes no pattern that is much longer."""
_FIELDS = {"tool": ("server", "tool"), "client": ("client_name",)}
_UNITS_MS = {"w": 604_800_000, "d": 86_400_000, "h": 3_600_000, "m": 60_000, "s": 1000, "ms": 1}
Called = Callable[[str], str]
"""The name of a filter for those who give it: its option or its parameter."""


def option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def wanted(
    given: Mapping[str, Any], called: Called = option, *, of_sessions: bool = False, commas: bool = True
) -> "CallFilter":
    """The filter of calls; its sessions are as they were typed, and `status` of sessions is not in it. Without
    `commas`, a comma is a part of the name of a server, tool or project. Raises `WrongUsage`, with the names by
    `called`, for values that have no meaning."""
    from mcpctl.store.filters import FAILED, HINTS, CallFilter

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
        return listed(called(name), given.get(name), allowed, commas=commas)

    return CallFilter(
        sessions=values("session"),
        servers=values("server", commas=commas),
        tools=values("tool", commas=commas),
        statuses=(FAILED if given.get("failed") else ()) if of_sessions else _statuses(given, called),
        projects=values("project", commas=commas),
        clients=values("client", commas=False),
        hints=values("hint", HINTS),
        since=since,
        until=until,
        grep=grep,
        min_duration_ms=None if least is None else milliseconds(called("min_duration"), least),
    )


def session_statuses(given: Mapping[str, Any], called: Called = option) -> tuple[str, ...]:
    return listed(called("status"), given.get("status"), SESSION_STATUSES)


def _statuses(given: Mapping[str, Any], called: Called) -> tuple[str, ...]:
    from mcpctl.store.filters import FAILED

    if given.get("failed") and given.get("status"):
        raise WrongUsage(f"{called('failed')} and {called('status')} are both given", "leave one of them out")
    return FAILED if given.get("failed") else listed(called("status"), given.get("status"), CALL_STATUSES)


def grouping(groups: Sequence[str]) -> tuple[str, ...]:
    """The fields that tell groups apart: a tool is one of its server."""
    return tuple(dict.fromkeys(field for group in groups for field in _FIELDS.get(group, (group,))))


def one_of(called: str, value: str | None, values: Sequence[str]) -> None:
    if value is not None and value not in values:
        raise WrongUsage(f"{called} has no value '{value}'", f"values: {', '.join(values)}")


def listed(
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
        ago = _duration_ms(text)
        if ago is not None:
            return iso(max(0, time.time() - ago / 1000))
        if text in days:
            text = str(datetime.date.today() - datetime.timedelta(days=days[text]))
        return iso(max(0, datetime.datetime.fromisoformat(text).timestamp()))
    except (ValueError, OverflowError):
        hint = f"give {called} as 30m, 1h30m, 2d, 1w, today, yesterday, 2026-11-20 or 2026-07-28T12:00Z"
        raise WrongUsage(f"'{text}' is not a time", hint) from None


def milliseconds(called: str, text: str) -> int:
    ms = _duration_ms(text)
    if ms is None:
        raise WrongUsage(f"'{text}' is not a duration", f"give {called} as 500ms, 2s or 1m30s")
    return ms


def _duration_ms(text: str) -> int | None:
    """Such as 1h30m: each unit once, the largest first. None for another text."""
    import re

    found = re.fullmatch("".join(rf"(?:(\d{{1,9}}){unit})?" for unit in _UNITS_MS), text, re.ASCII) if text else None
    if found is None:
        return None
    return sum(int(number or 0) * ms for number, ms in zip(found.groups(), _UNITS_MS.values(), strict=True))
