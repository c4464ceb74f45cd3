"""What lines change: the same, however many of them are taken at once."""

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcpctl.base.paths import Paths
from mcpctl.store import index, journal_lines, projection, schema, sqlite
from mcpctl.store.journal_lines import AnyLine, encode
from mcpctl.store.projection import Changes
from tests.recorded import (
    CLAUDE,
    call,
    call_id,
    closed,
    created,
    finished,
    opened,
    searched,
    session,
    started,
    was_read,
)

STATUS = [name for name, _ in schema.columns()["calls"]].index("status")
TABLES = ("sessions", "calls", "discoveries", "usage", "reads")
NOISE = (
    b'{"type":"later.finished","v":1}\n',
    b'{"type":"calls.started","id":5}\n',
    b"\n",
    b'{"type":"calls.fin\n',
    b"\xff\n",
)


def rows(paths: Paths) -> list[list[tuple[object, ...]]]:
    with closing(sqlite3.connect(index.on_disk(paths))) as db:
        return [db.execute(f"SELECT * FROM {table} ORDER BY 1, 2").fetchall() for table in TABLES]


def batches(*lines: AnyLine) -> list[Changes]:
    return list(projection.batches(enumerate(lines)))


def test_a_call_that_begins_and_ends_in_a_batch_is_one_row() -> None:
    (changes,) = batches(created(), *call(1, 1), *call(2, 2), searched(3, 3))
    assert [(each.position, each.end is not None) for each in changes.calls.values()] == [(1, True), (3, True)]
    assert (list(changes.sessions), changes.ended, changes.closed, len(changes.discoveries)) == ([CLAUDE], [], [], 1)


def test_the_end_of_an_earlier_call_stays_an_end() -> None:
    (changes,) = batches(finished(1, 1), started(2, 2))
    assert [line.id for line in changes.ended] == [call_id(1)]
    assert [each.end for each in changes.calls.values()] == [None]


def test_of_lines_that_were_written_twice_the_first_counts() -> None:
    (changes,) = batches(created(), *call(1, 1), *call(1, 1, status="failed"), searched(1, 2), searched(1, 3))
    (only,) = changes.calls.values()
    assert (only.position, only.end and only.end.status) == (1, "ok")
    assert [position for position, _ in changes.discoveries.values()] == [5]


def test_a_question_on_record_changes_no_table() -> None:
    asked = journal_lines.QuestionAsked(
        timestamp="2100-01-01T12:00:30.000Z", id="q", session_id=CLAUDE, call_id=call_id(1), server="weather",
        method="elicitation/create", message="Sure?", outcome="decline", waited_ms=5,
    )  # fmt: skip
    lines = [encode(line) for line in (created(), *call(1, 1), asked, *call(2, 2))]
    decoded = list(journal_lines.decode_all(b"".join(lines), 0, lambda place: pytest.fail(f"unreadable at {place}")))
    assert asked in [line for _, line in decoded]
    (changes,) = projection.batches(decoded)
    assert list(changes.calls) == [call_id(1), call_id(2)]


def test_what_interrupts_calls_comes_after_the_batch_that_has_them() -> None:
    first, second = batches(created(), started(1, 1), closed())
    assert (list(first.calls), first.closed) == ([call_id(1)], [])
    assert (second.calls, [line.id for line in second.closed]) == ({}, [CLAUDE])


def test_a_session_that_is_told_late_has_nothing_of_what_came_before_it() -> None:
    first, second = batches(started(1, 1), created())
    assert (list(first.calls), list(second.sessions)) == ([call_id(1)], [CLAUDE])


def test_a_call_whose_beginning_was_read_before_and_written_again_ends(paths: Paths) -> None:
    journal = opened(paths, created(), [started(1, 1)])
    before = rows(paths)
    journal.append(b"".join(map(journal_lines.encode, [started(1, 1), *call(2, 2), finished(1, 3)])))
    grown = rows(paths)
    journal.close()
    assert grown != before
    assert [row[STATUS] for row in grown[1]] == ["ok", "ok"]
    sqlite.remove(paths.index)
    assert rows(paths) == grown


