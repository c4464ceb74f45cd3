"""Done, error and refused: in lists, totals, filters and groups of errors, of commands and of REST alike."""

import shlex
from typing import Any

import pytest

from mcpctl.base.fields import CALL_STATUSES
from mcpctl.base.models import NOT_FAILED, OUTCOMES
from mcpctl.base.paths import Paths
from mcpctl.store.filters import FAILED
from mcpctl.store.records import LocalRecords
from tests.conftest import Mcpctl
from tests.recorded import CLAUDE, at, call, call_id, created, opened, raw, session, started, was_read

OTHER = "4e551015-0000-4000-8000-000000000000"
KILLED = "3e551015-0000-4000-8000-000000000000"


@pytest.fixture
def failures(paths: Paths) -> None:
    """Two sessions: calls that went well, failed alike, failed otherwise, and were refused; and one that was killed."""
    waits = {
        "code": "needs_consent",
        "message": "tool 'notes:drop' was not run: it needs your consent (approval 1f3a9c)",
    }
    of_notes: dict[str, Any] = {"server": "notes", "tool": "drop", "status": "denied", "response": raw(None)}
    session(paths, CLAUDE, 0, [
        *call(1, 1),
        *call(2, 2, status="tool_error", response=_said("no answer in 31 ms\nTraceback")),
        *call(3, 3, status="denied", response=raw(None), error=raw({"code": "denied", "message": "denied by policy"})),
        *call(4, 4, **of_notes, error=raw(waits)),
    ])  # fmt: skip
    session(paths, OTHER, 10, [
        *call(5, 11, OTHER, status="tool_error", response=_said("no answer in 4,500 ms")),
        *call(6, 12, OTHER, status="cancelled", response=raw(None)),
    ])  # fmt: skip
    opened(paths, created(KILLED, 30), [started(7, 31, KILLED)]).close()


def _said(text: str) -> object:
    return raw({"content": [{"type": "text", "text": text}], "isError": True})


def test_every_status_that_is_an_end_has_one_outcome() -> None:
    of = [status for statuses in OUTCOMES.values() for status in statuses]
    assert sorted(of) == sorted(set(CALL_STATUSES) - {"running", "input_required"})
    assert {*OUTCOMES["error"], *OUTCOMES["refused"]} == set(FAILED)
    assert set(NOT_FAILED) == {*OUTCOMES["done"], "running", "input_required"}


def test_a_call_has_an_outcome_and_the_first_line_of_its_error(mcpctl: Mcpctl, failures: None) -> None:
    rows = mcpctl("calls", "ls", "--json", "--fields", "id,outcome,error_code,error_line,error_group").json
    assert [tuple(row.values())[1:] for row in reversed(rows)] == [
        ("done", None, None, None),
        ("error", "tool_error", "no answer in 31 ms", "no answer in # ms"),
        ("refused", "denied", "denied by policy", "denied by policy"),
        (
            "refused", "needs_consent", "tool 'notes:drop' was not run: it needs your consent (approval 1f3a9c)",
            "tool 'notes:drop' was not run: it needs your consent (approval #)",
        ),
        ("error", "tool_error", "no answer in 4,500 ms", "no answer in # ms"),
        ("error", None, None, "cancelled"),
        ("error", None, None, "interrupted"),
    ]  # fmt: skip


def test_outcomes_are_counted_beside_what_failed(mcpctl: Mcpctl, failures: None) -> None:
    (row,) = mcpctl("calls", "stats", "--json").json
    names = ("calls", "done", "errors", "refused", "failed", "denied", "error_percent")
    assert [row[name] for name in names] == [7, 1, 4, 2, 6, 2, 80.0]
    by_server = mcpctl("calls", "stats", "--by", "server", "--sort", "error_percent", "--json").json
    assert [(row["server"], row["error_percent"]) for row in by_server] == [("weather", 80.0), ("notes", None)]


def test_a_mistyped_tool_is_no_error_of_its_server(mcpctl: Mcpctl, paths: Paths) -> None:
    nothing: dict[str, Any] = {"status": "failed", "response": raw(None), "error": raw({"code": "unknown_tool"})}
    session(paths, CLAUDE, 0, [
        *call(1, 1), *call(2, 2, server="memory", tool="nope", **nothing), *call(3, 3, tool="nope", **nothing),
        *call(4, 4, status="tool_error", response=_said("no")),
    ])  # fmt: skip
    rows = mcpctl("calls", "stats", "--by", "server", "--json").json
    assert {row["server"]: (row["errors"], row["failed"], row["error_percent"]) for row in rows} == {
        "weather": (2, 2, 50.0), "memory": (1, 1, None),
    }  # fmt: skip
    with LocalRecords(paths) as records:
        health = records.health(at(0))
    assert (health["memory"]["errors"], health["weather"]["errors"]) == (0, 1)


