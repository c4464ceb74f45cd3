"""Long work of commands shows how far it is: on a terminal, and nowhere else."""

import io
import itertools
import sys
from collections.abc import Iterator

import pytest

from mcpctl.base.paths import Paths
from mcpctl.store import index
from tests.configured import configure, demo_tools
from tests.conftest import Mcpctl
from tests.recorded import two_sessions

READERS = (
    "calls ls", "calls show last", "sessions ls", "sessions show last", "tools ls --json", "tools ls --sort usage",
    "tools show weather:get_forecast", "tools search note --json", "db rebuild", "db path",
)  # fmt: skip


@pytest.fixture(autouse=True)
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every look at the clock takes a second, and journals are read a few lines at a time."""
    monkeypatch.setattr("mcpctl.output.progress_line.clock", itertools.count().__next__)
    monkeypatch.setattr(index, "_CHUNK", 1000)
    monkeypatch.setenv("TERM", "xterm")


@pytest.mark.parametrize("words", READERS)
def test_the_first_look_at_many_records_shows_how_far_it_is(mcpctl: Mcpctl, paths: Paths, words: str) -> None:
    demo_tools(paths)
    two_sessions(paths)
    first = mcpctl(*words.split(), tty=True)
    assert first.err.startswith("\rreading records: ")
    *_, last, end = first.err.split("\r")
    assert (last.strip(), end) == ("", "")
    assert "reading" not in first.out


@pytest.mark.parametrize("words", READERS)
def test_a_pipe_gets_nothing_of_it(mcpctl: Mcpctl, paths: Paths, words: str) -> None:
    demo_tools(paths)
    two_sessions(paths)
    assert mcpctl(*words.split()).err == ""


@pytest.mark.parametrize("words", [words for words in READERS if words != "db rebuild"])
def test_what_was_read_before_is_not_read_again(mcpctl: Mcpctl, paths: Paths, words: str) -> None:
    demo_tools(paths)
    two_sessions(paths)
    index.catch_up_on_disk(paths)
    assert mcpctl(*words.split(), tty=True).err == ""


def test_it_is_taken_away_before_rows_are_shown(mcpctl: Mcpctl, paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    two_sessions(paths)
    said: list[str] = []

    def write(lines: Iterator[str], **_: object) -> None:
        assert isinstance(sys.stderr.buffer, io.BytesIO)
        said.append(sys.stderr.buffer.getvalue().decode())

    monkeypatch.setattr("mcpctl.output.write_lines", write)
    mcpctl("calls", "ls", tty=True)
    assert said[0].startswith("\rreading")
    assert said[0].endswith(" \r")


@pytest.mark.process
@pytest.mark.parametrize("tty", [True, False])
@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("tools refresh --json", "\rlisting tools: 0 of 2 servers"),
        ("servers check --json", "\rchecking: 0 of 2 servers"),
    ],
)
def test_starting_servers_shows_how_many_are_done(
    mcpctl: Mcpctl, paths: Paths, words: str, line: str, tty: bool
) -> None:
    configure(paths)
    ran = mcpctl(*words.split(), tty=tty)
    assert [row["server"] for row in ran.json] == ["notes", "weather"]
    assert (line in ran.err) == tty
    assert ran.err.split("\r")[-1] == ""
