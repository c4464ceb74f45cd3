"""The table of a terminal: never wider than it, and what one copies is the last to be cut."""

import datetime
import os
import pty
import re
import subprocess

import pytest
from rich.cells import cell_len

from mcpctl.base.paths import Paths
from mcpctl.output import table
from tests.configured import configure, listed, noted, stub, toolset
from tests.conftest import MCPCTL, Mcpctl
from tests.recorded import CURSOR, call, call_id, session, two_sessions
from tests.table import for_each

Numbers = tuple[int, ...]


def lines(headings: list[str], rows: list[list[str]], cut: Numbers = (), times: Numbers = ()) -> list[str]:
    return list(table.fitted(headings, rows, dict.fromkeys(cut, 6), (), frozenset(times)).lines())


@pytest.mark.parametrize("width", ["60", "80", "200"])
def test_ids_show_as_what_every_command_takes_for_them(
    mcpctl: Mcpctl, paths: Paths, monkeypatch: pytest.MonkeyPatch, width: str
) -> None:
    monkeypatch.setenv("COLUMNS", width)
    two_sessions(paths)
    for words, shown in ((("calls", "ls"), call_id(6)), (("sessions", "ls"), CURSOR)):
        first = mcpctl(*words, tty=True).out.splitlines()[1].split()[0]
        assert first == shown[:8]
        assert mcpctl(words[0], "show", first, "--json").json["id"] == shown
        assert shown in mcpctl(*words, "--fields", "id", tty=True).out


