"""Totals for pages: exact where few calls are on record, else those that were counted last, with the time."""

import threading
from collections.abc import Iterator

import pytest

from mcpctl.base.models import Row
from mcpctl.base.paths import Paths
from mcpctl.dashboard.dashboard import Summaries
from mcpctl.store import clock, journal_lines
from mcpctl.store.filters import EVERYTHING, CallFilter
from mcpctl.store.journal import Journal
from mcpctl.store.records import LocalRecords, Records
from tests import recorded

ONLY_NOTES = CallFilter(servers=("notes",))


@pytest.fixture
def journal(paths: Paths) -> Iterator[Journal]:
    """A session that goes on, with one call."""
    journal = recorded.opened(paths, recorded.created(), recorded.call(1, 1))
    yield journal
    journal.close()


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[CallFilter]:
    """What was counted, each time that it was."""
    counted: list[CallFilter] = []
    totals = Records.totals

    def watched(self: Records, *by: str, criteria: CallFilter = EVERYTHING) -> list[Row]:
        counted.append(criteria)
        return [*totals(self, *by, criteria=criteria)]

    monkeypatch.setattr(Records, "totals", watched)
    return counted


def call_again(journal: Journal, number: int) -> None:
    journal.append(b"".join(map(journal_lines.encode, recorded.call(number, number))))


def test_few_calls_are_counted_each_time(paths: Paths, journal: Journal) -> None:
    summaries = Summaries()
    for number in (2, 3):
        call_again(journal, number)
        with LocalRecords(paths) as records:
            summary = summaries.totals(records, "server")
            assert summary.rows == records.totals("server")
            assert (summary.rows[0]["calls"], summary.counted_at) == (number, None)


def test_many_are_counted_for_each_that_asks_for_something_else(paths: Paths, journal: Journal) -> None:
    summaries = Summaries(few=0)
    with LocalRecords(paths) as records:
        summary = summaries.totals(records, "tool")
        assert (summary.rows, summary.counted_at) == (records.totals("tool"), None)
        other = summaries.totals(records, "tool", wanted=ONLY_NOTES)
        assert (other.rows, other.counted_at) == ([], None)


def test_nothing_is_counted_again_until_something_came_on_record(
    paths: Paths, journal: Journal, counted: list[CallFilter]
) -> None:
    summaries = Summaries(few=0)
    with LocalRecords(paths) as records:
        for _ in range(3):
            assert summaries.totals(records).counted_at is None
    assert len(counted) == 1


def test_what_has_been_counted_a_moment_ago_is_shown_with_its_time(paths: Paths, journal: Journal) -> None:
    summaries = Summaries(few=0)
    before = clock.now()
    with LocalRecords(paths) as records:
        summaries.totals(records)
        call_again(journal, 2)
        records.refreshed()
        summary = summaries.totals(records)
    assert summary.rows[0]["calls"] == 1
    assert summary.counted_at is not None and before <= summary.counted_at <= clock.now()


def test_it_is_counted_again_once_that_is_due(paths: Paths, journal: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcpctl.dashboard.dashboard._AT_LEAST_S", 0)
    monkeypatch.setattr("mcpctl.dashboard.dashboard._SHARE", 0)
    summaries = Summaries(few=0)
    with LocalRecords(paths) as records:
        summaries.totals(records)
        call_again(journal, 2)
        records.refreshed()
        summary = summaries.totals(records)
    assert (summary.rows[0]["calls"], summary.counted_at) == (2, None)


def test_what_was_counted_last_is_kept_and_that_has_a_bound(
    paths: Paths, journal: Journal, counted: list[CallFilter]
) -> None:
    summaries = Summaries(few=0)
    days = [CallFilter(since=f"{day}") for day in range(1, 41)]
    with LocalRecords(paths) as records:
        for wanted in (*days, *days[-32:], days[0]):
            summaries.totals(records, "tool", wanted=wanted)
    assert counted == [*days, days[0]]


def test_a_count_that_fails_is_tried_again(paths: Paths, journal: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> list[Row]:
        raise OSError("gone")

    summaries = Summaries(few=0)
    with LocalRecords(paths) as records:
        with monkeypatch.context() as patched:
            patched.setattr(Records, "totals", fail)
            with pytest.raises(OSError, match="gone"):
                summaries.totals(records)
        assert summaries.totals(records).rows[0]["calls"] == 1


def test_a_page_does_not_wait_for_many_that_are_counted_aside(
    paths: Paths, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcpctl.dashboard.dashboard._PATIENCE_S", 0)
    summaries, go_on = Summaries(few=0), threading.Event()

    def count(records: Records) -> int:
        assert go_on.wait(60)
        return int(records.totals()[0]["calls"])

    with LocalRecords(paths) as records:
        assert summaries.in_a_moment(records, "page", count) == (None, None)
        go_on.set()
        monkeypatch.setattr("mcpctl.dashboard.dashboard._PATIENCE_S", 20)
        assert summaries.in_a_moment(records, "page", count) == (1, None)
        go_on.clear()
        call_again(journal, 2)
        monkeypatch.setattr("mcpctl.dashboard.dashboard._PATIENCE_S", 0)
        counted, counted_at = summaries.in_a_moment(records, "page", count)
        go_on.set()
        assert counted == 1 and counted_at is not None, "the last count, while it is counted again"
        monkeypatch.setattr("mcpctl.dashboard.dashboard._PATIENCE_S", 20)
        assert summaries.in_a_moment(records, "page", count) == (2, None)


def test_whoever_waits_for_a_count_that_fails_is_told(paths: Paths, journal: Journal) -> None:
    def fail(_: Records) -> int:
        raise OSError("gone")

    with LocalRecords(paths) as records, pytest.raises(OSError, match="gone"):
        Summaries(few=0).in_a_moment(records, "page", fail)
