"""The query of a page, and the links that change it: filters, an order, the rows before and after."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple, Self
from urllib.parse import urlencode

from starlette.requests import Request

from mcpctl.base.errors import WrongUsage
from mcpctl.base.models import Found, Row
from mcpctl.dashboard.rest import Parameters
from mcpctl.store import filters

ROWS = 50
RANGE = "range"  # a value of `since` in addresses: its two ends are still to be given
FILTERS = (
    "grep", "tool", "server", "client", "project", "outcome", "status", "failed", "error", "code", "http_status", "arg",
    "redacted", "hint", "min_duration", "since", "until", "sessionId",
)  # fmt: skip
_SHORTEST = 8  # characters of an id
_PLACE = ("offset", "before")
_EXCLUSIVE = ("status", "failed", "outcome")
_OF_EVENTS = {"sessionId": "session_id"}
_ONE_NAME = ("server", "tool", "project")  # filters of one value here, and of several in the address of events
_UNFOLLOWED = (  # filters that an event may come to match later, or never
    "since", "until", "failed", "outcome", "status", "error", "code", "http_status",
)  # fmt: skip


class Choice(NamedTuple):
    value: str
    text: str
    address: str  # where the link leads; that of the choice in force takes it back
    is_chosen: bool
    rows: int | None = None  # the number of rows that it would leave; None where it leaves none out, or is not counted


Choices = tuple[str, list[Choice]]


class Window(NamedTuple):
    rows: Sequence[Row]
    total: int
    first: int
    last: int
    before: str  # empty where there are none
    after: str


Filters = Mapping[str, Mapping[str, str]]  # by parameter, each value and its words, to choose among rows in memory
Fits = Callable[[Row, str, str], bool]  # whether a filter leaves a row, by its name and value


class PageQuery(Parameters):
    """The parameters of a page, each with its one value; unknown ones, and those without a value, are ignored."""

    _session = "sessionId"
    _has_commas = False

    def __init__(self, path: str, given: Mapping[str, str]) -> None:
        super().__init__(given.items(), tuple(given))
        self._path = path
        self.asks_range = False
        self.values = {name: value for name, value in given.items() if name not in _PLACE}  # no place
        self.before = given.get("before", "")  # the id of the call after which the list goes on

    @classmethod
    def of(cls, request: Request, names: Iterable[str] = FILTERS) -> Self:
        query = dict(request.query_params)
        if query.get("failed"):
            query["failed"] = "" if query["failed"] in ("false", "0") else "true"
        query["sessionId"] = query.get("sessionId") or query.get("session_id", "")
        asks_range = query.get("since") == RANGE
        if asks_range:
            del query["since"]
        made = cls(request.url.path, {name: query[name] for name in (*names, *_PLACE) if query.get(name)})
        made.asks_range = asks_range
        return made

    def only(self, name: str) -> Self:
        """The query that has this filter alone."""
        return type(self)(self._path, {name: self.values[name]})

    def as_local(self, name: str) -> str:
        """The moment of `since` or `until`, as a field for a time here has it."""
        moment = filters.moment(name, self.get(name) or None)
        return f"{datetime.fromisoformat(moment).astimezone():%Y-%m-%dT%H:%M}" if moment else ""

    def get(self, name: str) -> str:
        return self.values.get(name, "")

    def one_of(self, name: str, values: Iterable[str], default: str) -> str:
        value = self.get(name)
        return value if value in values else default

    @property
    def is_first(self) -> bool:
        return not self.offset and not self.before

    # ---- addresses

    def link(self, name: str, value: str | None) -> str:
        gone = _EXCLUSIVE if name in _EXCLUSIVE else (name,)
        kept = {other: old for other, old in self.values.items() if other not in gone or (value and other == name)}
        return self._address({**kept, name: value} if value else kept)

    def at(self, offset: int) -> str:
        return self._address({**self.values, "offset": str(offset)} if offset else self.values)

    def older(self, call: str) -> str:
        return self._address({**self.values, "before": call})

    @property
    def events(self) -> str:
        filters = {
            _OF_EVENTS.get(name, name): value for name, value in self.values.items()
            if name not in _UNFOLLOWED and not (name in _ONE_NAME and "," in value)
        }  # fmt: skip
        if filters:
            filters["approvals"] = "true"  # which come by themselves where there is no filter
        return f"/api/v1/events?{urlencode({'payloads': 'false', **filters})}"

    def _address(self, values: Mapping[str, str]) -> str:
        return f"{self._path}?{urlencode(values)}" if values else self._path

    # ---- choices

    def filters(self, values: Mapping[str, Iterable[str]]) -> list[Choices]:
        return [(name.capitalize(), [*self._links(name, each)]) for name, each in values.items()]

    def _links(self, name: str, values: Iterable[str]) -> Iterator[Choice]:
        if name == "status" and "failed" in values:
            yield self._choice("failed", "true", "all failures")
        for value in values:
            yield self._choice(name, value, self.words(name, value))

    def counted(self, filters: Filters, rows: Sequence[Row], fits: Fits) -> list[Choices]:
        return [(name.capitalize(), [*self._counted(name, filters, rows, fits)]) for name in filters]

    def _counted(self, name: str, filters: Filters, rows: Sequence[Row], fits: Fits) -> Iterator[Choice]:
        left = self.fitting({other: filters[other] for other in filters if other != name}, rows, fits)
        for value, text in filters[name].items():
            count = sum(fits(row, name, value) for row in left)
            if count or value == self.get(name):
                yield self._choice(name, value, text, count)

    def _choice(self, name: str, value: str, text: str, rows: int | None = None) -> Choice:
        is_chosen = self.get(name) == value
        return Choice(value, text, self.link(name, None if is_chosen else value), is_chosen, rows)

    def orders(self, label: str, name: str, values: Mapping[str, str], default: str = "") -> Choices:
        """A choice that leaves no rows out; one of its values is in force."""
        chosen = self.one_of(name, values, default)
        links = ((value, text, self.link(name, None if value == default else value)) for value, text in values.items())
        return label, [Choice(*link, is_chosen=link[0] == chosen) for link in links]

    @staticmethod
    def words(name: str, value: str) -> str:
        if name == "hint":
            return "not declared" if value == "undeclared" else re.sub("^no-", "not ", value)
        if name in ("outcome", "status"):
            return "failed" if value == "error" else value.replace("_", " ").replace(",", ", ")
        return value[:_SHORTEST] if name == "sessionId" else value

    # ---- rows

    def fitting(self, filters: Filters, rows: Sequence[Row], fits: Fits) -> list[Row]:
        set_ = {name: value for name, values in filters.items() if (value := self.get(name)) in values}
        return [row for row in rows if all(fits(row, name, value) for name, value in set_.items())]

    def window(self, found: Found) -> Window:
        """The rows that the address names; the first ones where its offset is not a number."""
        try:
            offset = self.offset
        except WrongUsage:
            offset = 0
        total, end = found.count(), offset + ROWS
        before = self.at(max(offset - ROWS, 0)) if offset else ""
        after = self.at(end) if end < total else ""
        return Window(list(found.rows(ROWS, offset)), total, offset + 1, min(end, total), before, after)