def test_a_named_id_is_whole_where_there_is_room_and_else_its_beginning(
    mcpctl: Mcpctl, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    two_sessions(paths)
    ids = ("--fields", "id,session_id,tool")
    for width, shown in (("100", [call_id(6), CURSOR]), ("60", [call_id(6)[:8], CURSOR[:8]])):
        monkeypatch.setenv("COLUMNS", width)
        assert mcpctl("calls", "ls", *ids, tty=True).out.splitlines()[1].split()[:2] == shown
    assert mcpctl("calls", "ls", *ids).out.split()[:2] == [call_id(6), CURSOR]


def test_ids_that_begin_alike_show_until_they_differ(mcpctl: Mcpctl, paths: Paths) -> None:
    ids = [f"11111111-222{n}-4000-8000-000000000000" for n in range(3)]
    session(paths, rest=[line for n, id_ in enumerate(ids) for line in call(id_, n)])
    shown = [line.split()[0] for line in mcpctl("calls", "ls", tty=True).out.splitlines()[1:]]
    assert sorted(shown) == [id_[:13] for id_ in ids]


@pytest.mark.parametrize("width", ["10", "40", "60", "80", "100"])
@pytest.mark.parametrize(
    "words",
    [
        "calls ls", "calls ls --kind discovery", "sessions ls", "tools ls", "tools ls --by risk", "tools search note",
        "servers ls", "toolsets ls", "calls ls --fields id,session_id,tool,response", "annotate ls --toolset team",
    ],
)  # fmt: skip
def test_no_line_is_wider_than_the_terminal(
    mcpctl: Mcpctl, paths: Paths, monkeypatch: pytest.MonkeyPatch, width: str, words: str
) -> None:
    monkeypatch.setenv("COLUMNS", width)
    long = "a_tool_with_a_name_of_note_that_is_longer_than_forty_columns"
    configure(paths, {"a-server-with-a-long-name": stub("--and", "many", "arguments", "x" * 100), "s": stub()})
    listed(paths, "a-server-with-a-long-name", [{"name": long, "title": "A note 日本語 " * 9, "inputSchema": {}}])
    toolset(
        paths, "team", description="word " * 50, toolNotes=[noted(f"a-server-with-a-long-name:{long}", tip="y" * 300)]
    )
    two_sessions(paths)
    session(paths, rest=call("7", 20, server="a-server-with-a-long-name", tool=long, status="input_required"))
    ran = mcpctl(*words.split(), tty=True)
    assert len(ran.out.splitlines()) > 1
    assert max(map(cell_len, ran.out.splitlines())) <= int(width) or "--by" in words


@pytest.mark.parametrize(
    ("width", "words", "shown"),
    [
        ("80", "calls ls", "everything  get-structured-content"),
        ("60", "calls ls", "get-structured-content"),
        ("80", "tools ls", "everything:get-structured-content  "),
        ("60", "tools ls", "everything:get-structured-content"),
        ("60", "tools search structured content", "everything:get-structured-content"),
    ],
)
def test_names_can_be_read_in_a_narrow_terminal(
    mcpctl: Mcpctl, paths: Paths, monkeypatch: pytest.MonkeyPatch, width: str, words: str, shown: str
) -> None:
    monkeypatch.setenv("COLUMNS", width)
    configure(paths, {"everything": stub()})
    listed(paths, "everything", [{"name": "get-structured-content", "title": "Get it " * 9, "inputSchema": {}}])
    session(paths, rest=call("7", 20, server="everything", tool="get-structured-content", status="tool_error"))
    _, row = mcpctl(*words.split(), tty=True).out.splitlines()
    assert shown in row


@pytest.mark.slow
def test_columns_go_in_the_order_that_help_states_and_a_terminal_is_told(
    mcpctl: Mcpctl, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    two_sessions(paths)
    monkeypatch.setenv("COLUMNS", "200")
    stated = " ".join(mcpctl("calls", "ls", "--help").out.split()).partition("then: ")[2].partition(".")[0]
    assert stated == "HINTS, MS, CLIENT, SERVER, WHEN, STATUS, TOOL"
    for width in range(10, 90):
        monkeypatch.setenv("COLUMNS", str(width))
        ran = mcpctl("calls", "ls", tty=True)
        gone = [name for name in stated.split(", ") if name not in ran.out.splitlines()[0].split()]
        assert gone == stated.split(", ")[: len(gone)]
        assert sorted(re.findall(r"\w+", " ".join(ran.err.split()).partition("; ")[0].upper())[3:]) == sorted(gone)


def test_fields_that_are_named_are_cut_and_none_goes(
    mcpctl: Mcpctl, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    two_sessions(paths)
    ran = mcpctl("calls", "ls", "--fields", "tool,arguments,response,status", tty=True)
    assert len(ran.out.splitlines()[0].split()) == 4
    assert ran.err == ""


def test_keys_are_whole_where_there_is_room_for_them(
    mcpctl: Mcpctl, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "110")  # 78 for the key, and what the label keeps
    configure(paths, {"a-server-with-a-long-name": stub()})
    name = "a_tool_with_a_name_that_is_longer_than_forty_columns"
    listed(paths, "a-server-with-a-long-name", [{"name": name, "description": "word " * 50, "inputSchema": {}}])
    for words in (("tools", "ls"), ("tools", "search", name)):
        _, row = mcpctl(*words, tty=True).out.splitlines()
        assert row.split()[0] == f"a-server-with-a-long-name:{name}"


def test_what_is_cut_says_so(mcpctl: Mcpctl, paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    configure(paths, {"s": stub()})
    listed(paths, "s", [{"name": "t", "description": "word " * 50, "inputSchema": {}}])
    row = mcpctl("tools", "ls", tty=True).out.splitlines()[1]
    assert row.endswith("…")


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


@for_each("value", ["[/bold]", "[red]x[/red]", "[link=http://x]y", ":smile:", "\\[x]"])
def test_markup_in_a_value_is_text(value: str) -> None:
    assert lines(["A"], [[value]])[1] == value


def test_a_value_that_looks_like_a_number_is_not_styled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR")
    assert lines(["A"], [["12:30 True 'x' http://y"]])[1] == "12:30 True 'x' http://y"


@for_each(
    ("seconds", "age"),
    [(0, "0s ago"), (59, "59s ago"), (61, "1m ago"), (3599, "59m ago"), (7300, "2h ago"), (200_000, "2d ago")],
)
def test_times_show_as_ages(seconds: int, age: str) -> None:
    then = datetime.datetime.now(datetime.UTC) - datetime.timedelta(seconds=seconds)
    assert lines(["A"], [[then.isoformat()]], times=(0,))[1] in (age, age.replace("59s", "1m"))


@for_each("time", ["", "no time", "0"])
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
    subprocess.run([*MCPCTL, "tools", "ls"], stdout=inner, stderr=inner, env=env, check=True, timeout=60)
    os.close(inner)
    said = os.read(outer, 1 << 16).decode()
    os.close(outer)
    assert "\x1b[1mKEY" in said
    assert set(re.findall(r"\x1b(?!\[\d*m)", said)) == set()
    assert "\\u001b" not in said
    assert "\x07" not in said
    assert "\x1b[31m" not in said


def test_what_a_tool_destroys_is_the_last_hint_to_go_and_empty_columns_are_the_first(
    mcpctl: Mcpctl, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure(paths, {"filesystem": stub()}, policy={"mode": "enforce"})
    tools = [{"name": "read_multiple_files_at_once", "description": "word " * 50, "inputSchema": {}}]
    listed(paths, "filesystem", tools)
    monkeypatch.setenv("COLUMNS", "80")
    assert mcpctl("tools", "ls", tty=True).out.split()[:5] == ["KEY", "READ", "DESTR", "IDEMP", "LABEL"]
    monkeypatch.setenv("COLUMNS", "50")
    assert mcpctl("tools", "ls", tty=True).out.split()[:2] == ["KEY", "DESTR"]
    two_sessions(paths)
    monkeypatch.setenv("COLUMNS", "200")
    whole = mcpctl("tools", "ls", "--sort", "last_used", tty=True).out.splitlines()
    assert "LAST_USED" in whole[0]
    monkeypatch.setenv("COLUMNS", "80")
    assert "LAST_USED" not in mcpctl("tools", "ls", "--sort", "last_used", tty=True).out
