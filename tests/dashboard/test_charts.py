"""Charts: bars as high as what they stand for, over every day."""

import datetime
import time
from typing import Any

import pytest

from mcpctl.dashboard import charts

SHOWN = charts.Days(datetime.date(2026, 11, 20), datetime.date(2026, 11, 22))


def day(name: str, calls: int, failed: int = 0, p50: int | None = 10, p95: int | None = 40) -> dict[str, Any]:
    return {"day": name, "calls": calls, "failed": failed, "p50_ms": p50, "p95_ms": p95}


def test_what_failed_stands_below_what_did_not() -> None:
    chart = charts.calls([day("2026-11-20", 40, 10), day("2026-11-22", 20)], SHOWN)
    failed, fine = chart.columns[0].bars
    assert (chart.top, chart.first, chart.last) == (40, "2026-11-20", "2026-11-22")
    assert (failed.kind, failed.y, failed.height) == ("failed", 75, 25)
    assert (fine.kind, fine.y, fine.height) == ("fine", 0, 75)
    assert chart.columns[2].bars[0][1:] == (2.1, 50, 0.8, 50)


def test_a_day_without_calls_has_its_place() -> None:
    rows = [day("2026-11-20", 1), day("2026-11-22", 1, p50=None, p95=None)]
    assert [column.title for column in charts.calls(rows, SHOWN).columns] == [
        "2026-11-20: 1 call, 0 failed", "2026-11-21: 0 calls, 0 failed", "2026-11-22: 1 call, 0 failed",
    ]  # fmt: skip
    assert [column.title for column in charts.times(rows, SHOWN).columns] == [
        "2026-11-20: p50 10 ms, p95 40 ms", "2026-11-21: no call has ended", "2026-11-22: no call has ended",
    ]  # fmt: skip


def test_of_years_the_last_one_is_shown() -> None:
    chart = charts.calls([day("2020-01-01", 5), day("2026-11-22", 5)], SHOWN)
    assert (len(chart.columns), chart.last) == (charts.MOST_DAYS, "2026-11-22")


def test_nothing_is_no_chart() -> None:
    assert charts.calls([], SHOWN) == charts.times([], SHOWN) == charts.Chart([], 0, "", "")


def test_little_is_seen_and_nothing_is_not() -> None:
    assert [charts.percent(value, 10_000) for value in (None, 0, 1, 5000, 10_000)] == [0, 0, 0.5, 50, 100]
    assert charts.percent(0, 0) == 0
    one_of_many = charts.calls([day("2026-11-22", 100_000, 1)], SHOWN).columns[-1].bars[0]
    assert (one_of_many.kind, one_of_many.height) == ("failed", 1)


def test_the_days_that_were_asked_for_have_their_places() -> None:
    chart = charts.calls([day("2026-11-22", 20)], charts.Days(datetime.date(2026, 11, 9), datetime.date(2026, 11, 23)))
    assert (len(chart.columns), chart.first, chart.last) == (15, "2026-11-09", "2026-11-23")
    assert [bool(column.bars) for column in chart.columns] == [False] * 13 + [True, False]


def test_days_until_today_are_so_many_and_begin_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        shown, today = charts.Days.until_today(7), datetime.date.today()
        assert (shown.first, shown.last) == (today - datetime.timedelta(days=6), today)
        assert shown.begin == f"{today - datetime.timedelta(days=7)}T15:00:00.000Z"
    finally:
        monkeypatch.undo()
        time.tzset()
