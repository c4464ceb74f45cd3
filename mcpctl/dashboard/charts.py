"""Plots over time: the places of their bars and lines, for inline SVG without text, which can be stretched."""

import datetime
import math
from collections.abc import Sequence
from typing import NamedTuple, Self
from urllib.parse import urlencode

from mcpctl.base.models import Row
from mcpctl.base.texts import counted, duration
from mcpctl.store import filters

HEIGHT = 100  # the height of a plot in its own units; each hour or day is one unit wide
MOST_DAYS = 366
FEWEST_DAYS = 14  # days in a plot of all records: one day alone would be a bar as wide as the page
MOST_BY_HOUR = 2  # days that are shown by the hour
_MOST = {"hour": 24 * MOST_BY_HOUR, "day": MOST_DAYS}
_GAP = 0.2  # the free part of the width of an hour or day
_KINDS = {"errors": "failed", "refused": "refused", "done": "done"}  # from the foot of a bar to its top


class PlotBar(NamedTuple):
    kind: str
    x: float
    y: float
    width: float
    height: float


class Column(NamedTuple):
    title: str
    address: str  # of its calls
    bars: Sequence[PlotBar]
    begins_day: bool  # of several days that are shown by the hour


class PlotLine(NamedTuple):
    kind: str
    path: str


class Plot(NamedTuple):
    columns: Sequence[Column]
    axis: Sequence[str]  # its values from the top to the foot, with the same distance between all
    first: str = ""
    middle: str = ""
    last: str = ""
    lines: Sequence[PlotLine] = ()

    @property
    def heights(self) -> Sequence[float]:
        return [round(HEIGHT * place / (len(self.axis) - 1), 2) for place in range(1, len(self.axis) - 1)]


