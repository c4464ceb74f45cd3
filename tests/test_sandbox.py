"""The guide to sandboxes says what happens: its bwrap example is run as it stands, and it keeps what it promises."""

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from mcpctl.base.paths import Paths
from mcpctl.config import config
from tests.conftest import ROOT
from tests.test_readme import blocks, every, shell

GUIDE = (ROOT / "mcpctl" / "docgen" / "guides" / "sandbox.md").read_text(encoding="utf-8")
BWRAP, DOCKER = (text for kind, text in blocks(GUIDE) if kind == "toml")
PROGRAM = ["python", "-m", "mcpctl.demo.notes"]


def why_not() -> str:
    """Why no sandbox can be made here; empty where one can."""
    if not shutil.which("bwrap"):
        return "bwrap is not installed"
    words = ["bwrap", "--unshare-all", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "true"]
    ran = subprocess.run(words, capture_output=True, text=True, timeout=30, check=False)
    return f"bwrap cannot make a sandbox here: {ran.stderr.strip()}" if ran.returncode else ""


def example() -> str:
    """The guide's entry; a checkout or a Python below /tmp, which is empty there, is mounted again."""
    hidden = {str(folder) for folder in (ROOT, sys.prefix, sys.base_prefix) if str(folder).startswith("/tmp/")}
    mounts = "".join(f'"--ro-bind", "{folder}", "{folder}", ' for folder in sorted(hidden))
    program = '"python", "-m", "mcpctl.demo.notes"'
    assert BWRAP.count(program) == 1
    return BWRAP.replace(program, mounts + program)


@pytest.fixture
def boxed(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A person's home with the guide's program in it, and the guide's entry in config.toml."""
    if reason := why_not():
        pytest.skip(reason)
    user = tmp_path / "user"
    shell("true", user)  # which puts `mcpctl` and `python` into its bin
    (user / ".local").mkdir()
    (user / "bin").rename(user / ".local" / "bin")
    (user / "secret").write_text("secret", encoding="utf-8")
    home.mkdir(exist_ok=True)
    (home / "config.toml").write_text(example(), encoding="utf-8")
    monkeypatch.setenv("HOME", str(user))
    monkeypatch.setenv("PATH", f"{user / '.local' / 'bin'}:{os.environ['PATH']}")
    return user


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.slow
@pytest.mark.process
def test_each_line_of_the_guide_works_with_its_entry_and_prints_what_is_shown(boxed: Path) -> None:
    lines = every(GUIDE)
    assert len(lines) == 3
    for line, shown in lines:
        ran = run("sh", "-c", line)
        assert (ran.returncode, ran.stderr, ran.stdout) == (0, "", shown), line


def entry(text: str) -> Any:
    ((_, found),) = tomllib.loads(text)["servers"].items()
    return found


@pytest.mark.process
def test_what_runs_there_has_no_network_writes_nothing_and_does_not_see_the_home(boxed: Path) -> None:
    args = [arg.replace("${HOME}", str(boxed)) for arg in entry(example())["args"]]
    assert args[-len(PROGRAM) :] == PROGRAM
    started = ["bwrap", *args[: -len(PROGRAM)]]
    assert run(*started, "ls", "-A", str(boxed)).stdout == ".local\n"
    assert run(*started, "cat", str(boxed / "secret")).returncode != 0
    assert run(*started, "ls", "-A", "/run").stdout == ""
    written = run(*started, "touch", str(boxed / ".local" / "new"), str(ROOT / "new"), "/usr/new")
    assert written.stderr.count("Read-only file system") == 3
    assert run(*started, "touch", "/tmp/new").returncode == 0
    assert not Path("/tmp/new").exists()
    assert run(*started, "cat", "/proc/net/dev").stdout.count(":") == 1  # the loopback alone
    assert run("cat", str(boxed / "secret")).stdout == "secret"


def test_both_entries_of_the_guide_are_ones_that_mcpctl_takes(paths: Paths) -> None:
    paths.config.parent.mkdir(parents=True, exist_ok=True)
    for text in (BWRAP, DOCKER):
        paths.config.write_text(text, encoding="utf-8")
        loaded = config.load(paths.config)
        assert not loaded.problems
        assert len(loaded.servers) == 1
