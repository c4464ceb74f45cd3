"""`mcpctl toolsets build`"""

import json
from pathlib import Path

import pytest

from mcpctl.base.paths import Paths
from tests.configured import DEMO, demo_tools, listed, stub, toolset
from tests.conftest import Mcpctl


def test_a_toolset_is_made_of_tools_by_their_keys(mcpctl: Mcpctl, paths: Paths) -> None:
    demo_tools(paths)
    ran = mcpctl("toolsets", "build", "triage", "notes:add_note", "weather.set_alert", "--description", "For triage")
    assert (ran.out, ran.err) == ("triage\n", "")
    path = paths.toolsets / "triage.json"
    made = json.loads(path.read_text(encoding="utf-8"))
    assert list(made) == ["name", "description", "version", "createdAt", "tools"]
    assert [tool["namespacedName"] for tool in made["tools"]] == ["notes.add_note", "weather.set_alert"]
    assert all(len(tool["refId"]) == 64 for tool in made["tools"])
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert [file.name for file in path.parent.iterdir()] == ["triage.json"]


def test_keys_come_from_another_command(mcpctl: Mcpctl, paths: Paths) -> None:
    demo_tools(paths)
    found = mcpctl("tools", "ls", "--server", "weather", "--fields", "key").out
    mcpctl("toolsets", "build", "weather", "-", "notes:add_note", "notes:add_note", stdin=found)
    rows = mcpctl("tools", "ls", "--toolset", "weather", "--fields", "key").out.splitlines()
    assert sorted(rows) == sorted([*found.splitlines(), "notes:add_note"])


def test_a_path_is_a_file_anywhere(mcpctl: Mcpctl, paths: Paths, tmp_path: Path) -> None:
    demo_tools(paths)
    path = tmp_path / "repository" / "tools.json"
    assert mcpctl("toolsets", "build", str(path), "notes:add_note").out == f"{path}\n"
    assert json.loads(path.read_text(encoding="utf-8"))["name"] == "tools"
    assert mcpctl("tools", "ls", "--toolset", str(path), "--fields", "key").out == "notes:add_note\n"


def test_an_unknown_key_is_not_found_and_nothing_is_made(mcpctl: Mcpctl, paths: Paths) -> None:
    demo_tools(paths)
    ran = mcpctl("toolsets", "build", "triage", "notes:add_note", "notes:ad_note")
    assert ran.code == 3
    assert "did you mean 'notes:add_note'?" in ran.err
    assert not paths.toolsets.exists()


@pytest.mark.parametrize("name", ["Triage", "x", "none", "a b", "../up", "x" * 51])
def test_a_bad_name_is_refused(mcpctl: Mcpctl, paths: Paths, name: str) -> None:
    demo_tools(paths)
    assert mcpctl("toolsets", "build", name, "notes:add_note").code == 2


def test_without_tools_nothing_is_made(mcpctl: Mcpctl, paths: Paths) -> None:
    demo_tools(paths)
    assert mcpctl("toolsets", "build", "triage").code == 2
    assert mcpctl("toolsets", "build", "triage", "-", stdin="\n").code == 2


def test_one_that_is_there_is_not_overwritten(mcpctl: Mcpctl, paths: Paths) -> None:
    demo_tools(paths)
    path = toolset(paths, "triage", "notes:add_note")
    before = path.read_bytes()
    ran = mcpctl("toolsets", "build", "triage", "notes:list_notes")
    assert ran.code == 1
    assert "hint: add tools to it with: mcpctl toolsets add triage KEY" in ran.err
    assert path.read_bytes() == before


def test_every_tool_can_be_named_whatever_is_equipped(mcpctl: Mcpctl, paths: Paths) -> None:
    demo_tools(paths)
    toolset(paths, "triage", "notes:add_note")
    mcpctl("toolsets", "equip", "triage")
    assert mcpctl("toolsets", "build", "other", "weather:set_alert").code == 0


def test_a_wildcard_stands_for_the_tools_that_are_listed_now(mcpctl: Mcpctl, paths: Paths) -> None:
    demo_tools(paths)
    ran = mcpctl("toolsets", "build", "triage", "weather.*", "notes:?dd_*", "notes:add_note")
    assert (ran.out, ran.err) == ("triage\n", "4 tools\n")
    made = json.loads((paths.toolsets / "triage.json").read_text(encoding="utf-8"))
    names = [tool["namespacedName"] for tool in made["tools"]]
    assert names == ["notes.add_note", *sorted(name for name in names if name.startswith("weather."))]
    assert len(names) == 4
    assert mcpctl("toolsets", "build", "every", "*").err == "7 tools\n"


@pytest.mark.parametrize(
    ("word", "code", "told"),
    [("gits:*", 3, "servers with tools: notes, weather; not listed yet: new: mcpctl tools refresh"),
     ("Notes:*", 3, "no tool matches 'Notes:*'"), ("*", 0, ""), ("a b:*", 2, "must be server:tool")],
)  # fmt: skip
def test_a_wildcard_that_stands_for_none_names_the_servers(
    mcpctl: Mcpctl, paths: Paths, word: str, code: int, told: str
) -> None:
    demo_tools(paths, {**DEMO, "new": stub()})
    ran = mcpctl("toolsets", "build", "triage", word)
    assert (ran.code, told in ran.err) == (code, True)
    assert (paths.toolsets / "triage.json").exists() is (code == 0)


def test_a_tool_that_a_server_calls_a_wildcard_is_one_tool_on_stdin(mcpctl: Mcpctl, paths: Paths) -> None:
    demo_tools(paths)
    listed(paths, "weather", [{"name": "*", "inputSchema": {}}, {"name": "get_forecast", "inputSchema": {}}])
    assert mcpctl("toolsets", "build", "triage", "-", stdin="weather:*\n").code == 0
    assert mcpctl("tools", "ls", "--toolset", "triage", "--fields", "key").out == "weather:*\n"
