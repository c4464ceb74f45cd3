"""Toolset files of both kinds that hypertool-mcp writes, with anything that strangers put into them."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from mcpctl.base.errors import McpctlError, NotFound, Unusable, WrongUsage
from mcpctl.base.models import Tool
from mcpctl.base.paths import Paths
from mcpctl.toolsets.toolset import Note, ToolReference, Toolset, ref_id, rendered
from mcpctl.toolsets.toolset_files import ToolsetFile, place_of, read
from tests.configured import noted, overridden, reference
from tests.effort import calls
from tests.table import for_each

BARE = {"name": "triage", "tools": [reference("a:b")], "toolNotes": [noted("a:b", tip="Mind it.")]}


def read_from(paths: Paths, path: Path, content: Any, inner: str = "") -> Toolset:
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return read(place_of(paths, f"{path}#{inner}" if inner else str(path)))


def tool(key: str, **definition: Any) -> Tool:
    server, _, name = key.partition(":")
    return Tool(server, name, {"name": name, **definition}, "{}")


@pytest.mark.parametrize(
    ("content", "inner"),
    [
        (BARE, ""),
        ({"toolsets": {"triage": BARE}, "version": "1.0.0", "applications": {}}, ""),
        ({"toolsets": {"other": {}, "triage": BARE}}, "triage"),
        ({"toolsets": {"other": {}, "triage": BARE}, "lastEquippedToolset": "triage"}, ""),
        ({"toolsets": [{"name": "other"}, BARE]}, "triage"),
    ],
)
def test_a_toolset_is_read_from_a_file_of_either_kind(paths: Paths, tmp_path: Path, content: Any, inner: str) -> None:
    found = read_from(paths, tmp_path / "config.json", content, inner)
    assert found.name == "triage"
    assert found.holds(tool("a:b"))
    assert found.about(tool("a:b")).notes == (Note("tip", "Mind it."),)


def test_one_of_several_must_be_named(paths: Paths, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="has 2 toolsets") as raised:
        read_from(paths, tmp_path / "config.json", {"toolsets": {"one": {}, "two": {}}})
    assert f"{tmp_path}/config.json#one" in raised.value.hint


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("{\n  nope", "line 2, column 3"),
        ("[]", "it is not a JSON object"),
        ("{}", "neither tools nor toolsets"),
        ('{"name": "\\ud800"}', "not strict"),
        ("[" * 100_000, "too deep"),
        ('{"toolsets": 7}', "neither tools nor toolsets"),
    ],
)
def test_what_is_no_toolset_is_refused_with_the_place(paths: Paths, tmp_path: Path, content: str, told: str) -> None:
    with pytest.raises(Unusable, match=told) as raised:
        read_from(paths, tmp_path / "x.json", content)
    assert str(tmp_path / "x.json") in raised.value.message


@pytest.mark.parametrize("name", ["..", "../x", "A", "x", "a b", "a" * 51, "none", "", "é1"])
def test_no_name_leads_out_of_the_folder(paths: Paths, name: str) -> None:
    if "/" in name:
        assert not place_of(paths, name).is_named
    else:
        with pytest.raises(WrongUsage):
            place_of(paths, name)


def test_a_folder_or_a_pipe_is_no_toolset(paths: Paths, tmp_path: Path) -> None:
    for path in (tmp_path, Path("/dev/zero")):
        with pytest.raises(McpctlError):
            read(place_of(paths, f"{path}/." if path == tmp_path else str(path)))


def test_only_what_lies_in_the_data_directory_is_ones_own(paths: Paths, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere.json"
    elsewhere.write_text(json.dumps(BARE), encoding="utf-8")
    paths.toolsets.mkdir(parents=True)
    (paths.toolsets / "linked.json").symlink_to(elsewhere)
    (paths.toolsets / "mine.json").write_text(json.dumps(BARE), encoding="utf-8")
    assert read(place_of(paths, "mine")).own
    assert read(place_of(paths, str(paths.toolsets / "mine.json"))).own
    assert not read(place_of(paths, "linked")).own
    assert not read(place_of(paths, str(elsewhere))).own


ODD: list[Any] = [None, 7, "x", [], {}, [7], {"namespacedName": 7}, {"namespacedName": "nodot"}, {"toolRef": []}]


@for_each("member", ["tools", "toolNotes", "toolOverrides", "name", "description"])
@for_each("odd", ODD)
def test_members_of_another_shape_are_left_out(paths: Paths, tmp_path: Path, member: str, odd: Any) -> None:
    found = read_from(paths, tmp_path / "odd.json", {**BARE, member: odd})
    assert found.name
    assert found.shown(tool("a:b", description="d")).description.startswith("d")


def test_the_first_note_of_a_name_wins_and_the_first_hint(paths: Paths, tmp_path: Path) -> None:
    content = {
        "name": "triage",
        "tools": [reference("a:b")],
        "toolNotes": [noted("a:b", one="1", two="2"), noted("a:c", one="x"), noted("a:b", two="other", three="3")],
        "toolOverrides": [overridden("a:b", destructiveHint=False), overridden("a:b", "T", destructiveHint=True)],
    }
    about = read_from(paths, tmp_path / "t.json", content).about(tool("a:b"))
    assert [(note.name, note.text) for note in about.notes] == [("one", "1"), ("two", "2"), ("three", "3")]
    assert (about.hints, about.title) == ({"destructiveHint": False}, "T")


def test_a_refid_alone_names_a_tool_and_beside_a_name_it_decides_nothing(paths: Paths, tmp_path: Path) -> None:
    b, c = tool("a:b"), tool("a:c")
    content = {
        "name": "t1",
        "tools": [{"namespacedName": "a.b", "refId": ref_id(c)}],
        "toolNotes": [{"toolRef": {"refId": ref_id(b)}, "notes": [{"name": "by-hash", "note": "x"}]}],
    }
    found = read_from(paths, tmp_path / "t.json", content)
    assert (found.holds(b), found.holds(c)) == (True, False)
    assert [note.name for note in found.about(b).notes] == ["by-hash"]
    by_hash = read_from(paths, tmp_path / "t.json", {"name": "t1", "tools": [{"refId": ref_id(c)}]})
    assert (by_hash.holds(b), by_hash.holds(c)) == (False, True)


def test_a_refid_is_the_hash_of_compact_json_with_its_keys_in_order() -> None:
    text = '{"name":"b","serverName":"a","inputSchema":{"type":"object","n":1},"annotations":{"title":"é"}}'
    made = tool("a:b", annotations={"title": "é"}, inputSchema={"type": "object", "n": 1.0}, description="not in it")
    assert ref_id(made) == hashlib.sha256(text.encode()).hexdigest()


def test_notes_follow_the_description_as_agreed() -> None:
    notes = [Note("team-selection", "Always confirm the team first."), Note("two", "Second.")]
    assert rendered(notes) == (
        "### Additional Tool Notes\n\n• **team-selection**: Always confirm the team first.\n• **two**: Second."
    )


def test_a_tool_is_shown_with_its_notes_once_and_its_definition_stays(paths: Paths, tmp_path: Path) -> None:
    found = read_from(paths, tmp_path / "t.json", BARE)
    plain = tool("a:b", description="What it does.")
    shown = found.shown(plain)
    assert shown.description == "What it does.\n\n### Additional Tool Notes\n\n• **tip**: Mind it."
    assert found.shown(plain) is shown
    assert found.shown(shown).description == shown.description
    assert plain.description == "What it does."
    assert found.shown(tool("a:b")).description == "### Additional Tool Notes\n\n• **tip**: Mind it."


def test_the_name_of_a_reference_is_split_at_its_first_dot() -> None:
    assert ToolReference("a.b.c:d", None).key == "a:b.c:d"


def test_a_file_of_four_times_the_entries_is_four_times_the_work(paths: Paths, tmp_path: Path) -> None:
    few, many = _large(paths, tmp_path / "few.json", 250), _large(paths, tmp_path / "many.json", 1000)
    assert calls(lambda: read(many)) < 5 * calls(lambda: read(few))


def _large(paths: Paths, path: Path, entries: int) -> ToolsetFile:
    """A file with so many entries of each kind, which was read once."""
    keys = [f"s{n % 8}:tool_{n}" for n in range(entries)]
    content = {
        "name": "large",
        "tools": [{**reference(key), "refId": "0" * 64} for key in keys],
        "toolNotes": [noted(key, **{f"note-{n}": "x" * 200 for n in range(3)}) for key in keys],
        "toolOverrides": [overridden(key, destructiveHint=False) for key in keys],
    }
    read_from(paths, path, content)
    return place_of(paths, str(path))
