"""`mcpctl toolsets show`"""

from mcpctl.base.paths import Paths
from mcpctl.catalog import rows
from mcpctl.toolsets.toolset import ref_id
from tests.configured import demo_tools, noted, overridden, reference, toolset
from tests.conftest import Mcpctl


def hash_of(paths: Paths, key: str) -> str:
    with rows.catalog(paths) as catalog:
        return ref_id(rows.resolve(catalog, key))


def test_each_tool_is_shown_with_whether_it_is_there_and_what_is_said_of_it(mcpctl: Mcpctl, paths: Paths) -> None:
    demo_tools(paths)
    toolset(
        paths, "triage", "notes:add_note", "gone:tool",
        toolNotes=[noted("notes:add_note", tip="Mind it.")],
        toolOverrides=[overridden("notes:add_note", "T", destructiveHint=True)],
    )  # fmt: skip
    row = mcpctl("toolsets", "show", "triage", "--json").json
    assert row["own"] is True
    assert row["tools"] == [
        {"key": "notes:add_note", "ref_id": None, "status": "ok", "notes": [{"name": "tip", "note": "Mind it."}],
         "overrides": {"destructiveHint": True, "title": "T"}},
        {"key": "gone:tool", "ref_id": None, "status": "unknown", "notes": [], "overrides": {}},
    ]  # fmt: skip
    out = mcpctl("toolsets", "show", "triage").out
    assert "notes:add_note\n  destructiveHint: true\n  title: T\n  tip: Mind it.\n" in out
    assert "gone:tool  (no such tool is listed)" in out


def test_a_hash_that_no_longer_matches_is_information(mcpctl: Mcpctl, paths: Paths) -> None:
    demo_tools(paths)
    tools = [
        {**reference("notes:add_note"), "refId": "0" * 64},
        {**reference("notes:list_notes"), "refId": hash_of(paths, "notes:list_notes")},
        {"refId": hash_of(paths, "weather:set_alert")},
        {"refId": "1" * 64},
    ]
    toolset(paths, "triage", tools=tools)
    shown = mcpctl("toolsets", "show", "triage", "--json").json["tools"]
    assert [(tool["key"], tool["status"]) for tool in shown] == [
        ("notes:add_note", "changed"), ("notes:list_notes", "ok"), ("weather:set_alert", "ok"), (None, "unknown"),
    ]  # fmt: skip
    listed = mcpctl("tools", "ls", "--toolset", "triage", "--fields", "key").out.split()
    assert listed == ["notes:add_note", "notes:list_notes", "weather:set_alert"]


def test_without_a_name_it_is_the_one_in_force(mcpctl: Mcpctl, paths: Paths) -> None:
    toolset(paths, "triage", "a:b")
    ran = mcpctl("toolsets", "show", "--json")
    assert (ran.code, ran.error["code"]) == (3, "no_toolset")
    mcpctl("toolsets", "equip", "triage")
    assert mcpctl("toolsets", "show", "--json").json["name"] == "triage"
