"""`mcpctl calls ls`"""

import time
from pathlib import Path

import pytest

from mcpctl.base.paths import Paths
from mcpctl.store import clock
from mcpctl.store.filters import CallFilter
from mcpctl.store.records import LocalRecords
from tests.configured import DEMO, demo_tools
from tests.conftest import Mcpctl
from tests.recorded import (
    CLAUDE,
    CURSOR,
    at,
    call,
    call_id,
    created,
    hints,
    opened,
    raw,
    searched,
    session,
    started,
    two_sessions,
)
from tests.table import for_each


def numbers(mcpctl: Mcpctl, *options: str) -> list[int]:
    """The calls that are listed, each by the number it has in the fixed data."""
    return [int(id_[0]) for id_ in mcpctl("calls", "ls", "--fields", "id", *options).out.split()]


def test_the_newest_call_is_first(mcpctl: Mcpctl, paths: Paths) -> None:
    two_sessions(paths)
    assert numbers(mcpctl) == [6, 5, 4, 3, 2, 1]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--session", CLAUDE], [3, 2, 1]),
        (["--session", "1c1a"], [3, 2, 1]),
        (["--session", "last"], [6, 5, 4]),
        (["--server", "notes"], [6, 4, 2]),
        (["--tool", "get_forecast"], [3, 1]),
        (["--tool", "weather:get_forecast"], [3, 1]),
        (["--tool", "weather.get_forecast"], [3, 1]),
        (["--tool", "get_forecast", "--server", "notes"], []),
        (["--status", "denied"], [4]),
        (["--status", "ok", "--server", "notes"], [6, 2]),
        (["--since", "2100-01-01T12:12Z"], [6, 5]),
        (["--since", "2100-01-01T14:12+02:00"], [6, 5]),
    ],
)
def test_filters_choose_calls(mcpctl: Mcpctl, paths: Paths, options: list[str], expected: list[int]) -> None:
    two_sessions(paths)
    assert numbers(mcpctl, *options) == expected
    assert mcpctl("calls", "ls", "--count", *options).out == f"{len(expected)}\n"


@pytest.mark.parametrize(
    ("option", "typo", "near"),
    [
        ("--server", "note", "did you mean 'notes'?"),
        ("--server", "zzzzz", "list servers with: mcpctl servers ls"),
        ("--tool", "get_forcast", "did you mean 'get_forecast'"),
        ("--tool", "notes:get_forecast", "did you mean"),
        ("--project", "acne", "see config.toml"),
    ],
)
def test_a_name_that_is_neither_configured_nor_on_record_is_not_found(
    mcpctl: Mcpctl, paths: Paths, option: str, typo: str, near: str
) -> None:
    two_sessions(paths)
    ran = mcpctl("calls", "ls", option, typo, "--json")
    assert (ran.code, ran.error["code"]) == (3, f"{option[2:]}_not_found")
    assert near in ran.error["hint"]
    assert mcpctl("calls", "ls", option, typo, "--count").code == 3


def test_what_is_configured_and_has_no_calls_yet_is_an_empty_list(mcpctl: Mcpctl, paths: Paths) -> None:
    demo_tools(paths, {**DEMO, "bad": {"comand": "x"}}, projects={"acme": {}})
    filters = [["--server", "notes"], ["--server", "bad"], ["--tool", "add_note"], ["--project", "acme"]]
    for options in (*filters, ["--tool", "notes.add_note", "--server", "weather"]):
        assert mcpctl("calls", "ls", *options, "--json").json == []


@pytest.mark.parametrize(("ago", "since", "is_listed"), [(100, "2m", True), (200, "2m", False), (86000, "1d", True)])
def test_since_counts_back_from_now(mcpctl: Mcpctl, paths: Paths, ago: int, since: str, is_listed: bool) -> None:
    begun = started(1, 0)
    begun.timestamp = clock.iso(time.time() - ago)
    opened(paths, created(), [begun]).close()
    assert numbers(mcpctl, "--since", since) == [1] * is_listed


@for_each("bad", ["tomorrow", "2x", "30m1h", "1h1h", "", "m", "2026-13-01", "12:00", "0001-01-01"])
def test_a_time_that_is_none_is_refused(mcpctl: Mcpctl, bad: str) -> None:
    ran = mcpctl("calls", "ls", "--since", bad)
    assert ran.code == 2
    assert "2026-07-28T12:00Z" in ran.err