def test_a_name_of_no_prompt_is_no_error(mcpctl: Mcpctl, paths: Paths) -> None:
    nothing = raw({"code": "unknown_prompt", "message": "there is no prompt 'x'"})
    session(paths, CLAUDE, 0, [was_read(1, 1, kind="prompt", server=None, name="x", status="failed", error=nothing)])
    assert mcpctl("calls", "stats", "--kind", "read", "--json").json[0]["error_percent"] is None


def test_what_was_refused_is_not_among_the_durations(mcpctl: Mcpctl, paths: Paths) -> None:
    refused = [
        each for number in range(2, 9)
        for each in call(number, number, status="denied", response=raw(None), duration_ms=1)
    ]  # fmt: skip
    denied_late = call(9, 9, status="denied", response=raw(None), duration_ms=9000)
    session(paths, CLAUDE, 0, [*call(1, 1, duration_ms=700), *refused, *denied_late])
    (row,) = mcpctl("calls", "stats", "--json").json
    assert (row["calls"], row["p50_ms"], row["p95_ms"], row["longest_ms"]) == (9, 700, 700, 700)


@pytest.mark.parametrize(
    ("options", "numbers"),
    [
        ("--outcome done", [1]),
        ("--outcome refused", [4, 3]),
        ("--outcome error", [7, 6, 5, 2]),
        ("--outcome error,refused", [7, 6, 5, 4, 3, 2]),
        ("--failed", [7, 6, 5, 4, 3, 2]),
        ("--outcome refused --code no-needs_consent", [3]),
        ("--code needs_consent,denied", [4, 3]),
        ("--code no-tool_error", [7, 6, 4, 3, 1]),
        ("--tool weather:* --error 'no answer in # ms'", [5, 2]),
        ("--error interrupted", [7]),
    ],
)
def test_calls_are_chosen_by_outcome_code_and_error(
    mcpctl: Mcpctl, failures: None, options: str, numbers: list[int]
) -> None:
    words = shlex.split(options)
    rows = mcpctl("calls", "ls", "--json", *words).json
    assert [row["id"] for row in rows] == [call_id(number) for number in numbers]
    assert mcpctl("calls", "ls", "--count", *words).out == f"{len(numbers)}\n"


def test_errors_are_grouped_by_tool_and_text_the_most_frequent_first(mcpctl: Mcpctl, failures: None) -> None:
    groups = mcpctl("calls", "stats", "--by", "error", "--json").json
    assert groups[0] == {
        "server": "weather", "tool": "get_forecast", "error": "no answer in # ms", "outcome": "error", "calls": 2,
        "sessions": 2, "first_used": at(2), "last_used": at(11), "example": call_id(5),
    }  # fmt: skip
    assert sorted((row["error"], row["outcome"]) for row in groups[1:]) == [
        ("cancelled", "error"), ("denied by policy", "refused"), ("interrupted", "error"),
        ("tool 'notes:drop' was not run: it needs your consent (approval #)", "refused"),
    ]  # fmt: skip
    assert sum(row["calls"] for row in groups) == mcpctl("calls", "stats", "--json").json[0]["failed"]
    for row in groups:
        of_group = ("--server", row["server"], "--tool", row["tool"], "--error", row["error"])
        assert mcpctl("calls", "ls", "--count", *of_group).out == f"{row['calls']}\n"


def test_errors_are_grouped_within_a_filter(mcpctl: Mcpctl, failures: None) -> None:
    groups = mcpctl("calls", "stats", "--by", "error", "--json", "--outcome", "error", "--session", CLAUDE).json
    assert [(row["error"], row["calls"], row["sessions"]) for row in groups] == [("no answer in # ms", 1, 1)]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("ls --outcome broken", "values: done, error, refused"),
        ("ls --outcome error --failed", "--failed and --outcome are both given"),
        ("ls --outcome error --status ok", "--status and --outcome are both given"),
        ("stats --by error,day", "failures are grouped by their tool and text alone"),
        ("stats --by error --sort p95_ms", "values: calls, sessions, first_used, last_used"),
        ("stats --by error --kind read", "--by error and --kind read are both given"),
        ("ls --sort bogus", "--sort has no value 'bogus'"),
        ("ls --sort duration_ms --kind read", "--sort and --kind read are both given"),
        ("ls --kind read --arg a=1", "reads have no --arg"),
        ("ls --kind discovery --redacted", "searches have no --redacted"),
    ],
)
def test_what_does_not_go_together_is_refused(mcpctl: Mcpctl, paths: Paths, words: str, says: str) -> None:
    failed = mcpctl("calls", *words.split())
    assert failed.code == 2
    assert says in failed.err
