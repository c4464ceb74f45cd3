"""Changes of toolset files: tools, notes and overrides are added and removed; every other byte stays as it is."""

import difflib
import json
import shlex
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from mcpctl.base import files
from mcpctl.base.errors import McpctlError, Unusable, WrongUsage
from mcpctl.base.models import Tool
from mcpctl.jsonc import Place
from mcpctl.jsonc import edit as json_edit
from mcpctl.store import clock
from mcpctl.toolsets.toolset import HIDDEN, MAX_NOTE, MAX_NOTES, Note, ToolReference, dotted, ref_id
from mcpctl.toolsets.toolset_files import (
    ToolsetFile,
    check_name,
    items,
    located,
    not_found,
    note_names,
    read_text,
    reference_of,
)

_ELSEWHERE = "make it writable, or name another toolset"


class ToolsetDraft:
    def __init__(self, text: str, place: ToolsetFile) -> None:
        self._mark = files.BOM if text.startswith(files.BOM) else ""
        self._json = text.removeprefix(files.BOM)
        self._place = place
        self._at, self.content = located(self._json, place)

    @property
    def text(self) -> str:
        return self._mark + self._json

    def items(self, member: str) -> Sequence[Any]:
        """Raises `Unusable` for a value that is not a list, which a change would lose."""
        if not isinstance(self.content.get(member), list | None):
            raise Unusable(
                f"{self._place.path}: {member} is not a list", f"make {member} a list there", "toolset_unusable"
            )
        return items(self.content, member)

    def add(self, member: str, *entries: Mapping[str, Any]) -> None:
        """Sorted by tool: at the end of the list, the entries of two branches would always be a conflict."""
        sorted_entries = sorted(entries, key=_name_of)
        if not isinstance(self.content.get(member), list):
            self.put((member,), sorted_entries)
            return
        items = self.items(member)
        named = sorted((name, number) for number, item in enumerate(items) if (name := _name_of(item)))
        places: list[tuple[int, Any]] = []
        for entry in sorted_entries:
            before = bisect_right(named, (_name_of(entry), len(items)))
            number = named[before - 1][1] + 1 if before else named[0][1] if named else len(items)
            places.append((number, entry))
        self._update(json_edit.insert(self._json, (*self._at, member), *places))

    def append_at(self, place: Place, *values: Any) -> None:
        self._update(json_edit.append(self._json, (*self._at, *place), *values))

    def put(self, place: Place, value: Any) -> None:
        self._update(json_edit.put(self._json, (*self._at, *place), value))

    def drop(self, *places: Place) -> None:
        self._update(json_edit.drop(self._json, *((*self._at, *place) for place in places)))

    def _update(self, text: str) -> None:
        self._json = text
        self.content = located(text, self._place)[1]


_T = TypeVar("_T")
Permit = Callable[[ToolsetFile, str, str], None]  # raises `Refused` where the second text may not replace the first


def notes_alone(_: ToolsetFile, __: str, ___: str) -> None:
    """Permits all: notes let nothing more be called."""


def change(
    place: ToolsetFile, make: Callable[[ToolsetDraft], _T], permit: Permit, *, dry_run: bool = False
) -> tuple[list[str], _T]:
    """Change a toolset's file under its lock: diff and result of `make`. `permit` may refuse. Raises `NotFound`."""
    outcome: list[tuple[list[str], _T]] = []

    def apply(content: bytes | None) -> bytes:
        if content is None:
            raise not_found(place)
        try:
            before = content.decode()
        except UnicodeDecodeError:
            raise Unusable(f"{place.path} is not UTF-8", "make it UTF-8", "toolset_unusable") from None
        draft, path = ToolsetDraft(before, place), str(place.path)
        result = make(draft)  # a lastModified stays: no program needs it, and two branches would conflict in its line
        after = draft.text
        lines = difflib.unified_diff(before.splitlines(), after.splitlines(), path, path, lineterm="")
        diff = list(lines) if after != before else []  # a comparison of a large file takes long
        if diff and not dry_run:
            permit(place, before, after)
        outcome.append((diff, result))
        return after.encode()

    if dry_run:
        apply(read_text(place).encode())
    else:
        files.edit(place.path, apply, _ELSEWHERE, within=place.within)
    return outcome[-1]


