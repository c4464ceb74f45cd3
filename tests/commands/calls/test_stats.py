"""`mcpctl calls stats`"""

import random
import time

import pytest

from mcpctl.base.paths import Paths
from tests.conftest import Mcpctl
from tests.recorded import call, raw, session, two_sessions


def test_all_calls_are_one_row(mcpctl: Mcpctl, paths: Paths) -> None:
    two_sessions(paths)
    assert mcpctl("calls", "stats", "--json").json == [
        {
            "calls": 6, "done": 3, "errors": 2, "refused": 1, "error_percent": 40.0, "failed": 3, "denied": 1,
            "p50_ms": 12, "p95_ms": 12, "longest_ms": 12, "duration_ms": 52,
            "input_tokens": 30, "output_tokens": 72, "total_tokens": 102, "last_used": "2100-01-01T12:14:00.000Z",
        }
    ]  # fmt: skip


def test_where_nothing_is_on_record_nothing_is_counted(mcpctl: Mcpctl) -> None:
    (row,) = mcpctl("calls", "stats", "--json").json
    assert (row["calls"], row["failed"], row["p95_ms"], row["total_tokens"]) == (0, 0, None, None)
    assert mcpctl("calls", "stats", "--by", "tool", "--json").json == []


@pytest.mark.parametrize(
    ("by", "rows"),
    [
        ("server", ["notes\t3\t1", "weather\t3\t2"]),
        ("client", ["claude-code\t3\t1", "cursor\t3\t2"]),
        ("status", ["ok\t3\t0", "denied\t1\t1", "failed\t1\t1", "tool_error\t1\t1"]),
        ("project", ["\t6\t3"]),
        ("server,status", ["notes\tok\t2\t0", "notes\tdenied\t1\t1", "weather\tfailed\t1\t1", "weather\tok\t1\t0",
                           "weather\ttool_error\t1\t1"]),
        ("day", ["2100-01-01\t6\t3"]),
        ("hour", ["2100-01-01 12:00\t6\t3"]),
    ],
)  # fmt: skip
def test_groups_have_a_row_each(mcpctl: Mcpctl, paths: Paths, by: str, rows: list[str]) -> None:
    two_sessions(paths)
    fields = by.replace("client", "client_name")
    assert mcpctl("calls", "stats", "--by", by, "--fields", f"{fields},calls,failed").out.splitlines() == rows


def test_a_tool_is_one_of_its_server(mcpctl: Mcpctl, paths: Paths) -> None:
    session(paths, rest=[*call(1, 1, server="a", tool="search"), *call(2, 2, server="b", tool="search")])
    rows = mcpctl("calls", "stats", "--by", "tool", "--json").json
    assert [(row["server"], row["tool"], row["calls"]) for row in rows] == [("a", "search", 1), ("b", "search", 1)]


def test_filters_choose_what_is_counted(mcpctl: Mcpctl, paths: Paths) -> None:
    two_sessions(paths)
    options = ("--failed", "--client", "cursor", "--by", "tool", "--fields", "tool,calls")
    assert mcpctl("calls", "stats", *options).out.splitlines() == ["delete_note\t1", "convert_temperature\t1"]
    assert mcpctl("calls", "stats", "--server", "weathr").code == 3


def test_percentiles_are_what_so_many_of_a_hundred_did_not_exceed(mcpctl: Mcpctl, paths: Paths) -> None:
    durations = random.Random(7).sample(range(1000), 200)
    session(paths, rest=[line for n, ms in enumerate(durations) for line in call(f"{n}", n / 10, duration_ms=ms)])
    ordered = sorted(durations)
    (row,) = mcpctl("calls", "stats", "--json").json
    assert (row["p50_ms"], row["p95_ms"], row["longest_ms"]) == (ordered[99], ordered[189], ordered[199])


def test_the_slowest_come_first_where_that_is_asked(mcpctl: Mcpctl, paths: Paths) -> None:
    calls = [("quick", 1), ("quick", 2), ("slow", 900), ("huge", 2**40)]
    session(paths, rest=[line for n, (tool, ms) in enumerate(calls) for line in
                         call(f"{n}", n, tool=tool, duration_ms=ms)])  # fmt: skip
    options = ("--by", "tool", "--sort", "p95_ms", "--fields", "tool,p95_ms")
    assert mcpctl("calls", "stats", *options).out.splitlines() == [f"huge\t{2**40}", "slow\t900", "quick\t2"]
    assert mcpctl("calls", "stats", *options, "--limit", "1").out.startswith("huge")


def test_a_day_and_an_hour_are_those_of_here_and_follow_each_other(
    mcpctl: Mcpctl, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    session(paths, rest=[*call(1, 1), *call(2, 60 * 8), *call(3, 60 * 8 + 1)])
    monkeypatch.setenv("TZ", "Asia/Kathmandu")  # 5:45 hours before UTC
    time.tzset()
    try:
        hours = mcpctl("calls", "stats", "--by", "hour", "--fields", "hour,calls").out.splitlines()
        days = mcpctl("calls", "stats", "--by", "day", "--fields", "day,calls").out.splitlines()
    finally:
        monkeypatch.undo()
        time.tzset()
    assert hours == ["2100-01-01 17:00\t1", "2100-01-02 01:00\t2"]
    assert days == ["2100-01-01\t1", "2100-01-02\t2"]


def test_a_table_has_bars_and_a_pipe_has_none(mcpctl: Mcpctl, paths: Paths) -> None:
    session(paths, rest=[*call(1, 1, tool="a"), *call(2, 2, tool="a"), *call(3, 3, tool="b")])
    head, first, second = mcpctl("calls", "stats", "--by", "tool", "--format", "table").out.splitlines()
    assert head.endswith("BAR")
    assert (first.count("█"), second.count("█")) == (10, 5)
    assert "█" not in mcpctl("calls", "stats", "--by", "tool").out
    assert "bar" not in mcpctl("calls", "stats", "--by", "tool", "--json").json[0]


def test_a_bar_can_be_named_where_there_was_no_room_for_it(mcpctl: Mcpctl, paths: Paths) -> None:
    session(paths, rest=[*call(1, 1, tool="a"), *call(2, 2, tool="b")])
    asked = ("calls", "stats", "--by", "tool", "--format", "table", "--fields", "tool,BAR")
    assert [line.count("█") for line in mcpctl(*asked).out.splitlines()] == [0, 10, 10]
    assert mcpctl(*asked, "--sort", "failed").out.split() == ["TOOL", "BAR", "a", "b"]


def test_a_hostile_name_is_one_cell(mcpctl: Mcpctl, paths: Paths) -> None:
    session(paths, rest=call(1, 1, tool="a\tb\n\x1b[31m", arguments=raw({})))
    (line,) = mcpctl("calls", "stats", "--by", "tool", "--fields", "tool,calls").out.splitlines()
    assert line.endswith("\t1")
    assert "\x1b" not in line
    assert line.count("\t") == 1


@pytest.mark.parametrize("options", [("--by", "moon"), ("--sort", "tool"), ("--by", "")])
def test_what_cannot_be_grouped_or_sorted_by_is_refused(mcpctl: Mcpctl, options: tuple[str, ...]) -> None:
    ran = mcpctl("calls", "stats", *options)
    assert (ran.code, ran.out) == (2, "")
