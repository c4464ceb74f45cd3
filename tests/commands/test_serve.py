"""`mcpctl serve` on the command line: what it refuses before it begins. What it does is in tests/proxy."""

import inspect
import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from mcpctl.base.paths import Paths
from mcpctl.proxy import process
from tests.conftest import MCPCTL, Mcpctl

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}
HEAVY = ("typer", "mcp", "mcp_types", "pydantic", "numpy", "rank_bm25", "rich", "jsonschema", "tomlkit", "httpx")


@pytest.mark.parametrize("words", [["extra"], ["--bogus"], ["--config"], ["--verbose=maybe"]])
def test_wrong_usage_exits_2_with_nothing_on_stdout(mcpctl: Mcpctl, words: Sequence[str]) -> None:
    assert mcpctl("serve", *words).code == 2


def test_a_configuration_that_is_no_toml_exits_5_before_anything_is_served(mcpctl: Mcpctl, paths: Paths) -> None:
    paths.config.parent.mkdir()
    paths.config.write_text("servers = \n", encoding="utf-8")
    ran = mcpctl("serve")
    assert ran.code == 5
    assert f"{paths.config}" in ran.err
    assert "line 1, column" in ran.err


def test_help_shows_how_to_start_it(mcpctl: Mcpctl) -> None:
    assert "mcpctl serve --config servers.toml" in mcpctl("serve", "--help").out


@pytest.mark.parametrize("project", [None, "", "acme"])
def test_without_options_it_is_what_the_parser_starts(
    mcpctl: Mcpctl, monkeypatch: pytest.MonkeyPatch, project: str | None
) -> None:
    monkeypatch.delenv("MCPCTL_PROJECT", raising=False)
    if project is not None:
        monkeypatch.setenv("MCPCTL_PROJECT", project)
    started = []
    parameters = inspect.signature(process.run)

    def run(*args: Any, **options: Any) -> None:
        bound = parameters.bind(*args, **options)
        bound.apply_defaults()
        started.append(bound.arguments)

    monkeypatch.setattr(process, "run", run)
    for words in (["serve"], ["--no-color", "serve"]):
        assert mcpctl(*words).code == 0
    without_parser, parsed = started
    assert without_parser == parsed
    assert without_parser["project"] == (project or None)


def test_without_options_too_a_configuration_that_is_named_must_exist(
    mcpctl: Mcpctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MCPCTL_CONFIG", "/nowhere/config.toml")
    ran = mcpctl("serve")
    assert ran.code == 5
    assert ran == mcpctl("--no-color", "serve")


@pytest.mark.slow
@pytest.mark.process
def test_nothing_heavy_is_imported_before_the_first_answer(tmp_path: Path) -> None:
    """A module that is imported leaves its name in a file; the file is read when the answer is there."""
    finder = tmp_path / "sitecustomize.py"
    finder.write_text(
        "import sys\n"
        f"heavy = {HEAVY!r}\n"
        "class Finder:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name in heavy:\n"
        f"            open({str(tmp_path / 'imported')!r}, 'a').write(name + ' ')\n"
        "sys.meta_path.insert(0, Finder())\n",
        encoding="utf-8",
    )
    env = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{os.environ['PYTHONPATH']}"}
    process = subprocess.Popen([*MCPCTL, "serve"], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin
    assert process.stdout
    process.stdin.write(json.dumps(INITIALIZE).encode() + b"\n")
    process.stdin.flush()
    answer = json.loads(process.stdout.readline())
    imported = tmp_path / "imported"
    assert answer["result"]["serverInfo"]["name"] == "mcpctl"
    assert not imported.exists() or imported.read_text(encoding="utf-8") == ""
    process.communicate(timeout=30)
    assert process.returncode == 0


def test_a_lock_file_that_cannot_be_read_is_an_error_at_the_start(mcpctl: Mcpctl, tmp_path: Path) -> None:
    lock = tmp_path / "mcpctl.lock.json"
    assert mcpctl("serve", "--locked", str(lock)).code == 3
    lock.write_text("{}")
    ran = mcpctl("serve", "--locked", str(lock))
    assert ran.code == 5
    assert "is not a lock file" in ran.err