class Span(NamedTuple):
    """The time that a plot shows, whether or not there were calls in all of it: days, a few of them by the hour."""

    first: datetime.date
    last: datetime.date

    @classmethod
    def until_today(cls, days: int) -> Self:
        today = datetime.date.today()
        return cls(today - datetime.timedelta(days=days - 1), today)

    @property
    def begin(self) -> str | None:
        return filters.moment("since", str(self.first))

    @property
    def unit(self) -> str:
        """The group of totals of which a plot has a column for each."""
        return "hour" if (self.last - self.first).days < MOST_BY_HOUR else "day"

    def columns(self, rows: Sequence[Row]) -> list[tuple[datetime.datetime, Row | None]]:
        """Each hour or day with its totals; the hours end with the one that has begun."""
        by_begin = {datetime.datetime.fromisoformat(row[self.unit]): row for row in rows if row[self.unit]}
        first, last = (datetime.datetime.combine(day, datetime.time()) for day in self)
        if self.unit == "hour":
            last = min(last.replace(hour=23), datetime.datetime.now().replace(minute=0, second=0, microsecond=0))
        first, last = min(first, *by_begin, first), max(last, *by_begin, last)
        count = min((last - first) // self._step + 1, _MOST[self.unit])  # a record may have any time
        begins = (last - self._step * number for number in reversed(range(count)))
        return [(begin, by_begin.get(begin)) for begin in begins]

    @property
    def _step(self) -> datetime.timedelta:
        return datetime.timedelta(**{f"{self.unit}s": 1})

    def name(self, begin: datetime.datetime) -> str:
        return f"{begin:%Y-%m-%d %H:00}" if self.unit == "hour" else f"{begin:%Y-%m-%d}"

    def within(self, name: str) -> dict[str, str]:
        """The parameters of the calls of an hour or day, by its name in totals."""
        begin = datetime.datetime.fromisoformat(name)
        form = "%Y-%m-%dT%H:%M" if self.unit == "hour" else "%Y-%m-%d"
        return {"since": f"{begin:{form}}", "until": f"{begin + self._step:{form}}"}


def calls(rows: Sequence[Row], shown: Span) -> Plot:
    """The calls of each hour or day, with those that failed at the foot; `rows` are totals by it."""
    columns = shown.columns(rows) if rows else []
    top = _round(max((row["calls"] for row in rows), default=0))
    made = []
    for place, (begin, row) in enumerate(columns):
        bars, low = [], 0
        for field, kind in _KINDS.items():
            if value := row[field] if row else 0:
                bars.append(_bar(kind, place, low, low + value, top))
                low += value
        made.append(_column(shown, begin, place, _words(row), bars))
    return _plot(shown, columns, made, [f"{value:,}" for value in (top, top // 2, 0)])


def times(rows: Sequence[Row], shown: Span) -> Plot:
    """The times of calls in each hour or day, p50 and p95, on a scale of which each step is ten times the last."""
    columns = shown.columns(rows) if rows else []
    ended = [row for row in rows if row["p95_ms"] is not None]
    low = math.floor(math.log10(max(1, min((row["p50_ms"] for row in ended), default=1))))
    high = max(low + 1, math.ceil(math.log10(max(1, largest(ended, "p95_ms")))))

    def height(value: int) -> float:
        return round(HEIGHT * (high - math.log10(max(value, 1))) / (high - low), 2)

    made = [
        _column(shown, begin, place, "no call has ended" if row is None or row["p95_ms"] is None else
                f"p50 {duration(row['p50_ms'])}, p95 {duration(row['p95_ms'])}", ())
        for place, (begin, row) in enumerate(columns)
    ]  # fmt: skip
    lines = [
        PlotLine(kind, _path([None if row is None or row[field] is None else height(row[field]) for _, row in columns]))
        for kind, field in (("most", "p95_ms"), ("half", "p50_ms"))
    ]
    axis = [duration(10**power) for power in range(high, low - 1, -1)]
    return _plot(shown, columns, made, axis, [line for line in lines if line.path])


def percent(value: int | None, largest: int | None) -> float:
    """The length of a bar in a row of a table; a small one can be seen."""
    return max(round(100 * value / largest, 1), 0.5) if value and largest else 0


def largest(rows: Sequence[Row], field: str) -> int:
    return max((row[field] or 0 for row in rows), default=0)


def _words(row: Row | None) -> str:
    if row is None:
        return "no calls"
    parts = (f"{row[field]:,} {kind}" for field, kind in _KINDS.items() if row[field] and kind != "done")
    return ", ".join([counted(row["calls"], "call"), *parts])


def _round(value: int) -> int:
    """The least even number at the top of an axis that has one digit, and zeros."""
    power = int("1" + "0" * (len(str(value)) - 1))
    return next(top for top in range(2 * power, 11 * power, 2 * power) if top >= value)


def _column(shown: Span, begin: datetime.datetime, place: int, words: str, bars: Sequence[PlotBar]) -> Column:
    name = shown.name(begin)
    begins_day = shown.unit == "hour" and begin.hour == 0 and place > 0
    return Column(f"{name}: {words}", f"/tool-calls?{urlencode(shown.within(name))}", bars, begins_day)


def _plot(
    shown: Span,
    columns: Sequence[tuple[datetime.datetime, Row | None]],
    made: Sequence[Column],
    axis: Sequence[str],
    lines: Sequence[PlotLine] = (),
) -> Plot:
    if not columns:
        return Plot((), ())
    first, middle, last = (shown.name(columns[place][0]) for place in (0, len(columns) // 2, -1))
    return Plot(made, axis, first, middle, last, lines)


def _path(heights: Sequence[float | None]) -> str:
    """A line through the places that have a value, level within each, and broken where there is none."""
    parts, is_drawn = [], False
    for place, height in enumerate(heights):
        if height is not None:
            parts.append(f"{'L' if is_drawn else 'M'}{place + _GAP / 2:g} {height:g}H{place + 1 - _GAP / 2:g}")
        is_drawn = height is not None
    return "".join(parts)


def _bar(kind: str, place: int, low: int, high: int, top: int) -> PlotBar:
    scale = HEIGHT / top
    height = max((high - low) * scale, 1)
    return PlotBar(
        kind, round(place + _GAP / 2, 2), round(HEIGHT - low * scale - height, 2), 1 - _GAP, round(height, 2)
    )
