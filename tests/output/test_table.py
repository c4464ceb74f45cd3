"""The table of a terminal: nothing that one copies is cut, whatever its width."""

import datetime
import os
import pty
import re
import subprocess

import pytest
from rich.cells import cell_len

from mcpctl.output import table
from mcpctl.paths import Paths
from tests.configured import configure, demo_tools, listed, stub
from tests.conftest import MCPCTL, Mcpctl
from tests.recorded import CLAUDE, CURSOR, call, call_id, session, two_sessions

WIDTHS = ("40", "80", "200")


Numbers = tuple[int, ...]


def lines(headings: list[str], rows: list[list[str]], cut: Numbers = (), times: Numbers = ()) -> list[str]:
    return list(table.lines(headings, rows, frozenset(cut), frozenset(times)))


@pytest.mark.parametrize("width", WIDTHS)
def test_ids_are_never_cut(mcpctl: Mcpctl, paths: Paths, monkeypatch: pytest.MonkeyPatch, width: str) -> None:
    monkeypatch.setenv("COLUMNS", width)
    two_sessions(paths)
    calls, sessions = mcpctl("calls", "ls", tty=True).out, mcpctl("sessions", "ls", tty=True).out
    assert all(call_id(number) in calls for number in range(1, 7))
    assert CLAUDE in sessions
    assert CURSOR in sessions


@pytest.mark.parametrize("width", WIDTHS)
def test_keys_are_never_cut(mcpctl: Mcpctl, paths: Paths, monkeypatch: pytest.MonkeyPatch, width: str) -> None:
    monkeypatch.setenv("COLUMNS", width)
    configure(paths, {"a-server-with-a-long-name": stub()})
    name = "a_tool_with_a_name_that_is_longer_than_forty_columns"
    listed(paths, "a-server-with-a-long-name", [{"name": name, "description": "word " * 50, "inputSchema": {}}])
    for words in (("tools", "ls"), ("tools", "search", name)):
        head, row = mcpctl(*words, tty=True).out.splitlines()
        assert row.split()[0] == f"a-server-with-a-long-name:{name}"
        assert "DESTR" in head


@pytest.mark.parametrize("width", ["80", "100", "200"])
def test_a_table_that_can_fit_does(mcpctl: Mcpctl, paths: Paths, monkeypatch: pytest.MonkeyPatch, width: str) -> None:
    monkeypatch.setenv("COLUMNS", width)
    demo_tools(paths)
    assert max(map(len, mcpctl("tools", "ls", tty=True).out.splitlines())) <= int(width)


def test_what_is_cut_says_so(mcpctl: Mcpctl, paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    configure(paths, {"s": stub()})
    listed(paths, "s", [{"name": "t", "description": "word " * 50, "inputSchema": {}}])
    row = mcpctl("tools", "ls", tty=True).out.splitlines()[1]
    assert row.endswith("…")


def test_forty_columns_cut_the_tool_but_neither_id_nor_status(
    mcpctl: Mcpctl, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    session(paths, rest=call(1, 1, tool="a_tool_with_a_long_name", status="tool_error"))
    row = mcpctl("calls", "ls", tty=True).out.splitlines()[1]
    assert call_id(1) in row
    assert "tool_error" in row


def test_columns_stand_in_line_where_characters_are_wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    found = lines(["A", "B"], [["日本語", "x"], ["abc", "y"], ["🙂", "z"]])
    places = [cell_len(line[: line.index(mark)]) for line, mark in zip(found, "Bxyz", strict=True)]
    assert len(set(places)) == 1


def test_wide_characters_are_cut_to_the_columns_they_take(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    found = lines(["A", "B"], [["日本語" * 10, "x"]], cut=(0,))
    assert max(map(cell_len, found)) <= 20
    assert "…" in found[1]


@pytest.mark.parametrize("value", ["[/bold]", "[red]x[/red]", "[link=http://x]y", ":smile:", "\\[x]"])
def test_markup_in_a_value_is_text(value: str) -> None:
    assert lines(["A"], [[value]])[1] == value


def test_a_value_that_looks_like_a_number_is_not_styled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR")
    assert lines(["A"], [["12:30 True 'x' http://y"]])[1] == "12:30 True 'x' http://y"


@pytest.mark.parametrize(
    ("seconds", "age"),
    [(0, "0s ago"), (59, "59s ago"), (61, "1m ago"), (3599, "59m ago"), (7300, "2h ago"), (200_000, "2d ago")],
)
def test_times_show_as_ages(seconds: int, age: str) -> None:
    then = datetime.datetime.now(datetime.UTC) - datetime.timedelta(seconds=seconds)
    assert lines(["A"], [[then.isoformat()]], times=(0,))[1] in (age, age.replace("59s", "1m"))


@pytest.mark.parametrize("time", ["", "no time", "0"])
def test_a_time_that_is_none_shows_as_it_is(time: str) -> None:
    assert lines(["A", "B"], [[time, "x"]], times=(0,))[1].split() == [*time.split(), "x"]


@pytest.mark.parametrize("variable", [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_colour_is_off_where_it_is_not_wanted(
    mcpctl: Mcpctl, paths: Paths, monkeypatch: pytest.MonkeyPatch, variable: tuple[str, str]
) -> None:
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    monkeypatch.setenv(*variable)
    session(paths, rest=call(1, 1, status="failed"))
    assert "failed" in mcpctl("calls", "ls", tty=True).out


def test_colour_is_on_where_it_is_asked_for(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    found = lines(["A"], [["failed"], ["ok"]])
    assert "\x1b[" in found[1]
    assert "\x1b[" not in found[2]


def test_a_terminal_gets_colours_as_colours_and_nothing_else_of_the_kind(
    paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure(paths, {"s": stub()})
    listed(paths, "s", [{"name": "t", "title": "\x1b[31mred\x1b]0;owned\x07", "inputSchema": {"type": "object"}}])
    outer, inner = pty.openpty()
    env = {name: value for name, value in os.environ.items() if name != "NO_COLOR"} | {"TERM": "xterm-256color"}
    subprocess.run([*MCPCTL, "tools", "ls"], stdout=inner, stderr=inner, env=env, check=True, timeout=20)
    os.close(inner)
    said = os.read(outer, 1 << 16).decode()
    os.close(outer)
    assert "\x1b[1mKEY" in said
    assert set(re.findall(r"\x1b(?!\[\d*m)", said)) == set()
    assert "\\u001b" not in said
    assert "\x07" not in said
    assert "\x1b[31m" not in said
