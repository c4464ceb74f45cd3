"""Events: each line of the journals once, whoever writes, and however often the reader begins anew."""

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import islice
from pathlib import Path

import pytest

from mcpctl.base.paths import Paths
from mcpctl.store import journal_files, journal_lines, sqlite, watch
from mcpctl.store.events import START, Event
from mcpctl.store.filters import EVERYTHING, CallFilter
from mcpctl.store.journal import Journal
from mcpctl.store.journal_lines import AnyLine
from mcpctl.store.records import LocalRecords
from tests.conftest import ROOT
from tests.recorded import (
    CLAUDE,
    CURSOR,
    at,
    call,
    call_id,
    closed,
    created,
    finished,
    opened,
    searched,
    session,
    started,
    two_sessions,
)

SEARCH = "10d15c00-0000-4000-8000-000000000001"
DAY_NS = 86_400 * 10**9


def write(journal: Journal, *lines: AnyLine) -> None:
    journal.append(b"".join(map(journal_lines.encode, lines)))


def told(come: Sequence[Event] | Iterator[Event]) -> list[tuple[str, str | None]]:
    return [(event.type, event.data.get("id") or event.data.get("session_id")) for event in come]


def since(paths: Paths, position: str | None, wanted: CallFilter = EVERYTHING) -> tuple[list[Event], str]:
    """What has come since, and the position after it, for somebody who begins anew."""
    with LocalRecords(paths) as records:
        stream = records.events(wanted, since=position)
        return list(stream.read()), stream.position()


def test_each_line_is_an_event_also_where_the_index_had_it_all_before(paths: Paths) -> None:
    two = ("calls.finished", call_id(1)), ("sessions.updated", CLAUDE)
    session(paths, rest=[searched(1, 1), *call(1, 2)])
    come, position = since(paths, START)
    assert told(come) == [
        ("sessions.created", CLAUDE), ("discoveries.finished", SEARCH), ("calls.started", call_id(1)), *two,
        ("sessions.closed", CLAUDE),
    ]  # fmt: skip
    assert [event.timestamp for event in come] == [at(0), at(1), at(2), at(2.1), at(2.1), at(5)]
    assert since(paths, position)[0] == []


def test_an_event_says_what_was_so_then_and_totals_of_now(paths: Paths) -> None:
    session(paths, rest=[*call(1, 1), *call(2, 2)])
    begun, running, ended, updated, *_, last = since(paths, START)[0]
    assert (begun.data["status"], begun.data["tool_call_count"], begun.data["end_time"]) == ("active", 0, None)
    assert (running.data["status"], running.data["response"], running.data["arguments"]) == (
        "running", None, '{"city": "Oslo"}',
    )  # fmt: skip
    assert (ended.data["status"], ended.data["duration_ms"]) == ("ok", 12)
    assert running.data.keys() == ended.data.keys()
    assert updated.data == {"session_id": CLAUDE, "tool_call_count": 2, "total_tokens": 34}
    assert (last.data["status"], last.data["end_time"]) == ("closed", at(5))
    assert begun.data.keys() == last.data.keys()


def test_whoever_stops_at_any_event_gets_the_rest_once(paths: Paths) -> None:
    two_sessions(paths)
    whole, _ = since(paths, START)
    assert len(whole) == 2 + 2 + 6 * 3 + 2
    for stop in range(len(whole)):
        with LocalRecords(paths) as records:
            stream = records.events(since=START)
            first = list(islice(stream.read(), stop))
            rest, _ = since(paths, stream.position() if stop else START)
            assert first + rest == whole
            assert first + list(stream.read()) == whole


def test_events_of_several_journals_come_by_time(paths: Paths) -> None:
    session(paths, CLAUDE, 0, [*call(1, 1), *call(2, 4)])
    session(paths, CURSOR, 2, [*call(3, 3, CURSOR)])
    moments = [event.timestamp for event in since(paths, START)[0]]
    assert moments == sorted(moments)


def test_a_position_survives_another_index_and_tells_of_new_journals(paths: Paths) -> None:
    journal = opened(paths, created(), call(1, 1))
    _, position = since(paths, START)
    sqlite.remove(paths.index)
    write(journal, finished(7, 1), *call(2, 2))
    session(paths, CURSOR, 3)
    come, position = since(paths, position)
    assert told(come) == [
        ("calls.started", call_id(2)), ("calls.finished", call_id(2)), ("sessions.updated", CLAUDE),
        ("sessions.created", CURSOR), ("sessions.closed", CURSOR),
    ]  # fmt: skip
    journal.close()