@pytest.mark.parametrize("far", ["1950-06-01T00:00:00.5Z", "9999w"])
def test_a_time_before_all_records_is_all_of_them(mcpctl: Mcpctl, paths: Paths, far: str) -> None:
    two_sessions(paths)
    assert len(numbers(mcpctl, "--since", far)) == 6


@for_each("option", ["status", "kind"])
def test_an_unknown_value_is_refused_with_the_values_there_are(mcpctl: Mcpctl, option: str) -> None:
    ran = mcpctl("calls", "ls", f"--{option}", "bogus")
    assert ran.code == 2
    assert ("tool_error" if option == "status" else "discovery") in ran.err


def test_a_session_that_does_not_exist_is_not_found(mcpctl: Mcpctl, paths: Paths) -> None:
    two_sessions(paths)
    ran = mcpctl("calls", "ls", "--session", "ffff", "--json")
    assert ran.code == 3
    assert ran.error == {
        "code": "session_not_found",
        "message": "no session 'ffff'",
        "hint": "list them with: mcpctl sessions ls",
    }


def test_searches_are_listed_with_what_they_found(mcpctl: Mcpctl, paths: Paths) -> None:
    two_sessions(paths)
    first, second = mcpctl("calls", "ls", "--kind", "discovery", "--json").json
    assert (first["query"], first["context"], first["results"]) == (["list", "notes"], "tidying up", [])
    assert second["results"] == [{"key": "weather:get_forecast", "relevance": 0.91}]
    assert (second["session_id"], second["started_at"], second["tokens"]) == (CLAUDE, at(1), 40)


def test_searches_are_chosen_by_session_and_time(mcpctl: Mcpctl, paths: Paths) -> None:
    two_sessions(paths)
    for option in (["--session", CURSOR], ["--since", at(5)]):
        (row,) = mcpctl("calls", "ls", "--kind", "discovery", "--json", *option).json
        assert row["session_id"] == CURSOR


@pytest.mark.parametrize(("kind", "expected"), [("call", ["1", "2"]), ("discovery", ["3", "4"])])
def test_project_chooses_what_was_in_force(
    mcpctl: Mcpctl, paths: Paths, monkeypatch: pytest.MonkeyPatch, kind: str, expected: list[str]
) -> None:
    written = [*call(1, 1, project="acme"), *call(2, 2), searched(3, 3, project="acme"), searched(4, 4)]
    session(paths, rest=written)

    def listed(*options: str) -> list[tuple[str, str | None]]:
        rows = mcpctl("calls", "ls", "--kind", kind, "--json", *options).json
        return [(row["id"][0], row["project"]) for row in rows]

    both = [(expected[1], None), (expected[0], "acme")]
    assert listed("--project", "acme") == both[1:]
    assert mcpctl("calls", "ls", "--kind", kind, "--project", "acne").code == 3
    monkeypatch.setenv("MCPCTL_PROJECT", "acme")
    assert listed() == both


@for_each("option", ["--server", "--tool", "--status"])
def test_searches_have_no_server_tool_or_status(mcpctl: Mcpctl, option: str) -> None:
    assert mcpctl("calls", "ls", "--kind", "discovery", option, "ok").code == 2


@pytest.mark.parametrize(
    ("recorded", "shown"),
    [
        (hints(None, None, None, None), "----"),
        (hints(True, False, True, False), "RdIo"),
        (hints(False, True, None, None), "rD--"),
        (raw({"readOnlyHint": {"value": True, "source": "override"}}), "R*---"),
        (raw({}), "----"),
        (raw({"readOnlyHint": 5}), "----"),
    ],
)
def test_hints_are_what_was_declared_when_the_call_was_made(
    mcpctl: Mcpctl, paths: Paths, recorded: object, shown: str
) -> None:
    session(paths, rest=call(1, 1, annotations=recorded))
    assert mcpctl("calls", "ls", "--fields", "annotations").out == f"{shown}\n"


def test_a_call_of_a_session_that_was_killed_counts_as_interrupted(mcpctl: Mcpctl, paths: Paths) -> None:
    opened(paths, created(), call(1, 1)[:1]).close()
    assert [row["status"] for row in mcpctl("calls", "ls", "--json").json] == ["interrupted"]
    assert numbers(mcpctl, "--status", "interrupted") == [1]
    assert numbers(mcpctl, "--status", "running") == []


def test_a_call_of_a_session_that_lives_is_running(mcpctl: Mcpctl, paths: Paths) -> None:
    journal = opened(paths, created(), call(1, 1)[:1])
    (row,) = mcpctl("calls", "ls", "--json").json
    assert (row["id"], row["status"], row["duration_ms"], row["response"]) == (call_id(1), "running", None, None)
    journal.close()


