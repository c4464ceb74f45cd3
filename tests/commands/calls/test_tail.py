"""`mcpctl calls tail`"""

import json
import signal
import subprocess
from typing import IO

import pytest
from rich.cells import cell_len

from mcpctl.base.paths import Paths
from tests.conftest import MCPCTL, Mcpctl
from tests.recorded import CURSOR, call, call_id, created, opened, raw, searched, session, two_sessions


def test_the_newest_events_are_printed_a_line_each(mcpctl: Mcpctl, paths: Paths) -> None:
    two_sessions(paths)
    assert mcpctl("calls", "tail", "-n", "4").out.splitlines() == [
        "2100-01-01T12:13:00.000Z\tdiscoveries.finished\tcursor\t[\"list\", \"notes\"]\tbm25\t3 ms",
        "2100-01-01T12:14:00.000Z\tcalls.started\tcursor\tnotes:list_notes\trunning\t",
        "2100-01-01T12:14:06.000Z\tcalls.finished\tcursor\tnotes:list_notes\tok\t12 ms",
        f"2100-01-01T12:15:00.000Z\tsessions.closed\tcursor\t{CURSOR}\tclosed\t",
    ]  # fmt: skip
    assert len(mcpctl("calls", "tail").out.splitlines()) == 10


@pytest.mark.slow
def test_json_has_the_position_of_each_event_and_the_next_one_begins_there(mcpctl: Mcpctl, paths: Paths) -> None:
    two_sessions(paths)
    whole = mcpctl("calls", "tail", "--json", "--since-position", "start").jsonl
    assert mcpctl("calls", "tail", "--jsonl", "--since-position", "start").jsonl == whole
    assert [list(event) for event in whole] == [["type", "data", "timestamp", "position"]] * 24
    assert [event["type"] for event in whole].count("sessions.updated") == 6
    for number, event in enumerate(whole):
        rest = mcpctl("calls", "tail", "--json", "--since-position", event["position"]).jsonl
        assert [each["data"] for each in rest] == [each["data"] for each in whole[number + 1 :]]


