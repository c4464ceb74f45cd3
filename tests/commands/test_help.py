"""`mcpctl help`"""

import os
import subprocess
from pathlib import Path

import pytest

import mcpctl as package
from mcpctl.cli.command_tree import GUIDES, NOUNS
from tests.conftest import Mcpctl
from tests.table import for_each

FOLDER = Path(package.__file__).parent / "docgen" / "guides"


@pytest.mark.parametrize("words", [[], ["calls"], ["calls", "ls"], ["serve"], ["help"]])
def test_help_of_a_command_is_what_its_option_prints(mcpctl: Mcpctl, words: list[str]) -> None:
    asked = mcpctl("help", *words)
    assert asked == mcpctl(*words, "--help")
    assert asked.out.startswith(f"Usage: {' '.join(('mcpctl', *words))} ")


@pytest.mark.parametrize("words", [["bogus"], ["calls", "list"]])
def test_help_of_what_is_no_command_is_wrong_usage(mcpctl: Mcpctl, words: list[str]) -> None:
    ran = mcpctl("help", *words)
    assert (ran.code, ran.out) == (2, "")
    assert f"there is no command '{' '.join(words)}'" in ran.err


@for_each("guide", GUIDES)
def test_every_guide_is_printed_as_it_is_written(mcpctl: Mcpctl, guide: str) -> None:
    written = (FOLDER / f"{guide}.md").read_text(encoding="utf-8")
    assert mcpctl("help", f"{guide}-guide").out == written
    assert mcpctl("help", guide).out.startswith("Usage: " if guide in NOUNS else written)


def test_the_help_lists_every_guide_that_there_is(mcpctl: Mcpctl) -> None:
    assert [file.stem for file in sorted(FOLDER.glob("*.md"))] == sorted(GUIDES)
    listed = mcpctl("-h").out.split("Guides: ")[1]
    assert all(guide in listed for guide in GUIDES)
    assert mcpctl("help").out == mcpctl("-h").out


def test_a_guide_at_a_terminal_is_as_wide_as_that_and_its_examples_are_whole(
    mcpctl: Mcpctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "50")
    text, is_code = mcpctl("help", "setup-guide", tty=True).out, False
    for line in text.splitlines():
        is_code ^= line.startswith("```")
        assert is_code or line.startswith("#") or len(line) <= 50 or " " not in line.removeprefix("- ").strip(), line
    assert "\nexport MANPATH=" in text
    assert text.split() == (FOLDER / "setup.md").read_text(encoding="utf-8").split()


@pytest.mark.process
def test_the_line_of_the_setup_guide_lets_man_find_the_pages_of_a_linked_program(tmp_path: Path) -> None:
    line = next(line for line in (FOLDER / "setup.md").read_text().splitlines() if line.startswith("export MANPATH="))
    (program := tmp_path / "a venv" / "bin" / "mcpctl").parent.mkdir(parents=True)
    program.write_text("")
    program.chmod(0o700)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "mcpctl").symlink_to(program)
    path = f"{tmp_path / 'bin'}:{os.environ['PATH']}"
    ran = subprocess.run(
        ["sh", "-c", f'{line}\nprintf %s "$MANPATH"'], env={"PATH": path}, capture_output=True, text=True, check=True
    )
    assert ran.stdout == f"{tmp_path / 'a venv' / 'share' / 'man'}:"  # the empty end is where man looks by itself
