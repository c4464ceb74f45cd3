"""The bar of filters on the page of calls: their values, and those that are set, with how many calls have them."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple
from urllib.parse import urlencode

from starlette.requests import Request

from mcpctl.base.fields import CALL_STATUSES
from mcpctl.base.models import OUTCOMES, Row
from mcpctl.dashboard.dashboard import Dashboard
from mcpctl.dashboard.page_query import RANGE, PageQuery
from mcpctl.store import filters
from mcpctl.store.filters import HINTS, CallFilter
from mcpctl.store.records import Records

_FORM = "bar"  # the parameter that says that an address was made by the form
_SESSIONS = 100  # sessions to choose from
_LOOKED_AT = 500  # sessions whose clients and projects are there to choose where calls are too many to be counted
_TOOLS = 300
_TIMES = {"15m": "last 15 minutes", "1h": "last hour", "today": "today", "7d": "last 7 days"}
_ALONE = {statuses[0] for statuses in OUTCOMES.values() if len(statuses) == 1}  # statuses that are an outcome
_SHOWN = (  # filters that have a field
    "grep", "tool", "client", "project", "outcome", "status", "hint", "since", "sessionId",
)  # fmt: skip
_GROUPS = {"tool": ("server", "tool"), "client": ("client_name",), "project": ("project",), "status": ("status",)}
_WITHOUT: Mapping[str, Callable[[CallFilter], CallFilter]] = {  # the filter with any value of a field
    "tool": lambda wanted: replace(wanted, tools=(), servers=()),
    "client": lambda wanted: replace(wanted, clients=()),
    "project": lambda wanted: replace(wanted, projects=()),
    "status": lambda wanted: replace(wanted, statuses=()),
}


class Option(NamedTuple):
    value: str
    text: str
    is_chosen: bool
    rows: int | None = None  # the calls that it would leave; None where they are too many to be counted


class Chip(NamedTuple):
    name: str
    text: str
    without: str  # the address without it
    rows: int | None  # the calls that it leaves where it is the only filter


class Bar(NamedTuple):
    options: Mapping[str, Sequence[Option]]
    sessions: Sequence[Row]
    chips: Sequence[Chip]
    kept: Mapping[str, str]  # filters that are set and have no field
    range: tuple[str, str] | None  # the two ends of a time that is none of those to choose from


def address_of(request: Request) -> str | None:
    """The address that the form means, without its empty fields; None where the form did not make it."""
    given = request.query_params
    if _FORM not in given:
        return None
    values = {name: value for name, value in given.items() if value and name != _FORM}
    begin = values.pop("from", "")
    if values.get("since") == RANGE:
        if begin or "until" in values:
            values["since"] = begin
    else:
        values.pop("until", None)
    if "status" in values:
        for other in ("failed", "outcome"):
            values.pop(other, None)
        if values["status"] in OUTCOMES:
            values["outcome"] = values.pop("status")
    values = {name: value for name, value in values.items() if value}
    return f"{request.url.path}?{urlencode(values)}" if values else request.url.path


def bar(dashboard: Dashboard, records: Records, query: PageQuery, wanted: CallFilter, total: int | None) -> Bar:
    are_few = dashboard.summaries.are_few(records) and dashboard.summaries.is_quick(records, wanted)
    counted = _counted(records, wanted) if are_few else {}
    names = _names(counted or _recent(records))
    options = {
        **{name: _options(query, name, names[name], counted.get(name)) for name in ("client", "project")},
        "tool": [Option(key, key, False, counted["tool"][key] if counted else None) for key in names["tool"][:_TOOLS]],
        "status": _statuses(query, counted.get("status")),
        "hint": _options(query, "hint", HINTS, None),
        "since": _times(query),
    }
    kept = {name: value for name, value in query.values.items() if name not in (*_SHOWN, "until")}
    chips = [_chip(dashboard, records, query, name, total) for name in query.values]
    return Bar(options, _sessions(records, query.get("sessionId")), chips, kept, _range(query))


def _counted(records: Records, wanted: CallFilter) -> dict[str, Counter[str]]:
    return {name: records.counted(groups, _WITHOUT[name](wanted)) for name, groups in _GROUPS.items()}


def _names(counted: Mapping[str, Counter[str]]) -> dict[str, list[str]]:
    return {name: [value for value, _ in counts.most_common() if value] for name, counts in counted.items()}


def _recent(records: Records) -> dict[str, Counter[str]]:
    rows = list(records.sessions().rows(_LOOKED_AT, 0))
    fields = {"client": "client_name", "project": "project"}
    counted = {name: Counter(row[field] or "" for row in rows) for name, field in fields.items()}
    usage = {f"{server}:{tool}": calls for (server, tool), (calls, _) in records.usage().items()}
    return {**counted, "tool": Counter(usage)}


def _options(query: PageQuery, name: str, values: Iterable[str], counts: Mapping[str, int] | None) -> Sequence[Option]:
    chosen = query.get(name)
    values = list(dict.fromkeys([*values, *([chosen] if chosen else [])]))
    return [
        Option(value, query.words(name, value), value == chosen, None if counts is None else counts.get(value, 0))
        for value in values
    ]


def _statuses(query: PageQuery, counts: Mapping[str, int] | None) -> Sequence[Option]:
    """The outcomes, the statuses that they are made of, and whatever else is set."""
    several = [
        Option(outcome, query.words("outcome", outcome), query.get("outcome") == outcome, None if counts is None else
               sum(counts.get(status, 0) for status in statuses))
        for outcome, statuses in OUTCOMES.items()
    ]  # fmt: skip
    return [*several, *_options(query, "status", [each for each in CALL_STATUSES if each not in _ALONE], counts)]


def _times(query: PageQuery) -> Sequence[Option]:
    since = query.get("since")
    is_range = _range(query) is not None
    times = {**_TIMES, **({since: f"since {since}"} if since not in _TIMES and not is_range and since else {})}
    listed = [Option(value, text, value == since and not is_range) for value, text in times.items()]
    return [*listed, Option(RANGE, "from … until …", is_range)]


def _range(query: PageQuery) -> tuple[str, str] | None:
    """The two ends of a time that does not end now, or begins on a day that is named."""
    since = query.get("since")
    is_moving = since in ("", *_TIMES, "yesterday") or filters.is_duration(since)
    if query.asks_range or query.get("until") or not is_moving:
        return query.as_local("since"), query.as_local("until")
    return None


def _sessions(records: Records, chosen: str) -> Sequence[Row]:
    recent = list(records.sessions().rows(_SESSIONS, 0))
    if chosen and all(row["id"] != chosen for row in recent):
        recent += records.sessions(CallFilter(sessions=(chosen,))).rows(1, 0)
    return recent


def _chip(dashboard: Dashboard, records: Records, query: PageQuery, name: str, total: int | None) -> Chip:
    rows = total
    if len(query.values) > 1:
        rows = dashboard.summaries.count(records, records.resolved(query.only(name).calls()))
    return Chip(name, query.words(name, query.get(name)), query.link(name, None), rows)