def test_numbers_are_as_they_were_written(mcpctl: Mcpctl, paths: Paths) -> None:
    session(paths, rest=call(1, 1, arguments=raw({"n": 1})))
    text = next(paths.sessions.iterdir())
    text.write_bytes(text.read_bytes().replace(b'{"n": 1}', b'{"n": 1.10e2}'))
    assert '"arguments":{"n": 1.10e2}' in mcpctl("calls", "tail", "--json", "-n", "4").out


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_nothing_that_came_in_commands_a_terminal(
    mcpctl: Mcpctl, paths: Paths, monkeypatch: pytest.MonkeyPatch, options: list[str]
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    session(paths, rest=call(1, 1, tool="a\x9b31m\u202eb", arguments=raw({"n": "\x9b2J"})))
    out = mcpctl("calls", "tail", *options, tty=True).out
    assert "31m" in out
    assert not {"\x1b", "\x9b", "\u202e"} & set(out)


def test_a_number_larger_than_any_counts_as_all(mcpctl: Mcpctl, paths: Paths) -> None:
    two_sessions(paths)
    assert len(mcpctl("calls", "tail", "--lines", "9" * 20).out.splitlines()) == 18
    assert len(mcpctl("calls", "ls", "--limit", "9" * 20).out.splitlines()) == 6
    assert mcpctl("calls", "ls", "--offset", "9" * 20).out == ""


def test_filters_leave_only_what_they_mean(mcpctl: Mcpctl, paths: Paths) -> None:
    two_sessions(paths)
    out = mcpctl("calls", "tail", "--server", "notes", "--session", "last", "--json").jsonl
    assert [(event["type"], event["data"]["id"]) for event in out] == [
        ("calls.started", call_id(4)), ("calls.finished", call_id(4)),
        ("calls.started", call_id(6)), ("calls.finished", call_id(6)),
    ]  # fmt: skip


def test_a_time_is_that_of_the_event(mcpctl: Mcpctl, paths: Paths) -> None:
    two_sessions(paths)
    out = mcpctl("calls", "tail", "--since", "2100-01-01T12:12Z", "--until", "2100-01-01T12:14Z", "--json").jsonl
    assert [event["type"] for event in out] == [
        "calls.started", "calls.finished", "sessions.updated", "discoveries.finished",
    ]  # fmt: skip
    assert len(mcpctl("calls", "tail", "--since", "2100-01-01T12:00Z").out.splitlines()) == 18


def test_what_failed_is_known_at_the_end(mcpctl: Mcpctl, paths: Paths) -> None:
    two_sessions(paths)
    out = mcpctl("calls", "tail", "--failed", "--json").jsonl
    assert [(event["type"], event["data"]["status"]) for event in out] == [
        ("calls.finished", "tool_error"), ("calls.finished", "denied"), ("calls.finished", "failed"),
    ]  # fmt: skip


def test_nothing_on_record_is_nothing(mcpctl: Mcpctl) -> None:
    assert mcpctl("calls", "tail").out == mcpctl("calls", "tail", "--json", "--since-position", "start").out == ""


def test_a_position_that_cannot_be_followed_is_a_reset(mcpctl: Mcpctl, paths: Paths) -> None:
    two_sessions(paths)
    (event,) = mcpctl("calls", "tail", "--json", "--since-position", "AAAA").jsonl
    assert (event["type"], event["data"]) == ("reset", {})
    assert "events are missing before this" in mcpctl("calls", "tail", "--since-position", "AAAA").out


def test_where_to_begin_is_said_once(mcpctl: Mcpctl) -> None:
    assert mcpctl("calls", "tail", "-n", "1", "--since-position", "start").code == 2


def test_what_others_wrote_cannot_command_a_terminal(mcpctl: Mcpctl, paths: Paths) -> None:
    session(paths, rest=call(1, 1, tool="x\x1b[2J\n" + "y" * 500))
    for tty in (True, False):
        lines = mcpctl("calls", "tail", "-n", "3", tty=tty).out.splitlines()
        assert len(lines) == 3
        assert all(len(line) < 200 for line in lines)


def test_failures_are_red_on_a_terminal(mcpctl: Mcpctl, paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    from mcpctl.commands.calls.tail import _as_text
    from mcpctl.store.events import Event

    monkeypatch.setattr("mcpctl.output.text.is_coloured", lambda: True)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    row = {"server": "notes", "tool": "add", "status": "denied", "client_name": None, "duration_ms": 0}
    (line,) = _as_text(iter([Event("calls.finished", row, "2100-01-01T12:00:00.000Z")]), lambda _: None)
    assert line.startswith("\x1b[31m")
    assert line.endswith("denied  0 ms\x1b[0m")


@pytest.mark.parametrize("columns", [60, 80, 100])
def test_on_a_terminal_no_line_is_wider_than_it(
    mcpctl: Mcpctl, paths: Paths, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("NO_COLOR", "1")
    long = call(2, 2, tool="gr\N{LATIN SMALL LETTER O WITH DIAERESIS}\N{CJK UNIFIED IDEOGRAPH-5927}" * 20)
    session(paths, rest=[*call(1, 1, status="tool_error", duration_ms=1234), *long, searched(3, 3)])
    lines = mcpctl("calls", "tail", tty=True).out.splitlines()
    assert max(map(cell_len, lines)) == columns
    ends = [line for line in lines if "calls.finished" in line]
    assert [end.split("  ")[-2] for end in ends] == ["tool_error", "ok"]
    assert all("  weather" in end for end in ends)


def follow(*options: str) -> subprocess.Popen[str]:
    return subprocess.Popen([*MCPCTL, "calls", "tail", "-f", *options], stdout=subprocess.PIPE, text=True)


def line_of(stream: IO[str] | None) -> str:
    assert stream
    return stream.readline()


@pytest.mark.usefixtures("sigint_counts")
@pytest.mark.process
def test_following_prints_what_happens_until_it_is_interrupted(paths: Paths) -> None:
    journal = opened(paths, created())
    with follow("--json") as tail:
        assert json.loads(line_of(tail.stdout))["type"] == "sessions.created"
        other = opened(paths, created(CURSOR), call(1, 1, CURSOR))
        types = [json.loads(line_of(tail.stdout))["type"] for _ in range(4)]
        assert types == ["sessions.created", "calls.started", "calls.finished", "sessions.updated"]
        tail.send_signal(signal.SIGINT)
        assert tail.wait(30) == 130
    other.close()
    journal.close()


@pytest.mark.process
def test_following_ends_when_the_reader_has_gone_though_nothing_happens(paths: Paths) -> None:
    journal = opened(paths, created())
    with follow() as tail:
        assert "sessions.created" in line_of(tail.stdout)
        assert tail.stdout
        tail.stdout.close()
        assert tail.wait() == 141
    journal.close()
