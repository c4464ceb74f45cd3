"""Environments that are installed on request: once, and never half."""

import sys
from pathlib import Path

import pytest

from tests import scratch


def test_a_folder_is_made_once_for_each_content(tmp_path: Path) -> None:
    made: list[str] = []

    def make(folder: Path) -> None:
        made.append(str(len(made)))
        assert not list(folder.iterdir())
        (folder / "file").touch()

    for content in ("a", "a", "b"):
        scratch.made(tmp_path / "env", content, make)
    assert made == ["0", "1"]


def test_what_failed_is_made_again(tmp_path: Path) -> None:
    def fail(folder: Path) -> None:
        (folder / "half").touch()
        scratch.run(sys.executable, "-c", "import sys; sys.exit('error: no such package')")

    with pytest.raises(scratch.CannotInstall, match="no such package"):
        scratch.made(tmp_path / "env", "a", fail)
    assert not (scratch.made(tmp_path / "env", "a", lambda folder: None) / "half").exists()


def test_a_program_that_is_not_there_is_told() -> None:
    with pytest.raises(scratch.CannotInstall, match="nowhere"):
        scratch.run("/nowhere/program")
