"""The README says what happens: its command lines are run, and print what it shows."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
TOUR = "".join(text for kind, text in BLOCKS if kind == "console")
SHELL = [line for kind, text in BLOCKS if kind == "sh" for line in text.splitlines()]


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
    return any(f"{tool} " in line and not shutil.which(tool) for tool in ("jq", "sqlite3"))


@pytest.mark.process
def test_the_tour_prints_what_the_readme_shows(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "95")
    steps = [step.partition("\n") for step in re.split(r"^\$ ", TOUR, flags=re.MULTILINE)[1:]]
    assert len(steps) > 10
    for line, _, expected in steps:
        if not lacks_a_tool(line):
            ran = shell(line, home)
            assert (ran.stdout, ran.returncode, ran.stderr) == (
                expected.rstrip("\n") + "\n" * bool(expected.strip()),
                0,
                "",
            )


@pytest.mark.process
@pytest.mark.parametrize("line", [line for line in SHELL if line.startswith(("mcpctl ", "examples/"))])
def test_a_line_to_copy_does_its_work(line: str, home: Path) -> None:
    if line.startswith("examples/") and not shutil.which("jq"):
        pytest.skip("the recipes need jq")
    ran = shell(line, home)
    assert (ran.returncode, ran.stderr) == (0, "nothing found in 1 file\n" if " check " in line else "")


@pytest.mark.process
@pytest.mark.parametrize("name", ["startup", "calls", "soak"])
def test_a_benchmark_can_be_asked_for_help(name: str, home: Path) -> None:
    assert f"python -m tests.bench.{name}" in README
    assert shell(f"python -m tests.bench.{name} --help", home).returncode == 0


def test_ci_runs_the_very_line_that_the_readme_gives() -> None:
    lines = [line for line in SHELL if line.endswith("pytest -n 2")]
    assert len(lines) == 1
    assert lines[0] in (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()


def test_the_line_that_sets_up_ends_in_the_demo() -> None:
    assert [line for line in SHELL if line.endswith("mcpctl demo") and "pip install" in line]