def create(place: ToolsetFile, tools: Iterable[Tool], description: str | None, permit: Permit) -> None:
    """Create a toolset's file; raises if it exists. `permit` is asked as for a change."""
    name = place.path.stem
    check_name(name, "toolset")
    about = {"description": description} if description else {}
    references = sorted(map(_reference, tools), key=_name_of)
    content = {"name": name, **about, "version": "1.0.0", "createdAt": clock.now(), "tools": references}

    def create_file(before: bytes | None) -> bytes:
        if before is None:
            text = f"{json.dumps(content, ensure_ascii=False, indent=2)}\n"
            permit(place, "", text)
            return text.encode()
        hint = f"add tools to it with: mcpctl toolsets add {shlex.quote(str(place.reference))} KEY"
        raise McpctlError(f"there is a toolset '{place.reference}' already", hint, "toolset_exists")

    # Others must be able to read a file in a repository.
    files.edit(place.path, create_file, _ELSEWHERE, private=place.own, within=place.within)


def add_tools(draft: ToolsetDraft, tools: Iterable[Tool]) -> list[Tool]:
    present = {reference_of(item).index for item in draft.items("tools")}
    new = [tool for tool in tools if dotted(tool) not in present and ref_id(tool) not in present]
    if new:
        draft.add("tools", *map(_reference, new))
    return new


def remove_tools(draft: ToolsetDraft, indexes: Collection[str]) -> set[str]:
    """Returns those that were in the list. Their notes and overrides stay, and apply if the tools come back."""
    references = [(number, reference_of(item).index) for number, item in enumerate(draft.items("tools"))]
    removed = [(number, index) for number, index in references if index in indexes]
    if removed:
        draft.drop(*(("tools", number) for number, _ in removed))
    return {index for _, index in removed}


@dataclass(frozen=True)
class NotedTool:
    reference: ToolReference
    tool: Tool | None

    def is_meant_by(self, item: Any) -> bool:
        index = reference_of(item).index
        indexes = (self.reference.name, self.reference.ref_id) if self.tool else (self.reference.index,)
        return bool(index) and index in indexes

    @property
    def written(self) -> dict[str, str]:
        if self.tool:
            return _reference(self.tool)
        members = {"namespacedName": self.reference.name, "refId": self.reference.ref_id}
        return {name: value for name, value in members.items() if value}


@dataclass(frozen=True)
class Added:
    added: list[Note]
    skipped: list[Note]  # the tool had notes of these names, which stay as they were


def check_notes(notes: Sequence[Note]) -> None:
    if not 1 <= len(notes) <= MAX_NOTES:
        raise WrongUsage(f"{len(notes)} notes at once", f"give 1 to {MAX_NOTES}", "bad_note")
    for note in notes:
        check_name(note.name, "note")
        if not note.text.strip():
            raise WrongUsage(f"note '{note.name}' is empty", f"write 1 to {MAX_NOTE} characters", "bad_note")
        if len(note.text) > MAX_NOTE:
            message = f"note '{note.name}' is too long: {len(note.text)} characters"
            raise WrongUsage(message, f"a note has at most {MAX_NOTE}; write several", "note_too_long")
        check_visible(note.text, f"note '{note.name}'", "bad_note")


def check_visible(text: str, what: str, code: str) -> None:
    """Raises `WrongUsage` for a character that a model reads and no person sees."""
    if hidden := HIDDEN.search(text):
        message = f"{what} has a hidden character, U+{ord(hidden[0]):04X}, at {hidden.start() + 1}"
        raise WrongUsage(message, "leave it out; line breaks and tabs are fine", code)


def add_notes(draft: ToolsetDraft, subject: NotedTool, notes: Sequence[Note]) -> Added:
    """Add notes to a tool. A note whose name the tool has already is skipped; nothing is replaced."""
    entries = [number for number, entry in enumerate(draft.items("toolNotes")) if _is_about(entry, subject)]
    names = {name for number in entries for name in note_names(draft.items("toolNotes")[number])}
    outcome = Added([], [])
    for note in notes:
        (outcome.skipped if note.name in names else outcome.added).append(note)
        names.add(note.name)
    items = [{"name": note.name, "note": note.text} for note in outcome.added]
    home = next((n for n in entries if isinstance(draft.items("toolNotes")[n].get("notes"), list)), None)
    if home is not None and items:
        draft.append_at(("toolNotes", home, "notes"), *items)
    elif items:
        draft.add("toolNotes", {"toolRef": subject.written, "notes": items})
    return outcome


