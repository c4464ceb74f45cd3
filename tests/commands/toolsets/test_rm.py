"""`mcpctl toolsets rm`"""

import json
from pathlib import Path

from mcpctl.base.models import Tool
from mcpctl.base.paths import Paths
from mcpctl.demo import notes
from mcpctl.toolsets.toolset import ref_id
from tests.configured import demo_tools, noted, toolset
from tests.conftest import Mcpctl


def test_tools_are_taken_out_and_what_is_noted_of_them_stays(mcpctl: Mcpctl, paths: Paths) -> None:
    demo_tools(paths)
    path = toolset(paths, "triage", "notes:add_note", "gone:tool", toolNotes=[noted("notes:add_note", tip="x")])
    assert mcpctl("toolsets", "rm", "triage", "notes:add_note", "gone:tool").out == "notes:add_note\ngone:tool\n"
    after = json.loads(path.read_text(encoding="utf-8"))
    assert after == {"name": "triage", "tools": [], "toolNotes": [noted("notes:add_note", tip="x")]}


def test_a_tool_that_is_not_in_it_is_said_and_none_is_taken_out(mcpctl: Mcpctl, paths: Paths) -> None:
    demo_tools(paths)
    path = toolset(paths, "triage", "notes:add_note")
    before = path.read_bytes()
    ran = mcpctl("toolsets", "rm", "triage", "notes:add_note", "weather:set_alert", "--data-dir", str(paths.data))
    assert ran.code == 3
    assert "tool 'weather:set_alert' is not in the toolset 'triage'" in ran.err
    assert path.read_bytes() == before


def test_all_of_it_is_deleted_when_that_is_said(mcpctl: Mcpctl, paths: Paths) -> None:
    path = toolset(paths, "triage", "notes:add_note")
    assert mcpctl("toolsets", "rm", "triage", "--all").out == "triage\n"
    assert not path.exists()
    assert mcpctl("toolsets", "rm", "triage", "--all").code == 3


def test_no_key_at_all_deletes_nothing(mcpctl: Mcpctl, paths: Paths) -> None:
    path = toolset(paths, "triage", "notes:add_note")
    for words in ((), ("notes:add_note", "--all")):
        ran = mcpctl("toolsets", "rm", "triage", *words)
        assert (ran.code, path.exists()) == (2, True)
        assert "mcpctl toolsets rm triage --all" in ran.err


def test_no_keys_on_stdin_are_not_all_of_it(mcpctl: Mcpctl, paths: Paths) -> None:
    path = toolset(paths, "triage", "notes:add_note")
    assert mcpctl("toolsets", "rm", "triage", "-", stdin="").code == 0
    assert path.exists()


def test_the_equipped_one_is_not_deleted(mcpctl: Mcpctl, paths: Paths) -> None:
    path = toolset(paths, "triage", "notes:add_note")
    mcpctl("toolsets", "equip", "triage")
    ran = mcpctl("toolsets", "rm", "triage", "--all")
    assert (ran.code, path.exists()) == (6, True)
    assert "hint: unequip it first: mcpctl toolsets unequip" in ran.err


def test_a_file_elsewhere_is_not_deleted(mcpctl: Mcpctl, paths: Paths, tmp_path: Path) -> None:
    path = toolset(paths, "triage", path=tmp_path / "triage.json")
    assert mcpctl("toolsets", "rm", str(path), "--all").code == 2
    assert path.exists()
    assert "--all" not in mcpctl("toolsets", "rm", str(path)).err


def test_a_wildcard_takes_out_what_is_in_it_listed_or_not(mcpctl: Mcpctl, paths: Paths) -> None:
    demo_tools(paths)
    hashed = {"refId": ref_id(Tool("notes", "list_notes", notes.server.tools["list_notes"][0], "{}"))}
    path = toolset(paths, "triage", "notes:add_note", "notes:gone", "weather:gone")
    content = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(content | {"tools": [*content["tools"], hashed]}), encoding="utf-8")
    ran = mcpctl("toolsets", "rm", "triage", "notes:*")
    assert ran.out == "notes:add_note\nnotes:gone\nnotes:list_notes\n"
    assert ran.err == "removed 3 tools from triage\n"
    assert json.loads(path.read_text(encoding="utf-8"))["tools"] == [{"namespacedName": "weather.gone"}]
    none = mcpctl("toolsets", "rm", "triage", "notes:*")
    assert (none.code, "mcpctl toolsets show triage" in none.err) == (3, True)
