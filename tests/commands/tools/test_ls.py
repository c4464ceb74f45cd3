"""`mcpctl tools ls`: hints as somebody declared them, filters by the hints in effect."""

from pathlib import Path

import pytest

from mcpctl.paths import Paths
from tests.configured import DEMO, configure, demo_tools, listed, stub
from tests.conftest import Mcpctl

HINTS = ("read_only", "destructive", "idempotent", "open_world")


def declared(name: str, **annotations: object) -> dict[str, object]:
    return {"name": name, "inputSchema": {"type": "object"}, "annotations": annotations}


def cells(mcpctl: Mcpctl, key: str) -> list[str]:
    lines = [line.split("\t") for line in mcpctl("tools", "ls").out.splitlines()]
    return next(line[1:5] for line in lines if line[0] == key)


def keys(mcpctl: Mcpctl, *options: str) -> list[str]:
    return mcpctl("tools", "ls", "--fields", "key", *options).out.split()


def test_a_declared_hint_is_yes_or_no(mcpctl: Mcpctl, paths: Paths) -> None:
    demo_tools(paths)
    assert cells(mcpctl, "notes:add_note") == ["no", "no", "no", "no"]
    assert cells(mcpctl, "notes:delete_note") == ["no", "yes", "yes", "no"]


def test_a_hint_that_nobody_declared_is_a_dash_and_never_a_no(mcpctl: Mcpctl, paths: Paths) -> None:
    demo_tools(paths)
    assert cells(mcpctl, "weather:convert_temperature") == ["-", "-", "-", "-"]
    assert cells(mcpctl, "weather:set_alert") == ["no", "-", "yes", "-"]


def test_a_read_only_tool_is_not_made_to_declare_what_follows_from_it(mcpctl: Mcpctl, paths: Paths) -> None:
    demo_tools(paths)
    assert cells(mcpctl, "weather:get_forecast") == ["yes", "-", "-", "yes"]


@pytest.mark.parametrize("rubbish", ["yes", 1, None, [], {}])
def test_a_hint_that_is_no_boolean_is_not_declared(mcpctl: Mcpctl, paths: Paths, rubbish: object) -> None:
    configure(paths, {"s": stub()})
    listed(paths, "s", [declared("t", readOnlyHint=rubbish, destructiveHint=False)])
    assert cells(mcpctl, "s:t") == ["-", "no", "-", "-"]


def test_json_tells_what_is_declared_from_what_is_in_effect(mcpctl: Mcpctl, paths: Paths) -> None:
    demo_tools(paths)
    rows = {row["key"]: row for row in mcpctl("tools", "ls", "--json").json}
    unset = {"declared": None, "override": None, "effective": True, "source": "default"}
    assert rows["weather:convert_temperature"]["destructive"] == unset
    declared_no = {"declared": False, "override": None, "effective": False, "source": "declared"}
    assert rows["notes:add_note"]["destructive"] == declared_no


@pytest.mark.parametrize(
    ("option", "expected"),
    [
        ("--read-only", "notes:list_notes notes:search_notes weather:get_forecast"),
        ("--no-destructive", "notes:add_note notes:list_notes notes:search_notes weather:get_forecast"),
        ("--destructive", "notes:delete_note weather:convert_temperature weather:set_alert"),
        ("--no-idempotent", "notes:add_note weather:convert_temperature"),
        ("--open-world", "weather:get_forecast weather:convert_temperature weather:set_alert"),
        ("--no-open-world", "notes:add_note notes:list_notes notes:search_notes notes:delete_note"),
    ],
)
def test_filters_take_the_hint_in_effect(mcpctl: Mcpctl, paths: Paths, option: str, expected: str) -> None:
    demo_tools(paths)
    assert keys(mcpctl, option) == expected.split()


@pytest.mark.parametrize("hint", HINTS)
def test_a_filter_and_its_opposite_share_out_all_tools(mcpctl: Mcpctl, paths: Paths, hint: str) -> None:
    demo_tools(paths)
    option = hint.replace("_", "-")
    assert sorted(keys(mcpctl, f"--{option}") + keys(mcpctl, f"--no-{option}")) == sorted(keys(mcpctl))


def test_filters_add_up(mcpctl: Mcpctl, paths: Paths) -> None:
    demo_tools(paths)
    assert keys(mcpctl, "--server", "notes", "--read-only", "--count") == ["2"]


def test_a_server_that_does_not_exist_is_not_found_and_the_near_name_is_named(mcpctl: Mcpctl, paths: Paths) -> None:
    demo_tools(paths)
    ran = mcpctl("tools", "ls", "--server", "wether", "--json")
    assert ran.code == 3
    assert ran.error == {
        "code": "server_not_found",
        "message": "no server 'wether'",
        "hint": "did you mean 'weather'?",
    }


def test_a_forbidden_tool_is_not_listed(mcpctl: Mcpctl, paths: Paths) -> None:
    demo_tools(paths, {**DEMO, "notes": {**DEMO["notes"], "tools": {"delete_note": False, "add_note": True}}})
    assert "notes:delete_note" not in keys(mcpctl)
    assert "notes:add_note" in keys(mcpctl)


def test_a_disabled_server_lists_nothing(mcpctl: Mcpctl, paths: Paths) -> None:
    demo_tools(paths, {**DEMO, "notes": {**DEMO["notes"], "enabled": False}})
    assert [key for key in keys(mcpctl) if key.startswith("notes:")] == []


def test_the_label_is_the_title_or_the_first_line_of_the_description(mcpctl: Mcpctl, paths: Paths) -> None:
    configure(paths, {"s": stub()})
    older = {**declared("b", title="Older title"), "description": "Unused."}
    neither = {"name": "d", "inputSchema": {}}
    described = {"name": "c", "description": " First line \nsecond line"}
    listed(paths, "s", [{"name": "a", "title": "Title", "description": "Unused."}, older, described, neither])
    rows = mcpctl("tools", "ls", "--fields", "label", "--json").json
    assert [row["label"] for row in rows] == ["Title", "Older title", "First line ", None]


def test_other_servers_are_listed_when_one_entry_is_wrong(mcpctl: Mcpctl, paths: Paths) -> None:
    demo_tools(paths, {**DEMO, "broken": {"command": 5}})
    ran = mcpctl("tools", "ls", "--count")
    assert ran.out == "7\n"
    assert "servers.broken.command" in ran.err


def test_definitions_that_are_odd_are_listed_all_the_same(mcpctl: Mcpctl, paths: Paths) -> None:
    configure(paths, {"s": stub()})
    odd = {"name": "odd", "title": 5, "description": [], "inputSchema": "none", "annotations": "none"}
    listed(paths, "s", [odd, {"name": "no schema"}])
    assert [row["key"] for row in mcpctl("tools", "ls", "--json").json] == ["s:odd", "s:no schema"]


def test_config_names_another_file(mcpctl: Mcpctl, paths: Paths, tmp_path: Path) -> None:
    demo_tools(paths)
    other = tmp_path / "other.toml"
    other.write_bytes(paths.config.read_bytes().replace(b"[servers.notes]", b"[servers.other]"))
    assert "notes:add_note" not in keys(mcpctl, "--config", str(other))
    assert keys(mcpctl) == keys(mcpctl, "--config", str(paths.config))