def test_data_dir_names_another_place(mcpctl: Mcpctl, paths: Paths) -> None:
    two_sessions(paths)
    assert numbers(mcpctl, "--data-dir", str(paths.data)) == [6, 5, 4, 3, 2, 1]
    (paths.data / "empty").mkdir()
    assert numbers(mcpctl, "--data-dir", str(paths.data / "empty")) == []


def test_a_data_directory_that_was_mistyped_is_not_an_empty_record(mcpctl: Mcpctl, tmp_path: Path) -> None:
    ran = mcpctl("calls", "ls", "--data-dir", str(tmp_path / "dta"))
    assert (ran.code, ran.out) == (5, "")
    assert f"there is no data directory {tmp_path / 'dta'}" in ran.err
    assert not (tmp_path / "dta").exists()


LONG = "no such city: " + "x" * 2000


@pytest.mark.parametrize(
    ("response", "message"),
    [
        ({"content": [{"type": "text", "text": "no such city"}], "isError": True}, "no such city"),
        ({"content": [{"type": "image"}, {"type": "text", "text": "first"}, {"text": "second"}]}, "first"),
        ({"content": [{"type": "text", "text": LONG}]}, LONG[:500] + "…"),
        ('{"content":[{"type":"text","text":"cut', '{"content":[{"type":"text","text":"cut'),
        ({"content": []}, None),
        ({"content": [1, None, {"text": 5}]}, None),
        ({"content": "text"}, None),
        ([1], None),
        (None, None),
    ],
)
def test_what_a_tool_said_went_wrong_is_the_error_of_its_call(
    mcpctl: Mcpctl, paths: Paths, response: object, message: str | None
) -> None:
    session(paths, rest=call(1, 1, status="tool_error", response=raw(response)))
    (row,) = mcpctl("calls", "ls", "--json").json
    assert row["error"] == (message and {"code": "tool_error", "message": message})
    assert row["response"] == response
    mcpctl("db", "rebuild")
    assert mcpctl("calls", "ls", "--json").json == [row]


def test_only_a_tools_own_failure_is_read_from_its_response(mcpctl: Mcpctl, paths: Paths) -> None:
    session(paths, rest=[*call(1, 1), *call(2, 2, status="tool_error", error=raw({"code": -1, "message": "m"}))])
    own, ok = mcpctl("calls", "ls", "--json").json
    assert (own["error"], ok["error"]) == ({"code": -1, "message": "m"}, None)


@pytest.mark.parametrize("tool", ["search", "a.b", "notes.search", "notes:search", "other.a.b"])
@pytest.mark.parametrize("counted", [True, False])
def test_calls_of_a_tool_are_found_without_looking_at_the_others(paths: Paths, tool: str, counted: bool) -> None:
    made = [("notes", "search"), ("other", "search"), ("notes", "a.b"), ("other", "a.b"), ("a", "b")]
    session(paths, rest=[line for n, (server, name) in enumerate(made) for line in
                         call(f"{n}", n, server=server, tool=name)])  # fmt: skip
    with LocalRecords(paths) as records:
        asked: list[str] = []
        records._db.set_trace_callback(asked.append)
        found = records.calls(CallFilter(tools=(tool,)))
        rows = [(row["server"], row["tool"]) for row in found.rows(None, 0)] if not counted else []
        count = found.count() if counted else len(rows)
        records._db.set_trace_callback(None)
        plan = [row[3] for row in records._db.execute(f"EXPLAIN QUERY PLAN {asked[0]}")]
    assert count == len([pair for pair in made if tool in (pair[1], ".".join(pair), ":".join(pair))])
    assert "calls_by_tool" in plan[0]
    assert not any("SCAN calls" in step for step in plan)
    # Newest first comes of the index, too, but for a name that may be read in two ways.
    assert "." in tool or not any("TEMP B-TREE" in step for step in plan)


def test_the_key_of_a_tool_is_a_field_that_one_may_name(mcpctl: Mcpctl, paths: Paths) -> None:
    two_sessions(paths)
    assert mcpctl("calls", "ls", "--limit", "1", "--fields", "key,status").out == "notes:list_notes\tok\n"
    assert mcpctl("calls", "ls", "--limit", "1", "--fields", "KEY", "--json").json == [{"key": "notes:list_notes"}]
    assert "key" not in mcpctl("calls", "ls", "--limit", "1", "--json").json[0]
