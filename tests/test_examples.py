"""Every example works as it is."""

import json
import re
import shlex
import shutil
import tomllib
from pathlib import Path
from typing import Any

import pytest

from mcpctl.base.paths import Paths
from mcpctl.clients.client_kinds import CLIENTS
from mcpctl.config import config
from mcpctl.demo import notes, weather
from tests.configured import configure
from tests.conftest import Mcpctl
from tests.table import for_each
from tests.test_readme import ROOT, shell

EXAMPLES = ROOT / "examples"


def parsed(text: str, name: str) -> Any:
    return tomllib.loads(text) if name.startswith("codex") else json.loads(text)


@pytest.mark.parametrize("file", sorted((EXAMPLES / "clients").iterdir()), ids=lambda file: file.name)
def test_a_client_configuration_is_what_mcpctl_prints_for_that_client(
    mcpctl: Mcpctl, monkeypatch: pytest.MonkeyPatch, file: Path
) -> None:
    monkeypatch.delenv("MCPCTL_HOME")
    monkeypatch.setattr("mcpctl.clients.client_config.command", lambda: ["/path/to/.venv/bin/mcpctl"])
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    printed = mcpctl("serve", "--print-config", file.stem).out
    assert parsed(file.read_text(encoding="utf-8"), file.name) == parsed(printed, file.name)


def test_every_client_has_its_example() -> None:
    assert {file.stem for file in (EXAMPLES / "clients").iterdir()} == set(CLIENTS)


def test_the_example_configuration_is_usable() -> None:
    loaded = config.load(EXAMPLES / "config.toml")
    assert not loaded.problems
    assert list(loaded.enabled) == ["notes", "weather"]


@pytest.mark.slow
@pytest.mark.process
@pytest.mark.skipif(not shutil.which("jq"), reason="the recipe needs jq")
def test_the_recipe_for_unused_tools_denies_what_may_do_harm(mcpctl: Mcpctl, paths: Paths, home: Path) -> None:
    configure(paths)
    assert mcpctl("tools", "refresh").code == 0
    denied = tomllib.loads(shell("examples/never_used.sh", home).stdout)
    assert denied["servers"]["notes"] == {"tools": {"delete_note": False}}
    assert "get_forecast" not in denied["servers"]["weather"]["tools"]


def test_the_example_of_servers_can_be_imported(mcpctl: Mcpctl, paths: Paths) -> None:
    assert mcpctl("servers", "import", "--from", str(EXAMPLES / "servers.json")).code == 0
    assert list(config.load(paths.config).servers) == ["time", "github", "acme"]


@pytest.mark.slow
@pytest.mark.process
def test_the_calls_of_the_example_of_an_http_api_are_answered(home: Path) -> None:
    ran = shell("sh examples/openapi/calls.sh", home)
    assert ran.returncode == 0, ran.stderr
    lines = ran.stdout.splitlines()
    assert lines[0].startswith("shop\t4\t")
    assert "shop:orders/list" in lines[1:3]
    assert '{"id": "a/1", "item": "tea", "amount": 2, "status": "open"}' in lines
    assert "Authorization: Bearer ***" in lines
    assert any(re.fullmatch(r"POST http://127\.0\.0\.1:[0-9]+/v1/orders", line) for line in lines)
    assert lines[-2:] == ["no such order", "orders/get\t404"]


CI = {
    name: [
        shlex.split(line)
        for line in re.findall(r"(?:run|entry): mcpctl (.*)", (EXAMPLES / "ci" / name).read_text("utf-8"))
    ]
    for name in ("github-workflow.yml", "pre-commit-config.yaml")
}


@pytest.mark.parametrize("name", CI)
def test_a_check_in_ci_passes_for_the_sample_and_fails_for_a_broken_one(
    mcpctl: Mcpctl, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    shutil.copytree(EXAMPLES / "ci" / "tools", tmp_path / "tools")
    monkeypatch.chdir(tmp_path)
    (words,) = CI[name]
    files = ["tools/triage.json"] if name.startswith("pre-commit") else []
    assert words[:2] == ["annotate", "check"]
    passed = mcpctl(*words, *files)
    assert (passed.code, passed.out, passed.err) == (0, "", "nothing found in 1 file\n")
    sample = Path("tools/triage.json")
    sample.write_text(sample.read_text(encoding="utf-8").replace("add_note", "add_notes"), encoding="utf-8")
    failed = mcpctl(*words, *files)
    assert failed.code == 7
    assert "E113" in failed.out


@for_each("name", CI)
def test_a_file_for_ci_has_no_tabs_and_is_indented_by_steps_of_two(name: str) -> None:
    for line in (EXAMPLES / "ci" / name).read_text(encoding="utf-8").splitlines():
        assert "\t" not in line
        assert line.startswith("#") or (len(line) - len(line.lstrip(" "))) % 2 == 0


def test_the_hook_that_the_repository_has_for_pre_commit_is_a_command(mcpctl: Mcpctl) -> None:
    text = (ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8")
    (entry,) = re.findall("entry: mcpctl (.*)", text)
    (name,) = re.findall("- id: (.*)", text)
    assert mcpctl(*shlex.split(entry), str(EXAMPLES / "ci" / "tools" / "triage.json")).code == 0
    (files,) = re.findall(r"\n  files: (.*)", text)
    for path, is_checked in (("package.json", False), ("tools/a/triage.json", True), ("x/toolsets/triage.json", True)):
        assert bool(re.search(files, path)) is is_checked
    assert f"id: {name}" in (EXAMPLES / "ci" / "pre-commit-config.yaml").read_text(encoding="utf-8")


def test_actions_are_named_by_their_commit() -> None:
    text = (EXAMPLES / "ci" / "github-workflow.yml").read_text(encoding="utf-8")
    used = re.findall("uses: (.*)", text)
    assert used
    assert all(re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v[0-9.]+", each) for each in used)


def test_the_sample_catalog_is_what_the_bundled_servers_list() -> None:
    lines = (EXAMPLES / "ci" / "tools" / "catalog.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line) for line in lines] == [
        {"server": name, "tool": definition}
        for name, server in (("notes", notes.server), ("weather", weather.server))
        for definition, _ in server.tools.values()
    ]
