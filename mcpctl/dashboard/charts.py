"""Charts by day: the places of their bars, for inline SVG without text of its own, so that it can be stretched."""

import datetime
from collections.abc import Callable, Sequence
from typing import NamedTuple, Self

from mcpctl.base.models import Row
from mcpctl.base.texts import counted
from mcpctl.store import filters

HEIGHT = 100  # the height of a chart in its own units; each day is one unit wide
MOST_DAYS = 366
FEWEST_DAYS = 14  # days in a chart of all records: one day alone would be a bar as wide as the page
_GAP = 0.2  # the free part of a day's width


class Bar(NamedTuple):
    kind: str
    x: float
    y: float
    width: float
    height: float


class Column(NamedTuple):
    title: str
    bars: Sequence[Bar]


_Parts = Sequence[tuple[str, int, int]]  # the kind, the low and the high end of each bar of a day


class Chart(NamedTuple):
    columns: Sequence[Column]
    top: int  # the value at its full height
    first: str
    last: str


class Days(NamedTuple):
    """Days that have a place in a chart, whether or not there were calls."""

    first: datetime.date
    last: datetime.date

    @classmethod
    def until_today(cls, count: int) -> Self:
        today = datetime.date.today()
        return cls(today - datetime.timedelta(days=count - 1), today)

    @property
    def begin(self) -> str | None:
        return filters.moment("since", str(self.first))


def calls(rows: Sequence[Row], shown: Days) -> Chart:
    """The calls of each day, with those that failed at the foot; `rows` are totals by day."""

    def column(day: str, row: Row | None) -> tuple[str, _Parts]:
        total, failed = (row["calls"], min(row["failed"], row["calls"])) if row else (0, 0)
        title = f"{day}: {counted(total, 'call')}, {failed:,} failed"
        return title, (("failed", 0, failed), ("fine", failed, total))

    return _chart(rows, shown, largest(rows, "calls"), column)


def times(rows: Sequence[Row], shown: Days) -> Chart:
    """The times of calls on each day, in milliseconds: to p50, and from there to p95."""

    def column(day: str, row: Row | None) -> tuple[str, _Parts]:
        if row is None or row["p95_ms"] is None:
            return f"{day}: no call has ended", ()
        p50, p95 = row["p50_ms"], row["p95_ms"]
        return f"{day}: p50 {p50:,} ms, p95 {p95:,} ms", (("half", 0, p50), ("most", p50, p95))

    return _chart(rows, shown, largest(rows, "p95_ms"), column)


def percent(value: int | None, largest: int | None) -> float:
    """The length of a bar in a row of a table; a small one can be seen."""
    return max(round(100 * value / largest, 1), 0.5) if value and largest else 0


def largest(rows: Sequence[Row], field: str) -> int:
    return max((row[field] or 0 for row in rows), default=0)


def _chart(
    rows: Sequence[Row], shown: Days, top: int, column: Callable[[str, Row | None], tuple[str, _Parts]]
) -> Chart:
    days = _days(rows, shown)
    columns = []
    for place, (day, row) in enumerate(days):
        title, parts = column(day, row)
        columns.append(Column(title, [_bar(kind, place, low, high, top) for kind, low, high in parts if high > low]))
    return Chart(columns, top, days[0][0] if days else "", days[-1][0] if days else "")


def _days(rows: Sequence[Row], shown: Days) -> list[tuple[str, Row | None]]:
    by_day = {row["day"]: row for row in rows if row["day"]}
    if not by_day:
        return []
    last = max(datetime.date.fromisoformat(max(by_day)), shown.last)
    first = min(datetime.date.fromisoformat(min(by_day)), shown.first)
    first = max(first, last - datetime.timedelta(days=MOST_DAYS - 1))
    days = (str(first + datetime.timedelta(days=number)) for number in range((last - first).days + 1))
    return [(day, by_day.get(day)) for day in days]


def _bar(kind: str, place: int, low: int, high: int, top: int) -> Bar:
    scale = HEIGHT / top
    height = max((high - low) * scale, 1)
    return Bar(kind, round(place + _GAP / 2, 2), round(HEIGHT - low * scale - height, 2), 1 - _GAP, round(height, 2))
