"""The filters of lists of calls and sessions, which links set and take away, and which rows of a list are shown."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self
from urllib.parse import quote, urlencode

from mcpctl.dashboard.choices import Choice, row_number
from mcpctl.errors import WrongUsage
from mcpctl.store import asking
from mcpctl.store.filters import CallFilter

if TYPE_CHECKING:
    from starlette.requests import Request

FILTERS = ("sessionId", "server", "tool", "status", "failed", "hint", "client", "project", "since", "until")
"""The parameters of pages that list calls, and of those that list sessions."""
_PARAMETERS = {"session": "sessionId"}
_OF_EVENTS = {"sessionId": "session_id"}
_ONE_OF = ("status", "failed")
"""Of these one takes the place of the other."""
_UNSET = {"failed": ("", "false", "0")}


@dataclass(frozen=True)
class Asked:
    """The filters of a page, each with its one value, and where its rows begin."""

    path: str
    values: Mapping[str, str]
    offset: int = 0
    """Rows before the first that is shown."""
    before: str = ""
    """The id of the call before which the calls that are shown were made."""

    @classmethod
    def of(cls, request: "Request") -> Self:
        """What a request asks; raises `WrongUsage` for an offset that is not one."""
        given = request.query_params
        values = {name: given[name] for name in FILTERS if given.get(name, "") not in _UNSET.get(name, ("",))}
        if "sessionId" not in values and given.get("session_id"):
            values = {"sessionId": given["session_id"], **values}
        offset = row_number(text := given.get("offset") or "0")
        if offset is None:
            raise WrongUsage(f"offset has no value '{text[:40]}'", "give a whole number from 0")
        return cls(request.url.path, values, offset, given.get("before") or "")

    def get(self, name: str) -> str:
        """The value of a filter, empty where it is not set."""
        return self.values.get(name, "")

    def link(self, name: str, value: str | None) -> str:
        """The first page with this filter as well, or without it."""
        others = _ONE_OF if name in _ONE_OF else (name,)
        kept = {each: old for each, old in self.values.items() if each not in others}
        return self._address({**kept, name: value} if value else kept)

    def choices(self, values: Mapping[str, Iterable[str]]) -> list[tuple[str, list[Choice]]]:
        """The label and the links of filters, for these values of each; the link of the one in force takes it away."""
        return [(name.capitalize(), [*self._choices(name, each)]) for name, each in values.items()]

    def _choices(self, name: str, values: Iterable[str]) -> Iterator[Choice]:
        if name == "status" and "failed" in values:
            yield self._choice("failed", "true", "all failures")
        for value in values:
            yield self._choice(name, value, self.said(name, value))

    def _choice(self, name: str, value: str, text: str) -> Choice:
        is_chosen = self.get(name) == value
        return Choice(value, text, self.link(name, None if is_chosen else value), is_chosen, None)

    @staticmethod
    def said(name: str, value: str) -> str:
        """The value of a filter as people say it."""
        if name == "hint":
            return "not declared" if value == "undeclared" else re.sub("^no-", "not ", value)
        return value.replace("_", " ").replace(",", ", ") if name == "status" else value

    def at(self, offset: int) -> str:
        """Another page of the same list."""
        return self._address({**self.values, "offset": str(offset)} if offset else self.values)

    def older(self, call: str) -> str:
        """The page that goes on after this call."""
        return self._address({**self.values, "before": call})

    @property
    def is_first(self) -> bool:
        """Whether the newest rows are shown."""
        return not self.offset and not self.before

    @property
    def wanted(self) -> CallFilter:
        """Which calls, or the calls of which sessions; raises `WrongUsage` for values that there are not."""
        return asking.wanted(self._given, lambda name: _PARAMETERS.get(name, name), commas=False)

    @property
    def of_sessions(self) -> tuple[CallFilter, tuple[str, ...]]:
        """Which sessions: of which calls, and of which status of their own."""
        called = str
        wanted = asking.wanted(self._given, called, of_sessions=True, commas=False)
        return wanted, asking.session_statuses(self._given, called)

    @property
    def events(self) -> str:
        """The address of the events that concern the page."""
        asked = {
            _OF_EVENTS.get(name, name): value for name, value in self.values.items()
            if name not in _UNFOLLOWED and not (name in _ONE_NAME and "," in value)
        }  # fmt: skip
        asked |= {"approvals": "true"} if asked else {}  # which are told to whoever asks nothing
        return f"/api/v1/events?{urlencode({'payloads': 'false', **asked})}"

    @property
    def _given(self) -> Mapping[str, str | list[str]]:
        several = {name: [self.values[_PARAMETERS.get(name, name)]] for name in _SEVERAL if self._has(name)}
        if "status" in several:
            several["status"] = several["status"][0].split(",")
        return {**several, **{name: self.values[name] for name in ("failed", "since", "until") if name in self.values}}

    def _has(self, name: str) -> bool:
        return _PARAMETERS.get(name, name) in self.values

    def _address(self, values: Mapping[str, str]) -> str:
        return f"{self.path}?{urlencode(values, quote_via=quote)}" if values else self.path


_SEVERAL = ("session", "server", "tool", "status", "hint", "client", "project")
_ONE_NAME = ("server", "tool", "project")
"""Of these the address of events takes several, with commas between them."""
_UNFOLLOWED = ("since", "until", "failed", "status")
"""What an event can come to meet only later, or never: whether the page does, is seen when it is read again."""