def notes_of_tool(content: Mapping[str, Any], subject: NotedTool) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    for number, entry in enumerate(items(content, "toolNotes")):
        if _is_about(entry, subject):
            for index, note in enumerate(items(entry, "notes")):
                yield ("toolNotes", number, "notes", index), note if isinstance(note, dict) else {}


def remove_notes(draft: ToolsetDraft, subject: NotedTool, names: Collection[str] | None) -> list[str]:
    """All notes for None; returns the names that were there. An entry that is then empty goes too."""
    wanted = None if names is None else set(names)
    notes = list(notes_of_tool(draft.content, subject))
    removed = [(place, note) for place, note in notes if wanted is None or str(note.get("name")) in wanted]
    counts = Counter(place[1] for place, _ in removed)
    entries = draft.items("toolNotes")
    emptied = {
        number for number, count in counts.items()
        if isinstance(number, int) and count == len(entries[number]["notes"])
        and entries[number].keys() == {"toolRef", "notes"}
    }  # fmt: skip
    places = [place for place, _ in removed if place[1] not in emptied]
    if removed:
        draft.drop(*places, *(("toolNotes", number) for number in emptied))
    return list(dict.fromkeys(str(note.get("name")) for _, note in removed))


def rewrite_note(draft: ToolsetDraft, subject: NotedTool, note: Note) -> None:
    """Rewrite the first note of that name, which is the one that counts. Raises `KeyError` if there is none."""
    places = {old.get("name"): place for place, old in reversed(list(notes_of_tool(draft.content, subject)))}
    draft.put((*places[note.name], "note"), note.text)


def override(
    draft: ToolsetDraft, subject: NotedTool, hints: Mapping[str, bool], title: str | None, inherit: Iterable[str]
) -> None:
    """`inherit` names hints (or `title`) that the server decides again."""
    for name in inherit:
        _inherit(draft, subject, name)
    for name, value in hints.items():
        _set(draft, subject, ("annotations", name), value)
    if title:
        check_visible(title, "the title", "bad_title")
        _set(draft, subject, ("title",), title)


def _set(draft: ToolsetDraft, subject: NotedTool, place: tuple[str, ...], value: bool | str) -> None:
    entries = draft.items("toolOverrides")
    home = next((number for number, entry in enumerate(entries) if _is_about(entry, subject)), None)
    if home is None:
        member = value if len(place) == 1 else {place[1]: value}
        draft.add("toolOverrides", {"toolRef": subject.written, place[0]: member})
        return
    entry = entries[home]
    if len(place) > 1 and not isinstance(entry.get(place[0]), dict):
        draft.put(("toolOverrides", home, place[0]), {place[1]: value})
        return
    old = (entry if len(place) == 1 else entry[place[0]]).get(place[-1])
    if (type(old), old) != (type(value), value):
        draft.put(("toolOverrides", home, *place), value)


def _inherit(draft: ToolsetDraft, subject: NotedTool, name: str) -> None:
    place = (name,) if name == "title" else ("annotations", name)
    removed: list[Place] = []
    for number, entry in enumerate(draft.items("toolOverrides")):
        container = entry if name == "title" or not isinstance(entry, dict) else entry.get("annotations")
        if _is_about(entry, subject) and isinstance(container, dict) and name in container:
            rest = {key: value for key, value in entry.items() if key not in ("toolRef", place[0])}
            others = {} if name == "title" else {key: value for key, value in container.items() if key != name}
            has_more = bool(rest and rest != {"annotations": {}}) or bool(others)
            removed.append(("toolOverrides", number, *place) if has_more else ("toolOverrides", number))
    if removed:
        draft.drop(*removed)


def _name_of(entry: Any) -> str:
    """The name of the tool that an entry of any list is about; empty if it has none."""
    members = entry if isinstance(entry, dict) else {}
    return reference_of(members.get("toolRef", members)).name or ""


def _is_about(entry: Any, subject: NotedTool) -> bool:
    return isinstance(entry, dict) and subject.is_meant_by(entry.get("toolRef"))


def _reference(tool: Tool) -> dict[str, str]:
    return {"namespacedName": dotted(tool), "refId": ref_id(tool)}
