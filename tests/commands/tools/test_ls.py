"""`mcpctl tools ls`: hints as somebody declared them, filters by the hints in effect."""

from pathlib import Path

import pytest

from mcpctl.base.paths import Paths
from mcpctl.store import index
from tests.configured import DEMO, configure, demo_tools, listed, stub
from tests.conftest import Mcpctl
from tests.recorded import CURSOR, at, call, session, two_sessions

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
    unset = {"declared": None, "override": None, "effective": True, "source": "default", "file": None}
    assert rows["weather:convert_temperature"]["destructive"] == unset
    declared_no = {"declared": False, "override": None, "effective": False, "source": "declared", "file": None}
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


def test_several_servers_are_listed_and_each_has_to_be_there(mcpctl: Mcpctl, paths: Paths) -> None:
    demo_tools(paths)
    for options in (["--server", "notes,weather"], ["--server", "weather", "--server", "notes"]):
        assert mcpctl("tools", "ls", "--count", *options).out == "7\n"
        assert len(mcpctl("tools", "export", *options).jsonl) == 7
        assert mcpctl("tools", "search", "note", "--count", *options).code == 0
    assert mcpctl("tools", "ls", "--server", "notes,wether").code == 3


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


# ---- usage


@pytest.fixture
def untouched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever opens the index fails."""

    def fail(*_: object) -> None:
        raise AssertionError("the index was opened")

    monkeypatch.setattr(index, "opened", fail)


USED = {
    "notes:add_note": (1, at(3)),
    "notes:list_notes": (1, at(14)),
    "notes:search_notes": (0, None),
    "notes:delete_note": (1, at(11)),
    "weather:get_forecast": (2, at(4)),
    "weather:convert_temperature": (1, at(12)),
    "weather:set_alert": (0, None),
}


def test_usage_is_the_calls_on_record_and_last_used_when_the_newest_began(mcpctl: Mcpctl, paths: Paths) -> None:
    demo_tools(paths)
    two_sessions(paths)
    rows = mcpctl("tools", "ls", "--json").json
    assert {row["key"]: (row["usage"], row["last_used"]) for row in rows} == USED


def test_tools_that_were_never_called_are_listed_alone(mcpctl: Mcpctl, paths: Paths) -> None:
    demo_tools(paths)
    two_sessions(paths)
    rows = mcpctl("tools", "ls", "--unused", "--json").json
    assert [row["key"] for row in rows] == ["notes:search_notes", "weather:set_alert"]
    assert mcpctl("tools", "ls", "--unused", "--count").out == "2\n"
    assert keys(mcpctl, "--unused", "--server", "weather") == ["weather:set_alert"]


def test_without_records_no_tool_was_used_and_no_index_is_made(mcpctl: Mcpctl, paths: Paths) -> None:
    demo_tools(paths)
    rows = mcpctl("tools", "ls", "--json").json
    assert {(row["usage"], row["last_used"]) for row in rows} == {(0, None)}
    assert not paths.index.exists()


def test_a_tool_that_is_listed_no_more_is_not_shown_however_much_it_was_used(mcpctl: Mcpctl, paths: Paths) -> None:
    demo_tools(paths)
    session(paths, rest=[*call(1, 1, tool="old"), *call(2, 2, server="old")])
    assert len(keys(mcpctl, "--sort", "usage")) == 7
    assert mcpctl("tools", "ls", "--fields", "usage").out.split() == ["0"] * 7


def test_evicted_calls_count_no_more(mcpctl: Mcpctl, paths: Paths) -> None:
    demo_tools(paths)
    session(paths, CURSOR, 0, call(1, 1, CURSOR))
    journal = session(paths, rest=call(2, 2)).path
    options = ("tools", "ls", "--server", "weather", "--fields", "usage", "--limit", "1")
    assert mcpctl(*options).out == "2\n"
    journal.unlink()
    assert mcpctl(*options).out == "1\n"


@pytest.mark.parametrize(
    ("sort", "expected"),
    [
        ("usage", "get_forecast add_note list_notes delete_note convert_temperature search_notes set_alert"),
        ("last_used", "list_notes convert_temperature delete_note get_forecast add_note search_notes set_alert"),
        ("key", "add_note delete_note list_notes search_notes convert_temperature get_forecast set_alert"),
        ("tool", "add_note convert_temperature delete_note get_forecast list_notes search_notes set_alert"),
    ],
)
def test_tools_can_be_sorted_and_what_ties_stays_in_order(
    mcpctl: Mcpctl, paths: Paths, sort: str, expected: str
) -> None:
    demo_tools(paths)
    two_sessions(paths)
    assert mcpctl("tools", "ls", "--sort", sort, "--fields", "tool").out.split() == expected.split()


def test_what_tools_are_sorted_by_is_shown(mcpctl: Mcpctl, paths: Paths) -> None:
    demo_tools(paths)
    two_sessions(paths)
    lines = mcpctl("tools", "ls", "--sort", "usage", tty=True).out.splitlines()
    assert lines[0].split()[:3] == ["KEY", "USAGE", "READ"]
    assert lines[1].split()[:3] == ["weather:get_forecast", "2", "yes"]
    lines = mcpctl("tools", "ls", "--sort", "last_used", tty=True).out.splitlines()
    assert lines[0].split()[:3] == ["KEY", "LAST_USED", "READ"]
    assert lines[1].split()[:4] == ["notes:list_notes", "0s", "ago", "yes"]


@pytest.mark.parametrize(("option", "values"), [("--sort", "key, tool, usage, last_used"), ("--by", "risk")])
def test_an_unknown_order_is_refused_with_those_there_are(mcpctl: Mcpctl, option: str, values: str) -> None:
    ran = mcpctl("tools", "ls", option, "bogus", "--json")
    assert (ran.code, ran.error["hint"]) == (2, f"values: {values}")


@pytest.mark.usefixtures("untouched")
@pytest.mark.parametrize(
    "options", ["", "--fields key --json", "--format table", "--count --json", "--by risk", "--sort key"]
)
def test_records_are_not_read_for_what_does_not_show_usage(mcpctl: Mcpctl, paths: Paths, options: str) -> None:
    demo_tools(paths)
    two_sessions(paths)
    assert mcpctl("tools", "ls", *options.split()).code == 0


# ---- risk

RISKS = {
    "notes:list_notes": "read-only",
    "notes:search_notes": "read-only",
    "weather:get_forecast": "read-only",
    "notes:add_note": "changing",
    "notes:delete_note": "destructive",
    "weather:set_alert": "destructive",
    "weather:convert_temperature": "not-declared",
}


@pytest.mark.parametrize("format", ["--json", "--jsonl"])
def test_by_risk_groups_in_the_order_of_risk(mcpctl: Mcpctl, paths: Paths, format: str) -> None:
    demo_tools(paths)
    ran = mcpctl("tools", "ls", "--by", "risk", format)
    rows = ran.json if format == "--json" else ran.jsonl
    assert [(row["key"], row["risk"]) for row in rows] == list(RISKS.items())


def test_by_risk_a_pipe_has_the_group_as_a_column(mcpctl: Mcpctl, paths: Paths) -> None:
    demo_tools(paths)
    lines = [line.split("\t") for line in mcpctl("tools", "ls", "--by", "risk").out.splitlines()]
    assert [tuple(line[:2]) for line in lines] == list(RISKS.items())


def test_the_risk_is_a_field_of_every_list(mcpctl: Mcpctl, paths: Paths) -> None:
    demo_tools(paths)
    lines = mcpctl("tools", "ls", "--fields", "key,risk").out.splitlines()
    assert dict(line.split("\t") for line in lines) == RISKS


def test_by_risk_a_table_has_a_heading_with_a_count_for_each_group(
    mcpctl: Mcpctl, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    demo_tools(paths)
    monkeypatch.setenv("COLUMNS", "80")
    out = mcpctl("tools", "ls", "--by", "risk", tty=True).out
    assert (
        out
        == """\
