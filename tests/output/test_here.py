"""A person at a terminal reads times of here, and lines that are as wide as that; a pipe gets what is on record."""

import re
import time
from collections.abc import Iterator

import pytest

from mcpctl import output
from mcpctl.base.paths import Paths
from tests.configured import configure, demo_tools, stub
from tests.conftest import Mcpctl
from tests.recorded import two_sessions
from tests.table import for_each

UTC = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d\.\d+)?Z"


@pytest.fixture
def tokyo(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nine hours before UTC."""
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("tokyo")
def test_one_session_has_times_of_here_at_a_terminal_and_utc_in_a_pipe(mcpctl: Mcpctl, paths: Paths) -> None:
    two_sessions(paths)
    piped, shown = mcpctl("sessions", "show", "last").out, mcpctl("sessions", "show", "last", tty=True).out
    (start,) = re.findall(r"^start_time: +(.*)", piped, re.MULTILINE)
    assert start.endswith("Z")
    day, hour, rest = start[:10], int(start[11:13]), start[13:19]
    assert hour < 15, "the same day there"
    assert f"{day} {hour + 9:02}{rest}" in shown
    assert not re.search(UTC, shown)
    assert re.search(UTC, mcpctl("calls", "show", "last").out)
    assert not re.search(UTC, mcpctl("calls", "show", "last", tty=True).out)
    assert mcpctl("sessions", "show", "last", "--json", tty=True).json["start_time"] == start


@pytest.mark.usefixtures("tokyo")
@for_each("words", ["policy pause --for 2h", "policy explain notes:add_note", "doctor", "policy resume"])
def test_a_pause_is_told_in_times_of_here(
    mcpctl: Mcpctl, paths: Paths, monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    demo_tools(paths)
    monkeypatch.setattr("mcpctl.commands.confirmation.only_for_people", lambda what: None)
    mcpctl("policy", "pause")
    shown = mcpctl(*words.split(), tty=True)
    told = " ".join((shown.out + shown.err).split())
    assert re.search(r"paused since \d{4}-\d\d-\d\d \d\d:\d\d,", told), told
    assert not re.search(UTC, told)
    mcpctl("policy", "pause")
    piped = mcpctl(*words.split())
    assert re.search(UTC, piped.out + piped.err)


def test_lines_of_doctor_and_explain_go_on_below_their_beginning(
    mcpctl: Mcpctl, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure(paths, {"gone": {"command": "no-such-program", "args": ["x"]}, "s": stub()}, policy={"mode": "enforce"})
    monkeypatch.setenv("COLUMNS", "58")
    out = mcpctl("doctor", tty=True).out
    assert "D131 error    gone: 'no-such-program' is not found on\n                the PATH\n" in out
    assert "  fix:  install it, or write its absolute path\n                 into the entry\n" in out
    assert "is not found on the PATH\n" in mcpctl("doctor").out
    monkeypatch.setenv("COLUMNS", "40")
    out = mcpctl("policy", "explain", "s:unlisted", tty=True).out
    assert max(map(len, out.splitlines())) <= 40
    assert "\n             " in out or "\n  " in out


def test_a_line_of_a_list_goes_on_indented(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    output.say("  cursor: 'linear' stays there, since it is only for one project")
    first, *others = capsys.readouterr().err.splitlines()
    assert first.startswith("  cursor: ")
    assert others
    assert all(re.match("    [^ ]", line) for line in others)
