"""Totals for pages: exact where few calls are on record, else those that were counted last, with the time."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest

from mcpctl.dashboard.board import Board
from mcpctl.dashboard.summaries import Summaries
from mcpctl.models import Found
from mcpctl.paths import Paths
from mcpctl.store import clock, journal_lines
from mcpctl.store.filters import CallFilter
from mcpctl.store.journal import Journal
from mcpctl.store.records import Records
from tests import recorded

LONG_S = 60
"""Longer than any count here; what is waited for comes at once."""
ONLY_NOTES = CallFilter(servers=("notes",))


@dataclass
class Counting:
    """Records for counting in the background, which begins when `may_count` is set."""

    paths: Paths
    may_count: threading.Event = field(default_factory=threading.Event)
    counted: int = 0
    fails: bool = False

    @contextmanager
    def opened(self) -> Iterator[Records]:
        self.may_count.wait()
        self.counted += 1
        if self.fails:
            raise OSError("gone")
        with Records(self.paths) as records:
            yield records


@pytest.fixture
def counting(paths: Paths) -> Iterator[Counting]:
    made = Counting(paths)
    yield made
    made.may_count.set()
    for thread in threading.enumerate():
        if thread.name == "summaries":
            thread.join()


@pytest.fixture
def journal(paths: Paths) -> Iterator[Journal]:
    """A session that goes on, with one call."""
    journal = recorded.opened(paths, recorded.created(), recorded.call(1, 1))
    yield journal
    journal.close()


def call_again(journal: Journal, number: int) -> None:
    journal.append(b"".join(map(journal_lines.encode, recorded.call(number, number))))


def test_few_calls_are_counted_at_once(paths: Paths, journal: Journal) -> None:
    board = Board(paths, 4747)
    for number in (2, 3):
        call_again(journal, number)
        with board.records() as records:
            summary = board.summaries.totals(records, "server", patience_s=0)
            assert summary.rows == records.totals("server")
            assert summary.rows[0]["calls"] == number
            assert summary.counted_at is None
    assert "summaries" not in {thread.name for thread in threading.enumerate()}


def test_many_are_counted_behind_the_page_that_waits_for_them(
    paths: Paths, journal: Journal, counting: Counting
) -> None:
    summaries = Summaries(counting.opened, few=0)
    with Records(paths) as records:
        assert summaries.totals(records, "tool", patience_s=0).rows is None
        counting.may_count.set()
        summary = summaries.totals(records, "tool", patience_s=LONG_S)
        assert (summary.rows, summary.counted_at) == (records.totals("tool"), None)
        other = summaries.totals(records, "tool", wanted=ONLY_NOTES, patience_s=LONG_S)
        assert (other.rows, other.counted_at) == ([], None)


def test_nothing_is_counted_again_until_something_came_on_record(
    paths: Paths, journal: Journal, counting: Counting
) -> None:
    summaries = Summaries(counting.opened, few=0)
    counting.may_count.set()
    with Records(paths) as records:
        for _ in range(3):
            assert summaries.totals(records, patience_s=LONG_S).counted_at is None
    assert counting.counted == 1


def test_what_has_been_counted_a_moment_ago_is_shown_with_its_time(
    paths: Paths, journal: Journal, counting: Counting
) -> None:
    summaries = Summaries(counting.opened, few=0)
    counting.may_count.set()
    before = clock.now()
    with Records(paths) as records:
        summaries.totals(records, patience_s=LONG_S)
        call_again(journal, 2)
        records.refresh()
        summary = summaries.totals(records, patience_s=LONG_S)
    assert summary.rows is not None and summary.rows[0]["calls"] == 1
    assert summary.counted_at is not None and before <= summary.counted_at <= clock.now()


def test_it_is_counted_again_once_that_is_due(
    paths: Paths, journal: Journal, counting: Counting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcpctl.dashboard.summaries._AT_LEAST_S", 0)
    monkeypatch.setattr("mcpctl.dashboard.summaries._SHARE", 0)
    summaries = Summaries(counting.opened, few=0)
    counting.may_count.set()
    with Records(paths) as records:
        summaries.totals(records, patience_s=LONG_S)
        call_again(journal, 2)
        records.refresh()
        summary = summaries.totals(records, patience_s=LONG_S)
    assert summary.counted_at is None
    assert summary.rows is not None and summary.rows[0]["calls"] == 2


def test_what_was_asked_for_last_is_counted_first_and_the_rest_has_a_bound(
    paths: Paths, journal: Journal, counting: Counting
) -> None:
    summaries = Summaries(counting.opened, few=0)
    with Records(paths) as records:
        for day in range(1, 101):
            summaries.totals(records, "tool", wanted=CallFilter(since=f"{day}"), patience_s=0)
        counting.may_count.set()
        assert summaries.totals(records, "tool", wanted=CallFilter(since="7"), patience_s=LONG_S).rows is not None
        for thread in threading.enumerate():
            if thread.name == "summaries":
                thread.join()
    assert counting.counted <= 34  # the first was taken before the others came


def test_a_number_of_calls_is_counted_again_once_something_came_and_that_is_due(
    paths: Paths, journal: Journal, counting: Counting, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted: list[CallFilter] = []
    calls = Records.calls

    def watched(self: Records, wanted: CallFilter) -> Found:
        counted.append(wanted)
        return calls(self, wanted)

    monkeypatch.setattr(Records, "calls", watched)
    monkeypatch.setattr("mcpctl.dashboard.summaries._SHARE", 0)
    summaries = Summaries(counting.opened, few=0)
    weather = CallFilter(servers=("weather",))
    with Records(paths) as records:
        assert [summaries.count(records, weather) for _ in range(3)] == [1, 1, 1]
        assert counted == [weather]
        call_again(journal, 2)
        records.refresh()
        assert summaries.count(records, weather) == 2
        monkeypatch.setattr("mcpctl.dashboard.summaries._SHARE", 1e12)
        call_again(journal, 3)
        records.refresh()
        assert [summaries.count(records, weather) for _ in range(3)] == [3, 3, 3]
        call_again(journal, 4)
        records.refresh()
        assert summaries.count(records, weather) == 3


def test_a_count_that_fails_is_tried_again(paths: Paths, journal: Journal, counting: Counting) -> None:
    summaries = Summaries(counting.opened, few=0)
    counting.fails = True
    counting.may_count.set()
    with Records(paths) as records:
        assert summaries.totals(records, patience_s=0).rows is None
        for thread in threading.enumerate():
            if thread.name == "summaries":
                thread.join()
        counting.fails = False
        assert summaries.totals(records, patience_s=LONG_S).rows is not None
