"""How far long work is: one line on a terminal, that comes late and leaves nothing; a pipe gets nothing."""

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr

import pytest

from mcpctl import output
from mcpctl.base.errors import warn
from mcpctl.base.models import Progress


class Terminal(io.StringIO):
    """What a person sees of what is written."""

    def isatty(self) -> bool:
        return True

    def lines(self) -> list[str]:
        """The screen: a return goes to the beginning of the line, and what is written covers what was there."""
        found = []
        for written in self.getvalue().split("\n"):
            line = ""
            for part in written.split("\r"):
                line = part + line[len(part) :]
            found.append(line.rstrip())
        return found


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    monkeypatch.setenv("TERM", "xterm")
    return Terminal()


@contextmanager
def shown_on(stream: io.StringIO, *words: str) -> Iterator[Progress]:
    """Progress, where stderr is that stream. (pytest gives every phase of a test a stderr of its own.)"""
    with redirect_stderr(stream), output.progress(*words) as on_progress:
        yield on_progress


Passes = Callable[[float], None]


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> Passes:
    """Let seconds pass."""
    now = 0.0

    def wait(seconds: float) -> None:
        nonlocal now
        now += seconds

    monkeypatch.setattr("mcpctl.output.progress_line.clock", lambda: now)
    return wait


def test_what_is_done_soon_shows_nothing(terminal: Terminal, passes: Passes) -> None:
    with shown_on(terminal, "listing tools", "servers") as on_progress:
        for done in range(5):
            on_progress(done, 5)
            passes(0.1)
        on_progress(5, 5)
    assert terminal.getvalue() == ""


def test_what_takes_longer_shows_how_far_it_is(terminal: Terminal, passes: Passes) -> None:
    with shown_on(terminal, "listing tools", "servers") as on_progress:
        on_progress(0, 1200)
        passes(0.6)
        on_progress(1, 1200)
        assert terminal.lines() == ["listing tools: 1 of 1,200 servers"]
        passes(0.2)
        on_progress(2, 1200)
        assert terminal.lines() == ["listing tools: 2 of 1,200 servers"]


def test_without_a_unit_it_is_a_percentage(terminal: Terminal, passes: Passes) -> None:
    with shown_on(terminal, "reading records") as on_progress:
        passes(1)
        on_progress(77, 200)
        assert terminal.lines() == ["reading records: 38%"]


def test_it_is_not_written_at_every_step(terminal: Terminal, passes: Passes) -> None:
    with shown_on(terminal, "reading records") as on_progress:
        passes(1)
        for done in range(1000):
            on_progress(done, 1000)
            passes(0.001)
    assert terminal.getvalue().count("%") == 10


def test_a_shorter_line_leaves_nothing_of_a_longer_one(terminal: Terminal, passes: Passes) -> None:
    with shown_on(terminal, "x") as on_progress:
        passes(1)
        on_progress(50, 100)
        passes(1)
        on_progress(1, 100)
        assert terminal.lines() == ["x: 1%"]


def test_when_all_is_done_the_line_is_taken_away(terminal: Terminal, passes: Passes) -> None:
    with shown_on(terminal, "x") as on_progress:
        passes(1)
        on_progress(1, 2)
        on_progress(2, 2)
        assert terminal.lines() == [""]


@pytest.mark.parametrize("failure", [KeyboardInterrupt, ValueError, SystemExit])
def test_nothing_is_left_of_work_that_fails(terminal: Terminal, passes: Passes, failure: type[BaseException]) -> None:
    with pytest.raises(failure), shown_on(terminal, "x") as on_progress:
        passes(1)
        on_progress(1, 2)
        terminal.write("^C")  # as a terminal itself shows it
        raise failure
    assert terminal.lines() == [""]
    assert terminal.getvalue().endswith("\r")


def test_a_warning_meanwhile_has_a_line_of_its_own(terminal: Terminal, passes: Passes) -> None:
    with shown_on(terminal, "reading records") as on_progress:
        passes(1)
        on_progress(1, 2)
        warn("a line cannot be read")
        passes(1)
        on_progress(1, 2)
        assert terminal.lines() == ["mcpctl: a line cannot be read", "reading records: 50%"]
    assert terminal.lines() == ["mcpctl: a line cannot be read", ""]
    with redirect_stderr(terminal):
        warn("another")
    assert terminal.lines()[1] == "mcpctl: another"


def test_it_fits_a_narrow_terminal(terminal: Terminal, passes: Passes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "12")
    with shown_on(terminal, "reading records") as on_progress:
        passes(1)
        on_progress(1, 2)
    assert max(map(len, terminal.getvalue().split("\r"))) < 12


@pytest.mark.parametrize("variable", ["NO_COLOR", "FORCE_COLOR"])
def test_colour_has_nothing_to_do_with_it(
    terminal: Terminal, passes: Passes, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, "1")
    with shown_on(terminal, "x") as on_progress:
        passes(1)
        on_progress(1, 2)
    assert "x: 50%" in terminal.getvalue()
    assert "\x1b" not in terminal.getvalue()


def test_a_dumb_terminal_gets_nothing(terminal: Terminal, passes: Passes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    with shown_on(terminal, "x") as on_progress:
        passes(1)
        on_progress(1, 2)
    assert terminal.getvalue() == ""


def test_a_pipe_gets_nothing(passes: Passes) -> None:
    pipe = io.StringIO()
    with shown_on(pipe, "x") as on_progress:
        passes(1)
        on_progress(1, 2)
    assert pipe.getvalue() == ""
