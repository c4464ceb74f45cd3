"""Records as an object: totals, names, a glance, and what is new since a position."""

import json
import sqlite3
from collections.abc import Sequence
from itertools import islice

import pytest

from mcpctl.errors import NotFound, WrongUsage
from mcpctl.paths import Paths
from mcpctl.store import changes, index, journal_lines, records
from mcpctl.store.changes import Change, Position
from mcpctl.store.filters import CallFilter
from mcpctl.store.journal import Journal
from mcpctl.store.journal_lines import AnyLine
from mcpctl.store.records import Records
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


def write(journal: Journal, *lines: AnyLine) -> None:
    journal.append(b"".join(map(journal_lines.encode, lines)))


def told(things: Sequence[Change]) -> list[tuple[str, str, str | None]]:
    return [(each.kind, each.row["id"], each.row.get("status")) for each in things]


SEARCH = "10d15c00-0000-4000-8000-000000000001"


# ---- lists and single things


def test_lists_and_single_things_are_of_the_same_records(paths: Paths) -> None:
    two_sessions(paths)
    with Records(paths) as all_of_it:
        assert [row["id"] for row in all_of_it.sessions().rows(None, 0)] == [CURSOR, CLAUDE]
        assert [row["id"] for row in all_of_it.calls(CallFilter(servers=("notes",))).rows(2, 0)] == [
            call_id(6),
            call_id(4),
        ]
        assert [row["id"] for row in all_of_it.discoveries(CallFilter(sessions=(CLAUDE,))).rows(None, 0)] == [SEARCH]
        assert all_of_it.session_id("last") == CURSOR
        assert all_of_it.call("last")["id"] == call_id(6)
        assert all_of_it.call(SEARCH[:9])["id"] == SEARCH
        assert all_of_it.session("last")["calls"].count() == 3
        with pytest.raises(NotFound):
            all_of_it.call("ffff")
        with pytest.raises(NotFound):
            all_of_it.session("ffff")


def test_records_can_be_entered_again_and_see_what_is_new(paths: Paths) -> None:
    everything = Records(paths)
    for number in (1, 2):
        session(paths, f"{number}e551015-0000-4000-8000-000000000000", number)
        with everything:
            assert everything.sessions().count() == number


def test_a_glance_makes_nothing_and_reads_what_lies_there(paths: Paths) -> None:
    two_sessions(paths)
    with pytest.raises(sqlite3.Error), Records.as_they_lie(paths):
        pass
    assert not paths.index.exists()
    index.catch_up_on_disk(paths)
    session(paths, "3e551015-0000-4000-8000-000000000000", 30)
    with Records.as_they_lie(paths) as seen:
        assert [row["id"] for row in seen.newest_sessions()] == [CURSOR, CLAUDE]
        assert [row["id"] for row in seen.newest_calls("6")] == [call_id(6)]
        assert [tuple(row) for row in seen.newest_calls(at_most=1)] == [
            ("id", "server", "tool", "status", "started_at")
        ]


def test_asking_how_much_tools_were_used_makes_no_index(paths: Paths) -> None:
    assert records.recorded_usage(paths) == {}
    assert not paths.data.exists()
    two_sessions(paths)
    assert records.recorded_usage(paths)["weather", "get_forecast"] == (2, at(4))


@pytest.mark.parametrize(
    ("noun", "names"),
    [
        ("server", {"notes", "weather"}),
        ("client", {"claude-code", "cursor"}),
        ("project", {"acme"}),
        (
            "tool",
            {
                "notes:add_note",
                "notes:delete_note",
                "notes:list_notes",
                "weather:convert_temperature",
                "weather:get_forecast",
            },
        ),
    ],
)
def test_names_are_those_on_record(paths: Paths, noun: str, names: set[str]) -> None:
    two_sessions(paths)
    session(paths, "3e551015-0000-4000-8000-000000000000", 30, [searched(3, 31, project="acme")])
    with Records(paths) as everything:
        assert set(everything.names(noun)) == names


# ---- totals


def test_totals_are_of_all_calls_or_of_each_group_the_most_called_first(paths: Paths) -> None:
    two_sessions(paths)
    killed = "3e551015-0000-4000-8000-000000000000"
    opened(paths, created(killed, 30), [started(7, 31, killed)]).close()
    with Records(paths) as everything:
        (all_of_them,) = everything.totals()
        assert all_of_them == {
            "calls": 7,
            "failed": 4,
            "input_tokens": 35,
            "output_tokens": 72,
            "total_tokens": 107,
            "duration_ms": 52,
            "p50_ms": 12,
            "p95_ms": 12,
            "longest_ms": 12,
            "last_used": at(31),
        }
        by_server = [(row["server"], row["calls"], row["failed"]) for row in everything.totals("server")]
        assert by_server == [("weather", 4, 3), ("notes", 3, 1)]
        by_status = {row["status"]: row["calls"] for row in everything.totals("status")}
        # The process of the last one is gone.
        assert by_status == {"ok": 3, "denied": 1, "failed": 1, "tool_error": 1, "interrupted": 1}
        both = [(row["server"], row["tool"]) for row in everything.totals("server", "tool")]
        assert both[0] == ("weather", "get_forecast")
        assert len(both) == 5


