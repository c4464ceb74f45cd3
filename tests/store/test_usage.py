"""How much tools were used: the calls on record, counted as they come and go."""

import sqlite3
from contextlib import closing
from itertools import permutations
from pathlib import Path

import pytest

from mcpctl.base.fields import CALL_STATUSES
from mcpctl.base.models import Usage
from mcpctl.base.paths import Paths
from mcpctl.store import index, journal_lines, sqlite
from mcpctl.store.records import LocalRecords
from tests.conftest import Mcpctl
from tests.recorded import CLAUDE, CURSOR, at, call, call_id, closed, created, opened, raw, session, started

FORECAST, ADD = ("weather", "get_forecast"), ("notes", "add_note")
SESSIONS = [f"{number}e551015-0000-4000-8000-000000000000" for number in range(3)]


def used(paths: Paths) -> Usage:
    with LocalRecords(paths) as records:
        return records.usage()


def counted(paths: Paths) -> Usage:
    """What the calls on record say themselves."""
    with index.opened(paths) as db:
        rows = db.execute("SELECT server, tool, count(*), max(started_at) FROM calls GROUP BY server, tool")
        return {(server, tool): (calls, last) for server, tool, calls, last in rows}


def three_sessions(paths: Paths) -> list[Path]:
    """Their journals. One tool was used in all of them, one in two, one in one; the newest call is not in the last."""
    notes = {"server": "notes", "tool": "add_note"}
    first, second, third = SESSIONS
    calls = [
        [*call("a1", 1, first), *call("a2", 9, first, **notes)],
        [*call("b1", 7, second), *call("b2", 2, second), *call("b3", 3, second, **notes)],
        [*call("c1", 5, third), *call("c2", 6, third, server="notes", tool="list_notes")],
    ]
    return [session(paths, id_, 0, found).path for id_, found in zip(SESSIONS, calls, strict=True)]


def test_nothing_on_record_is_no_usage(paths: Paths) -> None:
    assert used(paths) == {}


def test_a_call_counts_however_it_ended_and_whoever_made_it(paths: Paths) -> None:
    ended = [status for status in CALL_STATUSES if status != "running"]
    made = [call(f"{number}", number, status=status) for number, status in enumerate(ended)]
    by_hand = call("by-hand", 8, via="cli")
    session(paths, rest=[*(line for lines_ in made for line in lines_), *by_hand, started("open", 9)])
    assert used(paths) == {FORECAST: (len(ended) + 2, at(9))}


def rounds(paths: Paths) -> Path:
    """A call whose tool asked for input twice, and one that never was answered."""
    return session(
        paths,
        rest=[
            *call(1, 1, status="input_required"),
            *call(2, 2, status="input_required", parent_id=call_id(1)),
            *call(3, 3, status="failed", parent_id=call_id(2)),
            *call(4, 4, status="input_required"),
        ],
    ).path


def test_the_rounds_of_a_call_count_once_and_the_last_is_when_it_was_used(mcpctl: Mcpctl, paths: Paths) -> None:
    rounds(paths)
    assert used(paths) == {FORECAST: (2, at(4))}
    (row,) = mcpctl("sessions", "ls", "--json").json
    assert (row["tool_call_count"], row["total_tokens"]) == (2, 4 * 17)
    (tool,) = mcpctl("sessions", "show", "last", "--json").json["tools"]
    assert (tool["calls"], tool["failed"]) == (2, 1)
    assert mcpctl("calls", "ls", "--count").out == "4\n"  # each round has a row of its own


def test_a_replay_is_a_call_of_its_own(mcpctl: Mcpctl, paths: Paths) -> None:
    session(paths, rest=[*call(1, 1), *call(2, 2, via="replay", parent_id=call_id(1))])
    other = session(paths, CURSOR, 3, [*call(3, 4, CURSOR)]).path
    assert used(paths) == {FORECAST: (3, at(4))}
    other.unlink()
    assert used(paths) == {FORECAST: (2, at(2))}
    (row,) = mcpctl("sessions", "ls", "--json").json
    assert row["tool_call_count"] == 2
    (tool,) = mcpctl("sessions", "show", "last", "--json").json["tools"]
    assert tool["calls"] == 2


def test_the_rounds_that_are_left_count_as_they_did(paths: Paths) -> None:
    rounds(paths)
    evicted = session(paths, CURSOR, 5, [*call(5, 6, CURSOR)]).path
    assert used(paths) == {FORECAST: (3, at(6))}
    evicted.unlink()
    assert used(paths) == {FORECAST: (2, at(4))}


def test_the_last_use_is_the_newest_start_in_whatever_order_they_are_on_record(paths: Paths) -> None:
    session(paths, rest=[started(1, 5), started(2, 8), started(3, 2)])
    assert used(paths) == {FORECAST: (3, at(8))}


def test_calls_that_were_written_twice_count_once(paths: Paths) -> None:
    session(paths, rest=[*call(1, 1), *call(1, 1)])
    assert used(paths) == {FORECAST: (1, at(1))}


def test_it_grows_with_the_journal(paths: Paths) -> None:
    journal = opened(paths, created(), call(1, 1))
    assert used(paths) == {FORECAST: (1, at(1))}
    journal.append(b"".join(map(journal_lines.encode, [*call(2, 2), *call(3, 3, server="notes", tool="add_note")])))
    assert used(paths) == {FORECAST: (2, at(2)), ADD: (1, at(3))}
    journal.close(journal_lines.encode(closed()))


@pytest.mark.parametrize("order", list(permutations(range(3))), ids=str)
def test_an_evicted_session_takes_its_calls_out_and_no_others(paths: Paths, order: tuple[int, ...]) -> None:
    journals = three_sessions(paths)
    assert used(paths) == counted(paths)
    for number in order:
        journals[number].unlink()
        assert used(paths) == counted(paths)
    assert used(paths) == {}


def test_sessions_evicted_at_once_count_as_one_after_the_other(paths: Paths) -> None:
    first, _, third = three_sessions(paths)
    used(paths)
    first.unlink()
    third.unlink()
    assert used(paths) == {FORECAST: (2, at(7)), ADD: (1, at(3))}


def test_an_index_made_anew_says_the_same(paths: Paths) -> None:
    three_sessions(paths)[1].unlink()
    session(paths, CURSOR, 20, call("d", 21, CURSOR))
    grown = used(paths)
    sqlite.remove(paths.index)
    assert used(paths) == grown


def test_where_no_index_can_be_the_journals_are_counted_in_memory(paths: Paths) -> None:
    three_sessions(paths)
    on_disk = used(paths)
    sqlite.remove(paths.index)
    paths.index.mkdir()
    assert used(paths) == on_disk


def test_a_name_that_sql_might_take_for_its_own_is_a_name(paths: Paths) -> None:
    odd = "'; DROP TABLE usage; --"
    session(paths, CLAUDE, 0, call(1, 1, server=odd, tool='"', arguments=raw({})))
    assert used(paths) == {(odd, '"'): (1, at(1))}


def test_it_is_a_table_for_sql_of_ones_own(paths: Paths) -> None:
    three_sessions(paths)
    with closing(sqlite3.connect(index.on_disk(paths))) as db:
        assert db.execute("SELECT calls, last_used FROM usage WHERE tool = 'add_note'").fetchall() == [(2, at(9))]
