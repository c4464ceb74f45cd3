"""`mcpctl toolsets add`"""

import json

from mcpctl.base.paths import Paths
from tests.configured import demo_tools, noted, toolset
from tests.conftest import Mcpctl


def test_tools_are_put_in_by_their_names_and_all_else_stays(mcpctl: Mcpctl, paths: Paths) -> None:
    demo_tools(paths)
    path = toolset(paths, "triage", "notes:add_note", toolNotes=[noted("notes:add_note", tip="x")], mine=[1])
    before = json.loads(path.read_text(encoding="utf-8"))
    ran = mcpctl("toolsets", "add", "triage", "notes:add_note", "weather:set_alert", "-", stdin="notes:list_notes\n")
    assert ran.out == "weather:set_alert\nnotes:list_notes\n"
    after = json.loads(path.read_text(encoding="utf-8"))
    assert [tool["namespacedName"] for tool in after["tools"]] == [
        "notes.add_note", "notes.list_notes", "weather.set_alert",
    ]  # fmt: skip
    assert {**after, "tools": before["tools"]} == before


def test_an_unknown_toolset_is_not_found_and_the_near_one_is_named(mcpctl: Mcpctl, paths: Paths) -> None:
    demo_tools(paths)
    toolset(paths, "triage")
    ran = mcpctl("toolsets", "add", "triag", "notes:add_note")
    assert (ran.code, ran.err) == (3, "mcpctl: no toolset 'triag'\nhint: did you mean 'triage'?\n")


def test_a_wildcard_adds_those_that_are_not_in_it(mcpctl: Mcpctl, paths: Paths) -> None:
    demo_tools(paths)
    toolset(paths, "triage", "notes:add_note")
    ran = mcpctl("toolsets", "add", "triage", "notes:*_note")
    assert (ran.out, ran.err) == ("notes:delete_note\n", "added 1 tool to triage\n")