def test_half_a_line_is_no_event_until_it_is_whole(paths: Paths) -> None:
    journal = opened(paths, created())
    with LocalRecords(paths) as records:
        stream = records.events()
        text = journal_lines.encode(started(1, 1))
        journal.append(text[:40])
        records.refreshed()
        assert list(stream.read()) == []
        journal.append(text[40:])
        records.refreshed()
        assert told(stream.read()) == [("calls.started", call_id(1))]
    journal.close()


def test_what_cannot_be_read_or_is_of_a_later_type_is_no_event(paths: Paths) -> None:
    journal = opened(paths, created())
    _, position = since(paths, START)
    journal.append(b'{"type":"later.finished","v":1}\n{broken\n')
    write(journal, *call(1, 1))
    assert told(since(paths, position)[0])[0] == ("calls.started", call_id(1))
    journal.close()


def test_what_is_on_record_twice_since_it_could_not_be_written_whole_comes_once(paths: Paths) -> None:
    session(paths, rest=[searched(1, 1), *call(1, 1), searched(1, 1), *call(1, 1)])
    assert len(since(paths, START)[0]) == 6


@pytest.mark.parametrize("at_once", [1, 500, 1 << 20])
def test_lines_longer_than_what_is_read_at_once_come_too(
    paths: Paths, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    two_sessions(paths)
    monkeypatch.setattr(journal_files, "AT_ONCE", at_once)
    assert len(since(paths, START)[0]) == 24
    with LocalRecords(paths) as records:
        for number in range(26):
            newest = list(records.events(newest=number).read())
            assert newest == since(paths, START)[0][max(0, 24 - number) :]


# ---- what is lost


def test_a_session_that_was_evicted_before_it_was_read_to_its_end_is_a_reset(paths: Paths) -> None:
    journal = opened(paths, created())
    _, position = since(paths, START)
    write(journal, *call(1, 1))
    journal.close()
    journal.path.unlink()
    come, position = since(paths, position)
    assert told(come) == [("reset", None)]
    assert since(paths, position)[0] == []


def test_a_session_that_was_read_to_its_end_may_go(paths: Paths) -> None:
    journal = session(paths, rest=call(1, 1))
    _, position = since(paths, START)
    journal.path.unlink()
    assert since(paths, position)[0] == []


def test_another_journal_under_an_old_name_is_read_from_its_beginning(paths: Paths) -> None:
    first = opened(paths, created(), call(1, 1))
    _, position = since(paths, START)
    first.close()
    session(paths, CURSOR, 5).path.rename(first.path)
    assert told(since(paths, position)[0]) == [
        ("reset", None), ("sessions.created", CURSOR), ("sessions.closed", CURSOR),
    ]  # fmt: skip


@pytest.mark.parametrize("position", ["", "AAAA", "not a position", "é", "A" * 4000])
def test_what_is_no_position_is_a_reset_and_then_all_that_is_new(paths: Paths, position: str) -> None:
    journal = opened(paths, created(), call(1, 1))
    with LocalRecords(paths) as records:
        stream = records.events(since=position)
        assert told(stream.read()) == [("reset", None)]
        write(journal, started(2, 2))
        records.refreshed()
        assert told(stream.read()) == [("calls.started", call_id(2))]
    journal.close()


def test_a_position_that_was_cut_or_changed_is_a_reset(paths: Paths) -> None:
    two_sessions(paths)
    _, position = since(paths, START)
    for changed in (
        position[:-1],
        position[:-8],
        position[:20] + ("A" if position[20] != "A" else "B") + position[21:],
    ):
        assert told(since(paths, changed)[0]) == [("reset", None)], changed


# ---- its length


def test_a_position_names_what_goes_on_and_what_was_begun_lately(paths: Paths) -> None:
    now = time.time_ns()
    old = opened(paths, created(CURSOR))
    old.path.rename(paths.sessions / f"{now - 40 * DAY_NS}_{CURSOR}.jsonl")
    for number in range(300):
        journal = session(paths, f"{number:08}-0000-4000-8000-000000000000")
        journal.path.rename(paths.sessions / f"{now - number * DAY_NS}_{number:08}.jsonl")
    come, position = since(paths, START)
    assert len(come) == 601
    assert len(position) < 80
    assert since(paths, position)[0] == []
    write(old, *call(1, 1, CURSOR))
    assert told(since(paths, position)[0]) == [
        ("calls.started", call_id(1)), ("calls.finished", call_id(1)), ("sessions.updated", CURSOR),
    ]  # fmt: skip
    old.close()


def test_a_position_of_a_clock_that_was_ahead_is_a_reset(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = session(paths)
    ahead = time.time_ns() + 400 * DAY_NS
    journal.path.rename(paths.sessions / f"{ahead}_x.jsonl")
    with monkeypatch.context() as patch:
        patch.setattr(time, "time_ns", lambda: ahead)
        _, position = since(paths, START)
    assert told(since(paths, position)[0]) == [("reset", None)]


# ---- filters


def test_events_of_other_sessions_are_left_out(paths: Paths) -> None:
    two_sessions(paths)
    come, _ = since(paths, START, CallFilter(sessions=(CURSOR,)))
    assert len(come) == 1 + 1 + 3 * 3 + 1
    assert {event.data.get("session_id") for event in come} == {CURSOR}
    assert [event.type for event in since(paths, START, CallFilter(clients=("cursor",)))[0]].count(
        "sessions.closed"
    ) == 1


def test_conditions_on_calls_leave_only_calls(paths: Paths) -> None:
    two_sessions(paths)
    assert told(since(paths, START, CallFilter(servers=("weather",), sessions=(CURSOR,)))[0]) == [
        ("calls.started", call_id(5)), ("calls.finished", call_id(5)),
    ]  # fmt: skip


def test_what_is_known_only_at_the_end_leaves_out_beginnings(paths: Paths) -> None:
    two_sessions(paths)
    assert told(since(paths, START, CallFilter(statuses=("failed", "denied")))[0]) == [
        ("calls.finished", call_id(4)), ("calls.finished", call_id(5)),
    ]  # fmt: skip
    assert [event.type for event in since(paths, START, CallFilter(statuses=("running",)))[0]] == ["calls.started"] * 6


def test_the_newest_are_those_that_are_wanted(paths: Paths) -> None:
    two_sessions(paths)
    with LocalRecords(paths) as records:
        stream = records.events(CallFilter(servers=("notes",)), newest=3)
        assert told(stream.read()) == [
            ("calls.finished", call_id(4)), ("calls.started", call_id(6)), ("calls.finished", call_id(6)),
        ]  # fmt: skip
        stream = records.events(newest=3, without=("sessions.updated",))
        assert [event.type for event in stream.read()] == ["calls.started", "calls.finished", "sessions.closed"]


def test_of_old_sessions_only_the_end_is_read(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    long_ago = session(paths, CLAUDE, 0, [line for number in range(9) for line in call(number, 1)])
    killed = opened(paths, created(CURSOR, 0), call("killed", 1, CURSOR))
    killed.close(journal_lines.encode(closed(CURSOR, 30)))
    monkeypatch.setattr(journal_files, "AT_FIRST", 512)
    with LocalRecords(paths) as records:
        read = chunks(monkeypatch)
        stream = records.events(CallFilter(since=at(20)), since=START)
        assert told(stream.read()) == [("sessions.closed", CURSOR)]
        assert sum(read[long_ago.path.name]) < long_ago.path.stat().st_size
        assert list(records.events(since=stream.position()).read()) == []
        stream = records.events(CallFilter(since=at(20)), newest=5)
        assert told(stream.read()) == [("sessions.closed", CURSOR)]


def test_journals_without_what_is_wanted_are_not_read_for_the_newest(
    paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Except for the first: most filters fit something in it."""
    ids = [f"{number}c1a0de0-0000-4000-8000-000000000001" for number in range(5)]
    names = [
        session(paths, id_, 10 * number, call(number, 10 * number + 1, id_, server=f"server{number}")).path.name
        for number, id_ in enumerate(ids)
    ]
    with LocalRecords(paths) as records:
        read = chunks(monkeypatch)
        stream = records.events(CallFilter(servers=("server1",), statuses=("running",)), newest=3)
        assert set(read) == {names[4], names[1]}
        assert told(stream.read()) == [("calls.started", call_id(1))]
        read.clear()
        stream = records.events(CallFilter(sessions=(ids[2],)), newest=2)
        assert set(read) == {names[4], names[2]}
        assert [event.type for event in stream.read()] == ["sessions.updated", "sessions.closed"]


def test_journals_that_were_written_before_are_not_read_for_the_newest(
    paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        id_ = f"{number}c1a0de0-0000-4000-8000-000000000001"
        path = session(paths, id_, 10 * number, call(number, 10 * number + 1, id_)).path
        os.utime(path, times=(seconds(10 * number + 5),) * 2)
    with LocalRecords(paths) as records:
        read = chunks(monkeypatch)
        stream = records.events(newest=4)
        assert set(read) == {path.name}
        assert [event.type for event in stream.read()][-2:] == ["sessions.updated", "sessions.closed"]


def chunks(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[int]]:
    """How many bytes are read at once from now on, by journal."""
    read: dict[str, list[int]] = {}
    chunk = journal_files._chunk

    def noted(path: Path, begin: int, end: int) -> bytes:
        text = chunk(path, begin, end)
        read.setdefault(path.name, []).append(len(text))
        return text

    monkeypatch.setattr(journal_files, "_chunk", noted)
    return read


def seconds(minute: float) -> float:
    return datetime.fromisoformat(at(minute)).timestamp()


# ---- following


class Enough(Exception):
    pass


def test_following_pauses_only_when_nothing_is_new(paths: Paths) -> None:
    journal = opened(paths, created())
    pauses: list[int] = []

    def pause() -> None:
        pauses.append(1)
        if len(pauses) == 3:
            raise Enough
        write(journal, *call(len(pauses), len(pauses)))

    with LocalRecords(paths) as live:
        followed = watch.follow(live, live.events(), pause)
        first = told(islice(followed, 3))
        assert len(pauses) == 1
        second = told(islice(followed, 3))
        assert len(pauses) == 2
        assert [id_ for _, id_ in (*first, *second)] == [call_id(1), call_id(1), CLAUDE, call_id(2), call_id(2), CLAUDE]
        with pytest.raises(Enough):
            next(followed)
    journal.close()


def test_while_nothing_happens_only_what_goes_on_is_looked_at(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    session(paths, CURSOR)
    journal = opened(paths, created())
    refreshed: list[int] = []
    pauses: list[int] = []

    def pause() -> None:
        pauses.append(1)
        if len(pauses) == 50:
            raise Enough

    def refresh() -> bool:
        refreshed.append(1)
        return True

    with LocalRecords(paths) as live:
        monkeypatch.setattr(live, "refreshed", refresh)
        with pytest.raises(Enough):
            list(watch.follow(live, live.events(), pause))
        assert len(refreshed) == 3  # at first, and after every twenty pauses
    journal.close()


WRITER = """
import sys, uuid
from mcpctl.base.paths import find
from mcpctl.store import journal_lines
from tests.recorded import call, closed, created, opened
paths, number = find(), int(sys.argv[1])
for _ in range(number):
    id_ = str(uuid.uuid4())
    journal = opened(paths, created(id_))
    for _ in range(20):
        for line in call(str(uuid.uuid4()), 1, id_):
            journal.append(journal_lines.encode(line))
    journal.close(journal_lines.encode(closed(id_)))
"""


@pytest.mark.slow
@pytest.mark.process
def test_nothing_is_lost_or_twice_among_writers_that_are_killed_and_readers_that_begin_anew(paths: Paths) -> None:
    sessions = (4, 4, 40)  # the last is killed in the middle
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(number)], cwd=ROOT) for number in sessions]
    chance = random.Random(7)
    come: list[tuple[str, str | None]] = []
    position = START

    def read(at_most: int | None) -> None:
        nonlocal position
        with LocalRecords(paths) as records:
            stream = records.events(since=position)
            more = told(islice(stream.read(), at_most))
            come.extend(more)
            if more:
                position = stream.position()

    with contextlib.ExitStack() as stack:
        for writer in writers:
            stack.callback(writer.kill)
        while len(come) < 100:
            read(chance.randrange(1, 60))
        os.kill(writers[2].pid, signal.SIGKILL)
        while any(writer.poll() is None for writer in writers):
            read(chance.randrange(1, 60))
        for writer in writers:
            writer.wait()
    read(None)
    assert come.count(("reset", None)) == 0
    assert sorted(come, key=str) == sorted(written(paths.sessions), key=str)


def written(folder: Path) -> list[tuple[str, str | None]]:
    """The events that the journals hold, by the types of their lines."""
    come: list[tuple[str, str | None]] = []
    for path in folder.glob("*.jsonl"):
        text = path.read_bytes()
        for _, line in journal_lines.decode_all(text[: text.rfind(b"\n") + 1], 0, lambda _: None):
            come.append((str(line.__struct_config__.tag), line.id))
            if isinstance(line, journal_lines.CallFinished):
                come.append(("sessions.updated", line.session_id))
    return come


def test_a_killed_session_is_closed_by_an_event_once_it_is_on_record(paths: Paths) -> None:
    journal = opened(paths, created(), [started(1, 1)])
    _, position = since(paths, START)
    journal.close()  # gives up the lock, as a death does
    assert since(paths, position)[0] == []
    with journal.path.open("ab") as file:
        file.write(journal_lines.encode(closed()))
    assert told(since(paths, position)[0]) == [("sessions.closed", CLAUDE)]


def test_read_only_records_are_followed(paths: Paths) -> None:
    journal = opened(paths, created())
    sqlite.remove(paths.index)
    paths.index.mkdir()  # no index can be on disk
    with LocalRecords(paths) as records:
        stream = records.events()
        write(journal, started(1, 1))
        records.refreshed()
        assert told(stream.read()) == [("calls.started", call_id(1))]
    journal.close()
