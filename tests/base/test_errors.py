"""Warnings: each said once, whatever sends them, and remembered within bounds."""

import pytest

from mcpctl.base import errors


def test_a_warning_is_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(3):
        errors.warn("the disk is full")
    assert capsys.readouterr().err == "mcpctl: the disk is full\n"


def test_of_very_many_warnings_the_oldest_are_forgotten(capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(5000):
        errors.warn(f"fault {number}")
    assert len(capsys.readouterr().err.splitlines()) == 5000
    assert len(errors._warned) <= 1000
    errors.warn("fault 4999")
    assert capsys.readouterr().err == ""


def test_a_warning_is_cut_where_it_is_endless(capsys: pytest.CaptureFixture[str]) -> None:
    errors.warn("x" * 1_000_000)
    assert len(capsys.readouterr().err) < 3000


def test_a_terminal_gets_lines_that_end_between_words_and_whole_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "mcpctl: a policy that asks would protect 12 tools here; see it with: mcpctl policy explain notes:add_note"
    assert errors.folded(text) == text
    monkeypatch.setenv("COLUMNS", "30")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert errors.folded(text).split("\n") == [
        "mcpctl: a policy that asks", "would protect 12 tools here;", "see it with:",
        "mcpctl policy explain notes:add_note",
    ]  # fmt: skip
    text = "take it with mcpctl servers import --from x.json, and say its value (or none)"
    assert errors.folded(text).split("\n") == [
        "take it with", "mcpctl servers import --from x.json,", "and say its value (or none)",
    ]  # fmt: skip
    assert errors.folded("  an indented line, as a server wrote it") == "  an indented line, as a\nserver wrote it"
