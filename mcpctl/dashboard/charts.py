"""Where the bars of charts stand: numbers for inline SVG, which has no text of its own, so that it can be stretched."""

import datetime
from collections.abc import Sequence
from typing import NamedTuple, Self

from mcpctl.base.models import Row
from mcpctl.base.texts import counted
from mcpctl.store import filters

HEIGHT = 100
"""Of a chart, in its own units; each day is one unit wide."""
MOST_DAYS = 366
FEWEST_DAYS = 14
"""Of a chart of all that is on record: one day alone would be a bar as wide as the page."""
_GAP = 0.2
"""Of a day's width, what is left free; where there are many days a bar would else be seen as none."""


class Bar(NamedTuple):
    """A part of what stands over a day."""

    kind: str
    x: float
    y: float
    width: float
    height: float


class Column(NamedTuple):
    """What stands over a day."""

    title: str
    bars: Sequence[Bar]


class Chart(NamedTuple):
    """A chart over days that follow each other."""

    columns: Sequence[Column]
    top: int
    """What its height stands for."""
    first: str
    last: str


class Days(NamedTuple):
    """Days that have a place in a chart, whether or not there were calls."""

    first: datetime.date
    last: datetime.date

    @classmethod
    def until_today(cls, count: int) -> Self:
        """So many, the last of them today, here."""
        today = datetime.date.today()
        return cls(today - datetime.timedelta(days=count - 1), today)

    @property
    def begin(self) -> str | None:
        """The moment at which they begin, in the format of records."""
        return filters.moment("since", str(self.first))


def calls(rows: Sequence[Row], shown: Days) -> Chart:
    """The calls of each day, with those that failed at the foot; `rows` are totals by day."""
    days = _days(rows, shown)
    top = max((row["calls"] for row in rows), default=0)
    columns = []
    for place, (day, row) in enumerate(days):
        total, failed = (row["calls"], min(row["failed"], row["calls"])) if row else (0, 0)
        bars = [_bar("failed", place, 0, failed, top), _bar("fine", place, failed, total, top)]
        columns.append(
            Column(f"{day}: {counted(total, 'call')}, {failed:,} failed", [bar for bar in bars if bar.height])
        )
    return _chart(columns, top, days)


def times(rows: Sequence[Row], shown: Days) -> Chart:
    """How long calls took on each day: to p50, and from there to p95, in milliseconds."""
    days = _days(rows, shown)
    top = max((row["p95_ms"] or 0 for row in rows), default=0)
    columns = []
    for place, (day, row) in enumerate(days):
        if row is None or row["p95_ms"] is None:
            columns.append(Column(f"{day}: no call has ended", []))
            continue
        p50, p95 = row["p50_ms"], row["p95_ms"]
        bars = [_bar("half", place, 0, p50, top), _bar("most", place, p50, p95, top)]
        columns.append(Column(f"{day}: p50 {p50:,} ms, p95 {p95:,} ms", [bar for bar in bars if bar.height]))
    return _chart(columns, top, days)


def percent(value: int | None, largest: int | None) -> float:
    """The length of a bar that lies in a row of a table; what is not nothing is seen."""
    return max(round(100 * value / largest, 1), 0.5) if value and largest else 0


def largest(rows: Sequence[Row], field: str) -> int:
    """What the longest bar of a table stands for."""
    return max((row[field] or 0 for row in rows), default=0)


def _chart(columns: Sequence[Column], top: int, days: Sequence[tuple[str, Row | None]]) -> Chart:
    return Chart(columns, top, days[0][0] if days else "", days[-1][0] if days else "")


def _days(rows: Sequence[Row], shown: Days) -> list[tuple[str, Row | None]]:
    """The days to be shown and all those with calls, also those without any between them; of very many the last."""
    by_day = {row["day"]: row for row in rows if row["day"]}
    if not by_day:
        return []
    last = max(datetime.date.fromisoformat(max(by_day)), shown.last)
    first = min(datetime.date.fromisoformat(min(by_day)), shown.first)
    first = max(first, last - datetime.timedelta(days=MOST_DAYS - 1))
    days = (str(first + datetime.timedelta(days=number)) for number in range((last - first).days + 1))
    return [(day, by_day.get(day)) for day in days]


def _bar(kind: str, place: int, low: int, high: int, top: int) -> Bar:
    scale = HEIGHT / top if top else 0
    height = max((high - low) * scale, 1 if high > low else 0)
    return Bar(kind, round(place + _GAP / 2, 2), round(HEIGHT - low * scale - height, 2), 1 - _GAP, round(height, 2))