def test_a_row_has_a_value_for_each_column() -> None:
    (changes,) = batches(created(), *call(1, 1), started(2, 2), searched(3, 3))
    ended, running = map(projection.call_row, changes.calls.values())
    assert dict(zip(projection.CALL, running, strict=True))["total_tokens"] == 5
    assert dict(zip(projection.CALL, ended, strict=True))["total_tokens"] == 17
    (found,) = map(projection.DISCOVERY.placed, changes.discoveries.values())
    assert len(found) == len(projection.DISCOVERY.names)
    (reading,) = map(projection.READ.placed, batches(was_read(1, 1))[0].reads.values())
    assert len(reading) == len(projection.READ.names)
    session = projection.SESSION.row(changes.sessions[CLAUDE], "x.jsonl")
    assert len(session) == len(projection.SESSION.names)


def one_line(number: int, minute: int) -> st.SearchStrategy[bytes]:
    """A line of one of few calls, searches and sessions, so that many have the id of another."""
    later = "server" if number % 2 else "weather"
    lines = (
        started(number, minute, server=later),
        started(number, minute, parent_id=call_id(1)),
        started(number, minute, parent_id=call_id(1), via="replay"),
        finished(number, minute),
        finished(number, minute, status="tool_error", output_tokens=7),
        searched(number, minute),
        was_read(number, minute),
        closed(minute=minute),
        created(minute=minute),
    )
    return st.sampled_from([*(encode(line) for line in lines), *NOISE])


journals = st.lists(
    st.tuples(st.integers(1, 4), st.integers(1, 50)).flatmap(lambda given: one_line(*given)), min_size=1, max_size=30
)


@settings(suppress_health_check=list(HealthCheck))
@given(
    lines=journals,
    cuts=st.sets(st.integers(1, 4000), max_size=4),
    chunk=st.sampled_from([1, 300, 1 << 20]),
    is_headless=st.booleans(),
)
def test_however_many_lines_are_taken_at_once_the_rows_are_the_same(
    paths: Paths, monkeypatch: pytest.MonkeyPatch, lines: list[bytes], cuts: set[int], chunk: int, is_headless: bool
) -> None:
    for file in paths.sessions.glob("*"):
        file.unlink()
    sqlite.remove(paths.index)
    journal = opened(paths, created())
    if is_headless:
        os.truncate(journal.path, 0)
    text = b"".join(lines)
    # A journal that grows and is read at places that may be in the middle of a line.
    for start, end in pairwise([0, *sorted(cut for cut in cuts if cut < len(text)), len(text)]):
        journal.append(text[start:end])
        with monkeypatch.context() as patched:
            patched.setattr(index, "_CHUNK", chunk)
            grown = rows(paths)
    sqlite.remove(paths.index)
    assert rows(paths) == grown
    journal.close()


@pytest.mark.parametrize("chunk", [64, 700, 1 << 20])
def test_a_torn_line_costs_no_other(
    paths: Paths, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], chunk: int
) -> None:
    whole = [encode(line) for line in (*call(1, 1), *call(2, 2), *call(3, 3))]
    session(paths, rest=[])
    (path,) = paths.sessions.glob("*.jsonl")
    first = path.stat().st_size
    torn = encode(finished(9, 9))[:50] + b"\n"
    with path.open("ab") as file:
        file.write(b"".join([*whole[:3], torn, *whole[3:], torn[:30]]))
    monkeypatch.setattr(index, "_CHUNK", chunk)
    _, calls, *_ = rows(paths)
    assert [row[0] for row in calls] == [call_id(1), call_id(2), call_id(3)]
    place = first + len(b"".join(whole[:3]))
    # The last one may be going to be whole.
    assert capsys.readouterr().err == f"mcpctl: {path.name}: the line at byte {place} cannot be read; skipped\n"


def places(lines: Sequence[bytes]) -> Iterator[int]:
    position = 0
    for line in lines:
        yield position
        position += len(line)


def test_each_line_has_the_byte_at_which_it_begins() -> None:
    lines = [encode(started(1, 1)), NOISE[0], encode(finished(1, 1)), NOISE[1], NOISE[2], NOISE[4], encode(closed())]
    skipped: list[int] = []
    taken = list(journal_lines.decode_all(b"".join(lines) + b"{half", 100, skipped.append))
    expected = [100 + place for place in places(lines)]
    assert [position for position, _ in taken] == [expected[0], expected[2], expected[6]]
    assert skipped == [expected[3], expected[5]]


def test_text_that_is_not_utf_8_inside_a_line_is_a_line_that_cannot_be_read() -> None:
    text = encode(finished(1, 1)).replace(b"cloudy", b"clou\xffdy")
    skipped: list[int] = []
    assert list(journal_lines.decode_all(text, 0, skipped.append)) == []
    assert skipped == [0]
