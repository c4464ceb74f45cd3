"""Records as an object, here and in PostgreSQL: lists, totals, names and a glance."""

import sqlite3

import pytest

from mcpctl.base.errors import NotFound, WrongUsage
from mcpctl.base.paths import Paths
from mcpctl.store import index, records
from mcpctl.store.filters import CallFilter
from mcpctl.store.records import LocalRecords
from tests.postgres import Recorded
from tests.recorded import (
    CLAUDE,
    CURSOR,
    at,
    call,
    call_id,
    created,
    opened,
    raw,
    searched,
    session,
    started,
    two_sessions,
)

SEARCH = "10d15c00-0000-4000-8000-000000000001"


# ---- lists and single things


def test_lists_and_single_things_are_of_the_same_records(paths: Paths, recorded: Recorded) -> None:
    two_sessions(paths)
    with recorded(paths) as all_of_it:
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
    everything = LocalRecords(paths)
    for number in (1, 2):
        session(paths, f"{number}e551015-0000-4000-8000-000000000000", number)
        with everything:
            assert everything.sessions().count() == number


def test_a_glance_makes_nothing_and_reads_what_lies_there(paths: Paths) -> None:
    two_sessions(paths)
    with pytest.raises(sqlite3.Error), LocalRecords.as_they_lie(paths):
        pass
    assert not paths.index.exists()
    index.catch_up_on_disk(paths)
    session(paths, "3e551015-0000-4000-8000-000000000000", 30)
    with LocalRecords.as_they_lie(paths) as seen:
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
def test_names_are_those_on_record(paths: Paths, recorded: Recorded, noun: str, names: set[str]) -> None:
    two_sessions(paths)
    session(paths, "3e551015-0000-4000-8000-000000000000", 30, [searched(3, 31, project="acme")])
    with recorded(paths) as everything:
        assert set(everything.names(noun)) == names


# ---- totals


def test_totals_are_of_all_calls_or_of_each_group_the_most_called_first(paths: Paths, recorded: Recorded) -> None:
    two_sessions(paths)
    killed = "3e551015-0000-4000-8000-000000000000"
    opened(paths, created(killed, 30), [started(7, 31, killed)]).close()
    with recorded(paths) as everything:
        (all_of_them,) = everything.totals()
        assert all_of_them == {
            "calls": 7,
            "done": 3,
            "errors": 3,
            "refused": 1,
            "error_percent": 50.0,
            "failed": 4,
            "denied": 1,
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


def test_totals_are_of_what_was_asked_for(paths: Paths, recorded: Recorded) -> None:
    two_sessions(paths)
    with recorded(paths) as everything:
        assert everything.totals(criteria=CallFilter(sessions=(CURSOR,)))[0]["calls"] == 3
        assert everything.totals(criteria=CallFilter(servers=("notes",), since=at(12)))[0]["calls"] == 1
        assert everything.totals("tool", criteria=CallFilter(projects=("acme",))) == []
        (nothing,) = everything.totals(criteria=CallFilter(projects=("acme",)))
        assert (nothing["calls"], nothing["failed"], nothing["total_tokens"]) == (0, 0, None)
        with pytest.raises(WrongUsage, match="response"):
            everything.totals("response")


def test_rounds_of_one_call_are_one_in_totals(paths: Paths, recorded: Recorded) -> None:
    session(paths, rest=[*call(1, 1, status="input_required"), *call(2, 2, parent_id=call_id(1))])
    with recorded(paths) as everything:
        (row,) = everything.totals("tool")
        assert (row["calls"], row["failed"], row["output_tokens"]) == (1, 0, 24)


def test_a_call_in_rounds_counts_where_it_ended(paths: Paths, recorded: Recorded) -> None:
    text = raw({"content": [{"type": "text", "text": "snow"}]})
    rounds = [
        *call(1, 1, status="input_required"),
        *call(2, 2, status="input_required", parent_id=call_id(1)),
        *call(3, 3, status="tool_error", parent_id=call_id(2), response=text),
        *call(4, 4, status="input_required"),
        *call(5, 5, status="input_required"),
        *call(6, 6, via="replay", parent_id=call_id(5)),
    ]
    session(paths, rest=rounds)
    with recorded(paths) as everything:
        counted = [(row["status"], row["calls"], row["failed"]) for row in everything.totals("status")]
        assert counted == [("input_required", 2, 0), ("ok", 1, 0), ("tool_error", 1, 1)]
        for wanted in (
            CallFilter(statuses=("tool_error",)),
            CallFilter(grep="SNOW"),
            CallFilter(until=at(4), since=at(3)),
        ):
            (row,) = everything.totals(criteria=wanted)
            assert (row["calls"], row["failed"]) == (1, 1)
