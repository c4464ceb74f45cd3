"""`mcpctl serve` on the command line: what it refuses before it begins. What it does is in tests/proxy."""

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from mcpctl.paths import Paths
from tests.conftest import MCPCTL, Mcpctl

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}
HEAVY = ("mcp", "mcp_types", "pydantic", "numpy", "rank_bm25", "rich", "jsonschema", "tomlkit", "httpx")


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
