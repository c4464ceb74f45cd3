"""Plots: bars as high and lines as far up as what they stand for, over every hour or day."""

import datetime
import time
from typing import Any

import pytest

from mcpctl.dashboard import charts

SHOWN = charts.Span(datetime.date(2026, 11, 20), datetime.date(2026, 11, 23))
TWO_DAYS = charts.Span(datetime.date(2020, 3, 1), datetime.date(2020, 3, 2))


def total(name: str, calls: int, errors: int = 0, refused: int = 0, p50: int | None = 10, p95: int | None = 40) -> Any:
    unit = "hour" if ":" in name else "day"
    done = calls - errors - refused
    return {
        unit: name,
        "calls": calls,
        "done": done,
        "errors": errors,
        "refused": refused,
        "p50_ms": p50,
        "p95_ms": p95,
    }


def test_what_failed_stands_below_what_was_refused_and_that_below_what_was_done() -> None:
    plot = charts.calls([total("2026-11-20", 40, 10, 20), total("2026-11-22", 20)], SHOWN)
    failed, refused, done = plot.columns[0].bars
    assert (plot.axis, plot.first, plot.middle, plot.last) == (
        ["40", "20", "0"],
        "2026-11-20",
        "2026-11-22",
        "2026-11-23",
    )
    assert [(bar.kind, bar.y, bar.height) for bar in (failed, refused, done)] == [
        ("failed", 75, 25), ("refused", 25, 50), ("done", 0, 25),
    ]  # fmt: skip
    assert plot.columns[2].bars[0][1:] == (2.1, 50, 0.8, 50)


def test_an_hour_or_day_without_calls_has_its_place_and_leads_to_its_calls() -> None:
    rows = [total("2026-11-20", 1, 1), total("2026-11-22", 1, p50=None, p95=None)]
    assert [column.title for column in charts.calls(rows, SHOWN).columns] == [
        "2026-11-20: 1 call, 1 failed", "2026-11-21: no calls", "2026-11-22: 1 call", "2026-11-23: no calls",
    ]  # fmt: skip
    times = charts.times(rows, SHOWN)
    assert times.columns[0].title == "2026-11-20: p50 10 ms, p95 40 ms"
    assert {column.title.partition(": ")[2] for column in times.columns[1:]} == {"no call has ended"}
    assert times.columns[3].address == "/tool-calls?since=2026-11-23&until=2026-11-24"


def test_two_days_are_shown_by_the_hour_and_more_by_the_day() -> None:
    assert (TWO_DAYS.unit, SHOWN.unit, charts.Span.until_today(1).unit) == ("hour", "day", "hour")
    plot = charts.calls([total("2020-03-01 23:00", 3)], TWO_DAYS)
    assert (len(plot.columns), plot.first, plot.last) == (48, "2020-03-01 00:00", "2020-03-02 23:00")
    assert plot.columns[23].address == "/tool-calls?since=2020-03-01T23%3A00&until=2020-03-02T00%3A00"
    assert [place for place, column in enumerate(plot.columns) if column.begins_day] == [24]


def test_hours_that_are_to_come_have_no_place() -> None:
    today = charts.Span.until_today(1)
    plot = charts.calls([total(f"{today.first} 00:00", 3)], today)
    assert len(plot.columns) in (now := datetime.datetime.now().hour + 1, now - 1 or 1)


def test_times_are_on_a_scale_of_tens_and_both_lines_can_be_read() -> None:
    rows = [total("2026-11-20", 1, p50=3, p95=1108), total("2026-11-21", 1, p50=30, p95=300), total("2026-11-23", 1)]
    plot = charts.times(rows, SHOWN)
    assert plot.axis == ["10 s", "1 s", "100 ms", "10 ms", "1 ms"]
    assert plot.heights == [25, 50, 75]
    assert {line.kind: line.path for line in plot.lines} == {
        "most": "M0.1 23.89H0.9L1.1 38.07H1.9M3.1 59.95H3.9", "half": "M0.1 88.07H0.9L1.1 63.07H1.9M3.1 75H3.9",
    }  # fmt: skip
    assert charts.times([total("2026-11-20", 1, p50=0, p95=0)], SHOWN).axis == ["10 ms", "1 ms"]


def test_an_axis_ends_at_a_round_number() -> None:
    tops = {value: charts.calls([total("2026-11-20", value)], SHOWN).axis[0] for value in (1, 9, 10, 11, 85, 400, 1234)}
    assert tops == {1: "2", 9: "10", 10: "20", 11: "20", 85: "100", 400: "400", 1234: "2,000"}


def test_a_record_of_any_time_makes_no_plot_without_end() -> None:
    plot = charts.calls([total("2020-01-01", 5), total("2026-11-22", 5)], SHOWN)
    assert (len(plot.columns), plot.last) == (charts.MOST_DAYS, "2026-11-23")
    plot = charts.calls([total("9998-01-01 00:00", 5), total("0002-01-01 00:00", 5)], TWO_DAYS)
    assert (len(plot.columns), plot.last) == (48, "9998-01-01 00:00")


def test_nothing_is_no_plot() -> None:
    assert charts.calls([], SHOWN) == charts.times([], SHOWN) == charts.Plot((), ())


def test_little_is_seen_and_nothing_is_not() -> None:
    assert [charts.percent(value, 10_000) for value in (None, 0, 1, 5000, 10_000)] == [0, 0, 0.5, 50, 100]
    assert charts.percent(0, 0) == 0
    one_of_many = charts.calls([total("2026-11-23", 100_000, 1)], SHOWN).columns[-1].bars[0]
    assert (one_of_many.kind, one_of_many.height) == ("failed", 1)


def test_days_until_today_are_so_many_and_begin_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        shown, today = charts.Span.until_today(7), datetime.date.today()
        assert shown.first == today - datetime.timedelta(days=6)
        assert shown.begin == f"{today - datetime.timedelta(days=7)}T15:00:00.000Z"
    finally:
        monkeypatch.undo()
        time.tzset()