KEY                          READ  DESTR  IDEMP  OPEN  LABEL

read-only: 3 tools
notes:list_notes             yes   -      yes    no    List notes
notes:search_notes           yes   -      yes    no    Search notes
weather:get_forecast         yes   -      -      yes   Get the forecast

changing: 1 tool
notes:add_note               no    no     no     no    Add a note

destructive: 2 tools
notes:delete_note            no    yes    yes    no    Delete a note
weather:set_alert            no    -      yes    -     Set a weather alert

not-declared: 1 tool
weather:convert_temperature  -     -      -      -     Convert a temperature be…
"""
    )


def test_a_group_without_tools_has_no_heading(mcpctl: Mcpctl, paths: Paths) -> None:
    demo_tools(paths)
    out = mcpctl("tools", "ls", "--by", "risk", "--server", "notes", "--no-read-only", tty=True).out
    assert [line for line in out.splitlines() if ": " in line] == ["changing: 1 tool", "destructive: 1 tool"]


def test_a_heading_has_the_whole_groups_count_where_a_window_shows_a_part(mcpctl: Mcpctl, paths: Paths) -> None:
    demo_tools(paths)
    out = mcpctl("tools", "ls", "--by", "risk", "--offset", "1", "--limit", "3", "--fields", "key", tty=True).out
    assert out.split("\n") == [
        "KEY", "",
        "read-only: 3 tools", "notes:search_notes", "weather:get_forecast", "",
        "changing: 1 tool", "notes:add_note", "",
    ]  # fmt: skip


def test_within_a_group_tools_are_sorted(mcpctl: Mcpctl, paths: Paths) -> None:
    demo_tools(paths)
    two_sessions(paths)
    rows = mcpctl("tools", "ls", "--by", "risk", "--sort", "usage", "--fields", "risk,usage,tool", "--json").json
    assert [(row["risk"], row["usage"], row["tool"]) for row in rows[:4]] == [
        ("read-only", 2, "get_forecast"),
        ("read-only", 1, "list_notes"),
        ("read-only", 0, "search_notes"),
        ("changing", 1, "add_note"),
    ]


def test_grouping_changes_no_count(mcpctl: Mcpctl, paths: Paths) -> None:
    demo_tools(paths)
    assert mcpctl("tools", "ls", "--by", "risk", "--sort", "usage", "--read-only", "--count").out == "3\n"


def test_grouping_nothing_is_nothing(mcpctl: Mcpctl) -> None:
    assert mcpctl("tools", "ls", "--by", "risk", tty=True).out == ""
    assert mcpctl("tools", "ls", "--by", "risk", "--json").json == []


def test_tools_that_are_shown_directly_have_their_names_there(mcpctl: Mcpctl, paths: Paths) -> None:
    serve = {"direct": ["notes:*_note", "weather:get_forecast", "gone:*", "@writing"]}
    demo_tools(paths, serve=serve, policy={"deny": ["notes:delete_note"]})
    ran = mcpctl("tools", "ls", "--direct", "--fields", "direct,key")
    assert ran.out.splitlines() == [
        "notes__add_note\tnotes:add_note", "weather__get_forecast\tweather:get_forecast",
    ]  # fmt: skip
    assert "direct in [serve]: 'gone:*' names no tool" in ran.err
    assert "direct in [serve]: no toolset 'writing'" in ran.err
    assert mcpctl("tools", "ls", "--direct", "--read-only", "--json").json[0]["direct"] == "weather__get_forecast"
    demo_tools(paths)
    assert mcpctl("tools", "ls", "--direct", "--count").out == "0\n"
