"""Notes and overrides put into files as other programs write them: what is not mcpctl's stays to the byte."""

import json
import shutil
import subprocess
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcpctl.base.errors import McpctlError
from mcpctl.base.models import Tool
from mcpctl.base.paths import Paths
from mcpctl.toolsets import edits
from mcpctl.toolsets.edits import NotedTool, ToolsetDraft
from mcpctl.toolsets.toolset import Note, ToolReference, dotted, ref_id
from mcpctl.toolsets.toolset_files import ToolsetFile, place_of

few = settings(max_examples=settings().max_examples // 2)

TOOL = Tool("linear", "create_issue", {"name": "create_issue", "inputSchema": {"type": "object"}}, "{}")
SUBJECT = NotedTool(ToolReference(dotted(TOOL), ref_id(TOOL)), TOOL)
PLACE = ToolsetFile(Path("/t.json"), None, own=True, is_named=False)

NAMES = st.text("abc-", min_size=2, max_size=3)
NOTES = st.lists(st.builds(Note, NAMES, st.text("xyzé\n", min_size=1, max_size=9)), max_size=4)
REFERENCES = st.sampled_from([
    {"namespacedName": "linear.create_issue"}, {"refId": ref_id(TOOL)}, {"namespacedName": "linear.other"},
    {"namespacedName": "linear.create_issue", "refId": "0" * 64}, {}, 7, None, {"alias": "x"},
])  # fmt: skip
STRANGE = st.one_of(st.none(), st.integers(), st.text(max_size=4), st.just({"unknown": [1.5, {"deep": True}]}))


@st.composite
def files(draw: st.DrawFn) -> str:
    """A toolset as somebody may have written it."""
    written = st.builds(lambda note: {"name": note.name, "note": note.text, "author": 7}, st.builds(Note, NAMES, NAMES))
    entry = st.fixed_dictionaries(
        {"toolRef": REFERENCES}, optional={"notes": st.lists(written, max_size=3), "x": STRANGE}
    )
    content = draw(st.fixed_dictionaries(
        {"name": st.just("triage")},
        optional={"tools": st.lists(REFERENCES, max_size=3), "mine": STRANGE,
                  "toolNotes": st.lists(st.one_of(entry, STRANGE), max_size=4)},
    ))  # fmt: skip
    style: dict[str, Any] = draw(st.sampled_from([{"indent": 2}, {"indent": "\t"}, {}, {"separators": (",", ":")}]))
    text = json.dumps(content, ensure_ascii=draw(st.booleans()), **style)
    return draw(st.sampled_from(["", "\ufeff"])) + text + draw(st.sampled_from(["", "\n"]))


def added(text: str, notes: Sequence[Note]) -> str:
    draft = ToolsetDraft(text, PLACE)
    edits.add_notes(draft, SUBJECT, notes)
    return draft.text


def content(text: str) -> Any:
    return json.loads(text.removeprefix("\ufeff"))


@few
@given(files(), NOTES)
def test_adding_twice_is_adding_once(text: str, notes: list[Note]) -> None:
    once = added(text, notes)
    assert added(once, notes) == once


@few
@given(files(), NOTES)
def test_adding_inserts_one_piece_and_leaves_every_other_byte(text: str, notes: list[Note]) -> None:
    after = added(text, notes)
    if after == text:
        return
    start = next((n for n, (a, b) in enumerate(zip(text, after, strict=False)) if a != b), len(text))
    kept = text[start:]
    if '"toolNotes": []' not in text and '"notes": []' not in text and ":[]" not in text:
        assert after.endswith(kept)
    assert len(after) > len(text)


@few
@given(files(), NOTES)
def test_what_was_there_is_there_in_its_order(text: str, notes: list[Note]) -> None:
    before, after = content(text), content(added(text, notes))
    assert [name for name in after if name in before] == list(before)
    assert {name: value for name, value in after.items() if name != "toolNotes"} == {
        name: value for name, value in before.items() if name != "toolNotes"
    }
    assert is_within(before.get("toolNotes", []), after.get("toolNotes", []))


def is_within(old: list[Any], new: list[Any]) -> bool:
    """Whether all items are there in their order, among others; entries may have got more notes."""
    rest = iter(new)
    return all(any(extends(item, other) for other in rest) for item in old)


def extends(old: Any, new: Any) -> bool:
    if not (isinstance(old, dict) and isinstance(old.get("notes"), list) and isinstance(new, dict)):
        return bool(old == new)
    return {**old, "notes": None} == {**new, "notes": None} and is_within(old["notes"], new["notes"])


@few
@given(files(), NOTES, NOTES)
def test_the_order_of_adding_changes_nothing_but_the_order(text: str, some: list[Note], others: list[Note]) -> None:
    names = {note.name for note in some}
    others = [note for note in others if note.name not in names]
    one, other = added(added(text, some), others), added(added(text, others), some)
    assert sorted(map(repr, every_note(one))) == sorted(map(repr, every_note(other)))


def every_note(text: str) -> list[Any]:
    entries = content(text).get("toolNotes", [])
    return [
        (entry.get("toolRef"), note) for entry in entries if isinstance(entry, dict) for note in entry.get("notes", [])
    ]


HYPERTOOL: dict[str, Any] = {
    "toolsets": {
        "other": {"name": "other", "tools": [{"refId": "f" * 64}], "x": 1},
        "triage": {
            "name": "triage", "version": "1.0.0", "createdAt": "2025-09-10T21:38:05.022Z",
            "tools": [{"namespacedName": "linear.create_issue", "refId": "a" * 64, "alias": "new_issue"}],
            "toolNotes": [{"toolRef": {"namespacedName": "linear.create_issue", "refId": "a" * 64},
                           "future": {"é": [1]}, "notes": [{"name": "team", "note": "Ask.", "by": "me"}]}],
        },
    },
    "version": "1.0.0", "lastEquippedToolset": "triage", "featureFlags": {"on": True}, "big": 10**19,
}  # fmt: skip


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("indent", [2, None])
def test_a_round_trip_through_a_file_of_hypertool_loses_nothing(
    paths: Paths, tmp_path: Path, whole: bool, indent: int | None
) -> None:
    before = HYPERTOOL if whole else HYPERTOOL["toolsets"]["triage"]
    text = json.dumps(before, indent=indent, ensure_ascii=False)
    path = tmp_path / "config.json"
    path.write_text(text, encoding="utf-8")
    place = place_of(paths, str(path))
    edits.change(place, lambda draft: _all(draft), edits.notes_alone)
    after = json.loads(path.read_text(encoding="utf-8"))
    mine = after["toolsets"]["triage"] if whole else after
    assert [note["name"] for note in mine["toolNotes"][0]["notes"]] == ["team", "new"]
    assert mine["toolOverrides"][0]["annotations"] == {"destructiveHint": False}
    mine["toolNotes"][0]["notes"].pop()
    del mine["toolOverrides"]
    mine["tools"].pop()
    assert json.dumps(after, ensure_ascii=False, indent=indent) == text


def _all(draft: ToolsetDraft) -> None:
    edits.add_notes(draft, SUBJECT, [Note("new", "n"), Note("team", "ignored")])
    edits.override(draft, SUBJECT, {"destructiveHint": False}, None, [])
    edits.add_tools(draft, [Tool("linear", "other", {"name": "other"}, "{}"), TOOL])


def test_a_time_of_the_last_change_is_neither_written_nor_changed(paths: Paths, tmp_path: Path) -> None:
    """Each change would write its line, and so any two branches would conflict in it."""
    for path in (tmp_path / "t1.json", paths.toolsets / "t1.json"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text('{"name": "t1", "lastModified": "2020", "tools": []}', encoding="utf-8")
        edits.change(
            place_of(paths, str(path)), lambda draft: edits.override(draft, SUBJECT, {}, "T", []), edits.notes_alone
        )
        assert json.loads(path.read_text(encoding="utf-8"))["lastModified"] == "2020"
        path.unlink()
        edits.create(place_of(paths, str(path)), [TOOL], None, edits.notes_alone)
        assert "lastModified" not in json.loads(path.read_text(encoding="utf-8"))


def _tool(name: str) -> Tool:
    return Tool("git", name, {"name": name}, "{}")


def _git(folder: Path, *words: str) -> int:
    who = ("-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "commit.gpgsign=false")
    return subprocess.run(["git", *who, *words], cwd=folder, capture_output=True, check=False).returncode


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_two_branches_that_add_different_tools_and_notes_can_be_merged(paths: Paths, tmp_path: Path) -> None:
    def note(draft: ToolsetDraft, name: str) -> None:
        tool = _tool(name)
        edits.add_notes(draft, NotedTool(ToolReference(dotted(tool), ref_id(tool)), tool), [Note("tip", "Text.")])

    def add(branch: str, name: str) -> None:
        def change(draft: ToolsetDraft) -> None:
            edits.add_tools(draft, [_tool(name)])
            note(draft, name)

        assert _git(tmp_path, "switch", "-q", "-c", branch, "main") == 0
        edits.change(place, change, edits.notes_alone)
        assert _git(tmp_path, "commit", "-qam", branch) == 0

    place = place_of(paths, str(tmp_path / "team.json"))
    assert _git(tmp_path, "init", "-q", "-b", "main") == 0
    edits.create(place, map(_tool, "hdbf"), None, edits.notes_alone)
    for name in "hd":
        edits.change(place, partial(note, name=name), edits.notes_alone)
    assert _git(tmp_path, "add", "team.json") == _git(tmp_path, "commit", "-qm", "begin") == 0
    add("left", "e")
    add("right", "c")
    assert _git(tmp_path, "merge", "-q", "left", "-m", "both") == 0
    content = json.loads(place.path.read_text(encoding="utf-8"))
    assert [tool["namespacedName"] for tool in content["tools"]] == [f"git.{name}" for name in "bcdefh"]
    assert [entry["toolRef"]["namespacedName"] for entry in content["toolNotes"]] == [f"git.{name}" for name in "cdeh"]


def test_a_tool_goes_after_the_one_before_it_by_name_in_whatever_order_the_others_are() -> None:
    names = ["git.m", 3, "git.b", {}, "git.x", {"refId": "0" * 64}]
    tools = [{"namespacedName": name} if isinstance(name, str) else name for name in names]
    draft = ToolsetDraft(json.dumps({"name": "t1", "tools": tools}), PLACE)
    edits.add_tools(draft, list(map(_tool, "zacn")))
    after = [tool.get("namespacedName") if isinstance(tool, dict) else tool for tool in draft.content["tools"]]
    assert after == ["git.m", "git.n", 3, "git.a", "git.b", "git.c", None, "git.x", "git.z", None]


def test_a_file_beside_the_repository_is_written_when_it_is_named_from_there(
    paths: Paths, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "repository" / ".git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "repository")
    place = place_of(paths, "../beside.json")
    edits.create(place, [TOOL], None, edits.notes_alone)
    diff, _ = edits.change(place, lambda draft: edits.override(draft, SUBJECT, {}, "T", []), edits.notes_alone)
    assert diff
    assert (place.path, place.within) == (tmp_path / "beside.json", tmp_path)


def test_overrides_are_set_changed_and_taken_away_without_a_trace() -> None:
    text = '{\n  "name": "t1",\n  "toolOverrides": [\n    {\n      "toolRef": {},\n      "mine": 1\n    }\n  ]\n}\n'
    draft = ToolsetDraft(text, PLACE)
    edits.override(draft, SUBJECT, {"readOnlyHint": True}, "T", [])
    edits.override(draft, SUBJECT, {"readOnlyHint": False, "openWorldHint": False}, None, ["title"])
    entry = draft.content["toolOverrides"][1]
    assert entry == {"toolRef": SUBJECT.written, "annotations": {"readOnlyHint": False, "openWorldHint": False}}
    edits.override(draft, SUBJECT, {}, None, ["readOnlyHint", "openWorldHint"])
    assert draft.text == text


def test_a_list_that_is_none_is_not_overwritten() -> None:
    with pytest.raises(McpctlError, match="toolNotes is not a list"):
        added('{"name": "t1", "toolNotes": {"linear": 1}}', [Note("new", "n")])


def test_what_cannot_be_written_is_said_and_leaves_nothing_behind(paths: Paths, tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text("{", encoding="utf-8")
    with pytest.raises(McpctlError):
        edits.change(place_of(paths, str(path)), lambda draft: None, edits.notes_alone)
    assert [file.name for file in tmp_path.iterdir() if file.name != "home"] == ["t.json"]
