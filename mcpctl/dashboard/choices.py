"""Links of a page that choose what it shows: filters, each with how many rows it would leave, an order, a window."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlencode

from mcpctl.models import Row

if TYPE_CHECKING:
    from starlette.requests import Request

ROWS = 50
"""Rows of one page."""
_LONGEST_OFFSET = 12
"""Digits."""


class Choice(NamedTuple):
    """One link of a filter."""

    value: str
    text: str
    address: str
    """Where the link goes; that of the choice in force takes it back."""
    is_chosen: bool
    rows: int | None
    """How many it would leave; None where it leaves none out."""


class Window(NamedTuple):
    """Some rows of a list, and the addresses of those before and after them."""

    rows: Sequence[Row]
    total: int
    offset: int
    at: Callable[[int], str]
    """The address of the rows from an offset on."""

    @property
    def first(self) -> int:
        """The place in the list of the first that is shown."""
        return self.offset + 1

    @property
    def last(self) -> int:
        """The place of the last."""
        return min(self.offset + ROWS, self.total)

    @property
    def before(self) -> str:
        """Where those before them are; empty where there are none."""
        return self.at(max(self.offset - ROWS, 0)) if self.offset else ""

    @property
    def after(self) -> str:
        """Where those after them are."""
        return self.at(self.offset + ROWS) if self.offset + ROWS < self.total else ""


@dataclass(frozen=True)
class Filter:
    """One member of a page's query, and what may be chosen there."""

    name: str
    label: str
    choices: Mapping[str, str]
    """The words of each value."""
    fits: Callable[[Any, str], bool]
    """Whether a row is meant by a value."""

    def chosen(self, request: "Request") -> str | None:
        """What the address asks for; None for nothing, or for what is not to be chosen."""
        value = request.query_params.get(self.name)
        return value if value in self.choices else None


def fitting(request: "Request", filters: Iterable[Filter], rows: Iterable[Row]) -> list[Row]:
    """The rows that all filters leave."""
    asked = [(each.fits, value) for each in filters if (value := each.chosen(request)) is not None]
    return [row for row in rows if all(fits(row, value) for fits, value in asked)]


def shown(request: "Request", filters: Sequence[Filter], rows: Sequence[Row]) -> list[tuple[str, list[Choice]]]:
    """The label and the choices of each filter; one that would leave nothing is there only while it is in force."""
    return [(each.label, list(_choices(request, each, filters, rows))) for each in filters]


def _choices(request: "Request", of: Filter, filters: Sequence[Filter], rows: Sequence[Row]) -> Iterable[Choice]:
    left = fitting(request, (each for each in filters if each is not of), rows)
    chosen = of.chosen(request)
    for value, text in of.choices.items():
        count = sum(of.fits(row, value) for row in left)
        if count or value == chosen:
            yield Choice(value, text, _toggled(request, of.name, value, chosen), value == chosen, count)


def choices(request: "Request", name: str, values: Mapping[str, str], default: str) -> list[Choice]:
    """The choices of a member of the query that leaves no rows out, such as an order; one of them is in force."""
    chosen = chosen_of(request, name, values, default)
    return [
        Choice(value, text, address(request, **{name: None if value == default else value}), value == chosen, None)
        for value, text in values.items()
    ]


def chosen_of(request: "Request", name: str, values: Iterable[str], default: str) -> str:
    """What the address asks for, else the default."""
    value = request.query_params.get(name, default)
    return value if value in values else default


def address(request: "Request", **changes: str | int | None) -> str:
    """The page with these members of its query changed, or left out for None; from its first row."""
    query = {**request.query_params, "offset": None, **changes}
    asked = urlencode({name: value for name, value in query.items() if value is not None})
    return f"{request.url.path}?{asked}" if asked else request.url.path


def window(request: "Request", rows: Sequence[Row]) -> Window:
    """The rows that the address asks for; the first ones where what it says is not a number."""
    offset = row_number(request.query_params.get("offset") or "0") or 0
    shown = rows[offset : offset + ROWS]
    return Window(shown, len(rows), offset, lambda other: address(request, offset=other or None))


def row_number(text: str) -> int | None:
    """How many rows a text says to leave out; None for what is not such a number."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _LONGEST_OFFSET else None


def _toggled(request: "Request", name: str, value: str, chosen: str | None) -> str:
    return address(request, **{name: None if value == chosen else value})
