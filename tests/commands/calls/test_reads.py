"""Prompts that were got and resources that were read: in lists, totals, and events."""

import json

import pytest

from mcpctl.base.paths import Paths
from mcpctl.store.records import LocalRecords
from tests.conftest import Mcpctl
from tests.recorded import at, raw, session, two_sessions, was_read

REFUSED = raw({"code": "not_permitted", "message": "not permitted"})


@pytest.fixture
def reads(paths: Paths) -> None:
    """Three reads of two sessions beside their calls, one of which was refused and one of a client of its own."""
    two_sessions(paths)
    session(paths, "7e551015-0000-4000-8000-000000000000", 20, [
        was_read(1, 21, "7e551015-0000-4000-8000-000000000000"),
        was_read(2, 22, "7e551015-0000-4000-8000-000000000000", kind="prompt", name="greet", duration_ms=90,
                 server="weather"),
        was_read(3, 23, "7e551015-0000-4000-8000-000000000000", status="denied", error=REFUSED, client_name="zed"),
    ])  # fmt: skip


def test_they_are_a_list_of_their_own_newest_first(mcpctl: Mcpctl, reads: None) -> None:
    out = mcpctl("calls", "ls", "--kind", "read", "--fields", "started_at,kind,server,name,status").out
    assert out.splitlines() == [
        f"{at(23)}\tresource\tnotes\tnote://3\tdenied",
        f"{at(22)}\tprompt\tweather\tgreet\tok",
        f"{at(21)}\tresource\tnotes\tnote://1\tok",
    ]
    assert mcpctl("calls", "ls", "--count").out == "6\n"


@pytest.mark.parametrize(
    ("options", "numbers"),
    [
        ("--server weather", "2"), ("--failed", "3"), ("--outcome refused", "3"), ("--outcome done", "21"),
        ("--status ok", "21"), ("--client zed", "3"), ("--min-duration 50ms", "2"), ("--grep NOTE://", "31"),
        ("--grep permitted", "3"), ("--since 2100-01-01T12:22Z", "32"), ("--until 2100-01-01T12:22Z", "1"),
        ("--session 7e55", "321"), ("--session 1c1a", ""),
    ],
)  # fmt: skip
def test_they_are_chosen(mcpctl: Mcpctl, reads: None, options: str, numbers: str) -> None:
    rows = mcpctl("calls", "ls", "--kind", "read", "--json", *options.split()).json
    assert "".join(row["id"][0] for row in rows) == numbers


def test_they_are_counted_apart_from_calls(mcpctl: Mcpctl, reads: None) -> None:
    rows = mcpctl("calls", "stats", "--kind", "read", "--by", "server", "--json").json
    names = ("server", "calls", "done", "errors", "refused", "p95_ms", "total_tokens", "last_used")
    assert [tuple(row[name] for name in names) for row in rows] == [
        ("notes", 2, 1, 0, 1, 7, None, at(23)),
        ("weather", 1, 1, 0, 0, 90, None, at(22)),
    ]
    by_name = mcpctl("calls", "stats", "--kind", "read", "--by", "tool", "--json").json
    assert {(row["server"], row["tool"]) for row in by_name} == {
        ("notes", "note://1"), ("notes", "note://3"), ("weather", "greet"),
    }  # fmt: skip
    assert mcpctl("calls", "stats", "--json").json[0]["calls"] == 6


def test_they_are_events(mcpctl: Mcpctl, reads: None) -> None:
    events = mcpctl("calls", "tail", "--json", "--since-position", "start").jsonl
    found = [event["data"] for event in events if event["type"] == "reads.finished"]
    assert [(row["kind"], row["name"], row["status"]) for row in found] == [
        ("resource", "note://1", "ok"), ("prompt", "greet", "ok"), ("resource", "note://3", "denied"),
    ]  # fmt: skip
    lines = mcpctl("calls", "tail", "-n", "4").out.splitlines()
    assert lines[0].split("\t") == [at(21), "reads.finished", "claude-code", "notes:note://1", "ok", "7 ms"]


@pytest.mark.parametrize(
    ("options", "numbers"),
    [("--server weather", "2"), ("--failed", "3"), ("--client zed", "3"), ("--tool greet", ""), ("--redacted", "")],
)
def test_filters_leave_their_events(mcpctl: Mcpctl, paths: Paths, reads: None, options: str, numbers: str) -> None:
    if "greet" in options:
        options = "--tool get_forecast"
    events = mcpctl("calls", "tail", "--json", "--since-position", "start", *options.split()).jsonl
    found = [event["data"]["id"][0] for event in events if event["type"] == "reads.finished"]
    assert "".join(found) == numbers


def test_a_read_that_came_later_is_read_from_its_position(mcpctl: Mcpctl, paths: Paths, reads: None) -> None:
    with LocalRecords(paths) as records:
        events = records.events(newest=1)
        assert [event.type for event in events.read()] == ["sessions.closed"]
        session(paths, "8e551015-0000-4000-8000-000000000000", 40, [
            was_read(8, 41, "8e551015-0000-4000-8000-000000000000"),
        ])  # fmt: skip
        records.refreshed()
        types = [event.type for event in events.read()]
    assert types == ["sessions.created", "reads.finished", "sessions.closed"]


def test_a_sessions_reads_are_those_of_the_list(mcpctl: Mcpctl, reads: None) -> None:
    shown = json.loads(mcpctl("sessions", "show", "7e55", "--json").out)["reads"]
    listed = mcpctl("calls", "ls", "--kind", "read", "--json").json
    assert [row["id"] for row in shown] == [row["id"] for row in reversed(listed)]