def test_totals_are_of_what_was_asked_for(paths: Paths) -> None:
    two_sessions(paths)
    with Records(paths) as everything:
        assert everything.totals(wanted=CallFilter(sessions=(CURSOR,)))[0]["calls"] == 3
        assert everything.totals(wanted=CallFilter(servers=("notes",), since=at(12)))[0]["calls"] == 1
        assert everything.totals("tool", wanted=CallFilter(projects=("acme",))) == []
        (nothing,) = everything.totals(wanted=CallFilter(projects=("acme",)))
        assert (nothing["calls"], nothing["failed"], nothing["total_tokens"]) == (0, 0, None)
        with pytest.raises(WrongUsage, match="response"):
            everything.totals("response")


def test_rounds_of_one_call_are_one_in_totals(paths: Paths) -> None:
    session(paths, rest=[*call(1, 1, status="input_required"), *call(2, 2, parent_id=call_id(1))])
    with Records(paths) as everything:
        (row,) = everything.totals("tool")
        assert (row["calls"], row["failed"], row["output_tokens"]) == (1, 0, 24)


# ---- what is new


def test_changes_are_each_thing_once_as_it_is_by_then(paths: Paths) -> None:
    journal = opened(paths, created(), [*call(1, 1)])
    with Records(paths) as live:
        position = live.position()
        assert live.changes(position) == ([], position)
        write(journal, started(2, 2), searched(1, 3))
        news, position = live.changes(position)
        assert told(news) == [
            ("session", CLAUDE, "active"),
            ("call", call_id(2), "running"),
            ("discovery", SEARCH, None),
        ]
        assert news[0].row["tool_call_count"] == 2
        write(journal, started(3, 4), finished(2, 5))
        news, position = live.changes(position)
        assert told(news) == [
            ("session", CLAUDE, "active"),
            ("call", call_id(3), "running"),
            ("call", call_id(2), "ok"),
        ]
        assert news[2].row["response"] is not None
        journal.close(journal_lines.encode(closed()))
        news, position = live.changes(position)
        assert told(news) == [("session", CLAUDE, "closed")]
        assert live.changes(position) == ([], position)


def test_the_beginning_is_everything(paths: Paths) -> None:
    two_sessions(paths)
    with Records(paths) as everything:
        news, position = everything.changes({})
        assert len(news) == 2 + 6 + 2
        assert everything.changes(position) == ([], position)


def test_a_position_survives_as_json(paths: Paths) -> None:
    journal = opened(paths, created())
    with Records(paths) as live:
        position = json.loads(json.dumps(live.position()))
    write(journal, *call(1, 1))
    journal.close()
    with Records(paths) as live:
        news, _ = live.changes(position)
        assert [each.row["id"] for each in news] == [CLAUDE, call_id(1)]


def test_half_a_line_is_no_news_until_it_is_whole(paths: Paths) -> None:
    journal = opened(paths, created())
    with Records(paths) as live:
        position = live.position()
        text = journal_lines.encode(started(1, 1))
        journal.append(text[:40])
        assert live.changes(position) == ([], position)
        journal.append(text[40:])
        news, _ = live.changes(position)
        assert [each.kind for each in news] == ["session", "call"]
    journal.close()


@pytest.mark.parametrize("at_once", [1, 500, 1 << 20])
def test_much_comes_in_several_steps_and_nothing_is_left_out(
    paths: Paths, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    two_sessions(paths)
    monkeypatch.setattr(changes, "_AT_ONCE", at_once)
    seen: dict[str, str | None] = {}
    steps = 0
    with Records(paths) as everything:
        position: Position = {}
        while True:
            news, position = everything.changes(position)
            if not news:
                break
            steps += 1
            seen.update({each.row["id"]: each.row.get("status") for each in news})
        assert position == everything.position()
    assert len(seen) == 10
    assert (steps == 1) == (at_once > 10_000)


def test_an_evicted_journal_is_no_news_and_another_in_its_place_is(paths: Paths) -> None:
    first = session(paths, rest=call(1, 1)).path
    with Records(paths) as everything:
        position = everything.position()
        first.unlink()
        news, position = everything.changes(position)
        assert (news, position) == ([], {})
        session(paths, CURSOR, 5, call(2, 6, CURSOR)).path.rename(first)
        news, position = everything.changes({first.name: 1 << 20})
        assert [each.row["id"] for each in news] == [CURSOR, call_id(2)]


def test_lines_that_cannot_be_read_or_are_of_a_later_type_are_no_news(paths: Paths) -> None:
    journal = opened(paths, created())
    with Records(paths) as live:
        position = live.position()
        journal.append(b'{"type":"reads.finished","v":1}\n{broken\n')
        news, position = live.changes(position)
        assert news == []
        assert position == live.position()
    journal.close()


def test_following_pauses_only_when_nothing_is_new(paths: Paths) -> None:
    journal = opened(paths, created())
    pauses: list[int] = []

    def pause() -> None:
        pauses.append(1)
        if len(pauses) == 3:
            raise TimeoutError
        write(journal, *call(len(pauses), len(pauses)))

    with Records(paths) as live:
        followed = live.follow(live.position(), pause)
        first = list(islice(followed, 2))
        assert len(pauses) == 1
        second = list(islice(followed, 2))
        assert len(pauses) == 2
        assert [each.row["id"] for each in (*first, *second)] == [CLAUDE, call_id(1), CLAUDE, call_id(2)]
        with pytest.raises(TimeoutError):
            next(followed)
    journal.close()
