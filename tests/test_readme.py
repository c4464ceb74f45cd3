"""The README says what happens: its command lines are run, and print what it shows."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
import typer
from typer._click.core import Command
from typer.core import TyperGroup

from mcpctl.cli.command_tree import tree
from mcpctl.clients.client_kinds import CLIENTS

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
GUIDES = sorted((ROOT / "mcpctl" / "docgen" / "guides").glob("*.md"))
TEXTS = [README, *(guide.read_text(encoding="utf-8") for guide in GUIDES)]


def blocks(text: str) -> list[tuple[str, str]]:
    """The fenced blocks of a text, each with its kind."""
    return re.findall(r"^```(\w+)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


SHELL = [line for kind, text in blocks(README) if kind == "sh" for line in text.splitlines()]


def shell(line: str, home: Path) -> subprocess.CompletedProcess[str]:
    """Run a line as a person would, the package's commands on the PATH."""
    bin_ = home / "bin"
    bin_.mkdir(parents=True, exist_ok=True)
    for name, args in (("mcpctl", ' -m mcpctl "$@"'), ("python", ' "$@"')):
        (bin_ / name).write_text(f'#!/bin/sh\nexec "{sys.executable}"{args}\n', encoding="utf-8")
        (bin_ / name).chmod(0o755)
    env = {**os.environ, "HOME": str(home), "PATH": f"{bin_}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    return subprocess.run(line, shell=True, cwd=ROOT, env=env, capture_output=True, text=True, timeout=60, check=False)


def lacks_a_tool(line: str) -> bool:
    """Whether a line needs a program that this machine does not have; none of ours is."""
    needed = [tool for tool in ("jq", "sqlite3") if f"{tool} " in line] + ["jq"] * line.startswith("examples/")
    return any(not shutil.which(tool) for tool in needed)


def steps(kind: str, text: str) -> list[tuple[str, str | None]]:
    """The command lines of a block, each with what it prints; None where the README does not show it."""
    if kind == "console":
        shown = (step.partition("\n") for step in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:])
        return [(line, rest.rstrip("\n") + "\n" * bool(rest.strip())) for line, _, rest in shown]
    return [(line, None) for line in text.splitlines() if line.startswith(("mcpctl ", "examples/"))]


def every(text: str) -> list[tuple[str, str | None]]:
    """All command lines of a text that are run, each with what it prints."""
    return [step for kind, block in blocks(text) if kind in ("sh", "console") for step in steps(kind, block)]


def run(lines: list[tuple[str, str | None]], home: Path) -> None:
    """Run command lines one after the other; each works, and prints what is shown."""
    for line, shown in lines:
        if lacks_a_tool(line):
            continue
        ran = shell(line, home)
        said = "nothing found in 1 file\n" if "annotate check " in line else ""
        assert (ran.returncode, ran.stderr) == (0, said), line
        assert shown in (None, ran.stdout), line


@pytest.mark.slow
@pytest.mark.process
def test_from_top_to_bottom_every_line_works_and_prints_what_is_shown(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert len(every(README)) > 20
    run(every(README), home)


@pytest.mark.slow
@pytest.mark.process
def test_every_line_of_a_guide_works_with_the_servers_of_the_readme(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    adding = ("mcpctl servers add", "mcpctl tools ref")
    run([(line, None) for line, _ in every(README) if line.startswith(adding)], home)
    added = home.rename(tmp_path / "added")
    for guide in GUIDES:
        if guide.stem == "sandbox":  # test_sandbox.py runs it, with the server that it is about, where bwrap works
            continue
        shutil.copytree(added, home)
        run(every(guide.read_text(encoding="utf-8")), home)
        shutil.rmtree(home)


@cache
def whole() -> Command:
    """The command line with all its commands."""
    return typer.main.get_command(tree())


def parse(line: str) -> None:
    """Parse a command line, all its options and arguments; raises where mcpctl does not take it."""
    program, *words = shlex.split(line)
    assert program == "mcpctl"
    command = whole()
    context = command.make_context("mcpctl", words)
    while isinstance(command, TyperGroup) and (words := [*context._protected_args, *context.args]):
        name, found, words = command.resolve_command(context, words)
        assert found and name, line
        command, context = found, found.make_context(name, words, parent=context)


def test_a_command_line_that_is_only_for_example_is_one_that_mcpctl_takes() -> None:
    lines = [line for text in TEXTS for kind, block in blocks(text) if kind == "text" for line in block.splitlines()]
    assert len(lines) > 5
    for line in lines:
        parse(line)


def test_ci_runs_the_very_line_that_the_readme_gives() -> None:
    lines = [line for line in SHELL if line.endswith("pytest -n 3")]
    assert len(lines) == 1
    assert lines[0] in (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()


def test_the_line_that_sets_up_ends_in_the_demo() -> None:
    assert [line for line in SHELL if line.endswith("mcpctl demo") and "pip install" in line]


@pytest.mark.slow
@pytest.mark.process
@pytest.mark.network
@pytest.mark.skipif(not os.environ.get("MCPCTL_LIVE_TESTS"), reason="it needs PyPI: set MCPCTL_LIVE_TESTS=1")
def test_each_line_that_installs_puts_the_command_on_the_path(tmp_path: Path) -> None:
    lines = [line for line in SHELL if line.endswith((" install .", "~/.local/bin/mcpctl"))]
    assert len(lines) == 3
    tools = tmp_path / "tools"
    subprocess.run([sys.executable, "-m", "venv", tools], check=True)
    subprocess.run([tools / "bin" / "pip", "install", "-q", "uv", "pipx"], check=True)
    for number, line in enumerate(lines):
        home = tmp_path / str(number)
        env = {
            **os.environ,
            "HOME": str(home),
            "PYTHONPATH": "",
            "PATH": f"{home / '.local' / 'bin'}:{tools / 'bin'}:{os.environ['PATH']}",
        }
        home.mkdir()
        subprocess.run(line, shell=True, cwd=ROOT, env=env, check=True)
        asked = subprocess.run(["mcpctl", "--version"], cwd=home, env=env, capture_output=True, text=True, check=True)
        assert asked.stdout.startswith("mcpctl "), line
        assert shutil.which("mcpctl", path=env["PATH"]) == str(home / ".local" / "bin" / "mcpctl"), line


def test_every_client_is_named() -> None:
    (named,) = re.findall(r"`install` knows ([^.]+)\.", README)
    assert re.split(r",\s+|\s+and\s+", named) == list(CLIENTS)
