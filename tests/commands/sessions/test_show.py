"""`mcpctl sessions show`"""

import re
import tracemalloc

import pytest

from mcpctl.base.fields import CALL_FIELDS, READ_FIELDS, SESSION_FIELDS
from mcpctl.base.paths import Paths
from mcpctl.output import json_text
from mcpctl.search import evaluate
from mcpctl.store.records import LocalRecords
from tests.commands.approvals import waiting
from tests.conftest import Mcpctl
from tests.recorded import (
    CLAUDE,
    CURSOR,
    at,
    call,
    call_id,
    created,
    opened,
    raw,
    session,
    started,
    two_sessions,
    was_read,
)


@pytest.mark.parametrize("ref", [CURSOR, CURSOR.upper(), CURSOR[:8], "2", "last"])
def test_a_session_is_named_by_its_id_its_beginning_or_last(mcpctl: Mcpctl, paths: Paths, ref: str) -> None:
    two_sessions(paths)
    assert mcpctl("sessions", "show", ref, "--json").json["id"] == CURSOR


@pytest.mark.usefixtures("person")
def test_last_is_no_session_in_which_something_was_only_answered(mcpctl: Mcpctl, paths: Paths) -> None:
    two_sessions(paths)
    assert mcpctl("approvals", "allow", waiting.opened(paths).id).code == 0
    assert mcpctl("sessions", "show", "last", "--json").json["id"] == CURSOR
    assert mcpctl("sessions", "ls", "--count").out == "3\n"


def test_an_unknown_session_is_reported_with_the_command_that_lists_them(mcpctl: Mcpctl, paths: Paths) -> None:
    two_sessions(paths)
    ran = mcpctl("sessions", "show", "01J9X")
    assert ran.code == 3
    assert ran.err == "mcpctl: no session '01J9X'\nhint: list them with: mcpctl sessions ls\n"


def test_without_sessions_there_is_no_last_one(mcpctl: Mcpctl) -> None:
    ran = mcpctl("sessions", "show", "last", "--json")
    assert (ran.code, ran.error["code"]) == (3, "session_not_found")


def test_an_ambiguous_beginning_is_refused_with_what_it_could_be(mcpctl: Mcpctl, paths: Paths) -> None:
    first, second = CLAUDE, CLAUDE[:-1] + "9"
    session(paths, first, 0)
    session(paths, second, 1)
    ran = mcpctl("sessions", "show", CLAUDE[:-1])
    assert ran.code == 2
    assert first in ran.err
    assert second in ran.err


def test_calls_are_there_oldest_first_without_their_responses(mcpctl: Mcpctl, paths: Paths) -> None:
    two_sessions(paths)
    row = mcpctl("sessions", "show", CURSOR, "--json").json
    assert tuple(row) == (*SESSION_FIELDS, "tools", "calls", "reads", "decisions")
    assert [call["id"] for call in row["calls"]] == [call_id(4), call_id(5), call_id(6)]
    assert set(row["calls"][0]) == set(CALL_FIELDS) - {"response", "session_id"}


def test_what_was_read_is_there_without_what_it_was(mcpctl: Mcpctl, paths: Paths) -> None:
    failed = was_read(2, 4, kind="prompt", server=None, name="x\x1b[31m", status="failed", error=raw({"code": "x"}))
    session(paths, CLAUDE, 0, [*call(1, 1), was_read(1, 3), was_read(1, 3), failed])
    row = mcpctl("sessions", "show", "last", "--json").json
    first, second = row["reads"]
    assert set(first) == set(READ_FIELDS) - {"session_id"}
    assert (first["kind"], first["server"], first["name"], first["error"]) == ("resource", "notes", "note://1", None)
    assert (second["status"], second["error"]) == ("failed", {"code": "x"})
    assert (row["tool_call_count"], row["last_activity"]) == (1, at(4))
    assert [found["id"] for found in mcpctl("calls", "ls", "--json").json] == [call_id(1)]
    shown = mcpctl("sessions", "show", "last").out
    assert f"  {first['id']}  {first['started_at']}  notes  resource note://1  ok  7 ms\n" in shown
    assert "\x1b" not in shown


def test_tools_are_counted_most_called_first(mcpctl: Mcpctl, paths: Paths) -> None:
    two_sessions(paths)
    forecast, note = mcpctl("sessions", "show", CLAUDE, "--json").json["tools"]
    assert forecast == {
        "server": "weather",
        "tool": "get_forecast",
        "calls": 2,
        "done": 1,
        "errors": 1,
        "refused": 0,
        "failed": 1,
        "denied": 0,
        "total_tokens": 34,
        "duration_ms": 24,
    }
    assert (note["tool"], note["calls"], note["failed"]) == ("add_note", 1, 0)


def test_a_call_that_was_interrupted_by_a_kill_counts_as_failed(mcpctl: Mcpctl, paths: Paths) -> None:
    opened(paths, created(), [started(1, 1)]).close()
    row = mcpctl("sessions", "show", "last", "--json").json
    assert (row["calls"][0]["status"], row["tools"][0]["failed"]) == ("interrupted", 1)


def test_a_person_reads_fields_then_tools_then_calls(mcpctl: Mcpctl, paths: Paths) -> None:
    two_sessions(paths)
    out = mcpctl("sessions", "show", CLAUDE).out
    fields, tools, calls = out.split("\n\n")
    assert fields.startswith(f"id:               {CLAUDE}\nclient_name:      claude-code\n")
    assert tools.splitlines()[:2] == ["tools called:", "  weather:get_forecast  2 calls, 1 failed, 24 ms"]
    assert [line.split()[0] for line in calls.splitlines()[1:]] == [call_id(1), call_id(2), call_id(3)]


def test_responses_are_not_read_to_show_a_session(paths: Paths) -> None:
    two_sessions(paths)
    with LocalRecords(paths) as records:
        statements = traced(records)
        calls = records.session(CURSOR)["calls"]
        assert [row["id"] for row in calls.rows(None, 0)] == [call_id(4), call_id(5), call_id(6)]
    assert [sql for sql in statements if re.search(r"\bresponse\b", sql)] == []


def test_responses_are_not_read_to_learn_which_searches_were_followed(paths: Paths) -> None:
    two_sessions(paths)
    with LocalRecords(paths) as records:
        statements = traced(records)
        (label,) = evaluate.from_records(records, ["weather:get_forecast"])
    assert label.expect == (("weather:get_forecast",),)
    assert [sql for sql in statements if re.search(r"\bresponse\b", sql)] == []


def traced(records: LocalRecords) -> list[str]:
    """The SQL that is executed from now on."""
    statements: list[str] = []
    records._db.set_trace_callback(statements.append)
    return statements


@pytest.mark.slow
def test_calls_are_read_as_they_are_printed(paths: Paths) -> None:
    lines = [line for number in range(2000) for line in call(f"{number:05}", number / 100)]
    session(paths, rest=lines)
    with LocalRecords(paths) as records:
        pieces = json_text.pieces(records.session("last"))
        before = next(piece for piece in pieces if piece.startswith(',"calls"'))
        tracemalloc.start()
        size = sum(map(len, pieces))
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert before == ',"calls":'
    assert peak < size / 4
