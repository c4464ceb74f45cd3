"""Toolset files changed: tools put in and taken out, notes added, hints overridden; all else stays to the byte."""

import difflib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mcpctl import files
from mcpctl.errors import McpctlError, Unusable, WrongUsage
from mcpctl.models import Tool
from mcpctl.store import clock
from mcpctl.toolsets import patch
from mcpctl.toolsets.reading import Source, check_name, items, located, not_found, notes_of, reference_of
from mcpctl.toolsets.toolset import MAX_NOTE, MAX_NOTES, Note, Place, Reference, dotted, ref_id

_BOM = "\ufeff"
_ELSEWHERE = "make it writable, or name another toolset"


class Draft:
    """A toolset in the text of its file, while it is changed."""

    def __init__(self, text: str, place: Source) -> None:
        self._mark = _BOM if text.startswith(_BOM) else ""
        self._json = text.removeprefix(_BOM)
        self._place = place
        self._at, self.content = located(self._json, place)

    @property
    def text(self) -> str:
        """The whole file's text."""
        return self._mark + self._json

    def items(self, member: str) -> Sequence[Any]:
        """The items of a list; raises `Unusable` when it is none, since to change it would lose what it is."""
        if not isinstance(self.content.get(member), list | None):
            raise Unusable(f"{self._place.path}: {member} is no list", "mend it there", "toolset_unusable")
        return items(self.content, member)

    def append(self, member: str, value: Any) -> None:
        """Put an item at the end of a list, which is made where there is none."""
        if isinstance(self.content.get(member), list):
            self._changed(patch.append(self._json, (*self._at, member), value))
        else:
            self.put((member,), [value])

    def append_at(self, place: Place, value: Any) -> None:
        """Put an item at the end of a list that there is."""
        self._changed(patch.append(self._json, (*self._at, *place), value))

    def put(self, place: Place, value: Any) -> None:
        """Set a member."""
        self._changed(patch.put(self._json, (*self._at, *place), value))

    def drop(self, place: Place) -> None:
        """Take out a member or an item."""
        self._changed(patch.drop(self._json, (*self._at, *place)))

    def _changed(self, text: str) -> None:
        self._json = text
        self.content = located(text, self._place)[1]


Change = Callable[[Draft], None]


def change(place: Source, make: Change, *, dry_run: bool = False) -> list[str]:
    """Change a toolset's file, under its lock; raises `NotFound` when there is none.

    A dry run writes nothing. What is returned are the lines of the change as a diff, none where nothing changes.
    """
    diff: list[str] = []

    def changed(before: bytes | None) -> bytes:
        if before is None:
            raise not_found(place)
        after = _with(make, before, place)
        diff[:] = _diff(place, before, after)
        return before if dry_run else after

    files.edit(place.path, changed, _ELSEWHERE)
    return diff


def _with(make: Change, before: bytes, place: Source) -> bytes:
    try:
        draft = Draft(before.decode(), place)
    except UnicodeDecodeError:
        raise Unusable(f"{place.path} is not UTF-8", "make it UTF-8", "toolset_unusable") from None
    make(draft)
    if draft.text.encode() != before and "lastModified" in draft.content:
        draft.put(("lastModified",), clock.now())
    return draft.text.encode()


def _diff(place: Source, before: bytes, after: bytes) -> list[str]:
    if before == after:
        return []
    old, new, path = before.decode().splitlines(), after.decode().splitlines(), str(place.path)
    return list(difflib.unified_diff(old, new, path, path, lineterm=""))


def create(place: Source, tools: Iterable[Tool], description: str | None) -> None:
    """Make a toolset's file; raises when there is one."""
    name = place.path.stem
    check_name(name, "toolset")
    now = clock.now()
    said = {"description": description} if description else {}
    content = {"name": name, **said, "version": "1.0.0", "createdAt": now, "lastModified": now,
               "tools": [_reference(tool) for tool in tools]}  # fmt: skip

    def created(before: bytes | None) -> bytes:
        if before is None:
            return f"{json.dumps(content, ensure_ascii=False, indent=2)}\n".encode()
        hint = f"add tools to it with: mcpctl toolsets add {place.reference} KEY"
        raise McpctlError(f"there is a toolset '{place.reference}' already", hint, "toolset_exists")

    # What is in a repository is for others to read.
    files.edit(place.path, created, _ELSEWHERE, mode=0o600 if place.own else 0o666)


def add_tools(draft: Draft, tools: Iterable[Tool]) -> list[Tool]:
    """Put tools at the end of the list; those that were not in it yet."""
    known = {reference_of(item).index for item in draft.items("tools")}
    added = [tool for tool in tools if dotted(tool) not in known and ref_id(tool) not in known]
    for tool in added:
        draft.append("tools", _reference(tool))
    return added


def remove_tools(draft: Draft, is_meant: Callable[[Reference], bool]) -> int:
    """Take tools out of the list; their notes and overrides stay, and count again once they are back."""
    numbers = [number for number, item in enumerate(draft.items("tools")) if is_meant(reference_of(item))]
    for number in reversed(numbers):
        draft.drop(("tools", number))
    return len(numbers)


@dataclass(frozen=True)
class Subject:
    """The tool that a change is about: as it is listed, or, where it is not, as the toolset names it."""

    reference: Reference
    tool: Tool | None

    def is_meant_by(self, item: Any) -> bool:
        """Whether a decoded reference is one to this tool."""
        found = reference_of(item)
        return found.is_of(self.tool) if self.tool else bool(found.index) and found.index == self.reference.index

    @property
    def written(self) -> dict[str, str]:
        """How a file refers to it."""
        if self.tool:
            return _reference(self.tool)
        named = {"namespacedName": self.reference.name, "refId": self.reference.ref_id}
        return {name: value for name, value in named.items() if value}


@dataclass(frozen=True)
class Added:
    """Which notes were added, and which were there already and stay as they were."""

    added: list[Note]
    skipped: list[Note]


def check_notes(notes: Sequence[Note]) -> None:
    """Raises `WrongUsage` for notes that none may have written."""
    if not 1 <= len(notes) <= MAX_NOTES:
        raise WrongUsage(f"{len(notes)} notes at once", f"give 1 to {MAX_NOTES}", "bad_note")
    for note in notes:
        check_name(note.name, "note")
        if not note.text.strip():
            raise WrongUsage(f"note '{note.name}' is empty", f"write 1 to {MAX_NOTE} characters", "bad_note")
        if len(note.text) > MAX_NOTE:
            told = f"note '{note.name}' is too long: {len(note.text)} characters"
            raise WrongUsage(told, f"a note has at most {MAX_NOTE}; write several", "note_too_long")


def add_notes(draft: Draft, subject: Subject, notes: Sequence[Note]) -> Added:
    """Add notes to a tool; a name that it has already is skipped, whatever the text, and nothing is ever replaced."""
    mine = [number for number, entry in enumerate(draft.items("toolNotes")) if _is_about(entry, subject)]
    known = {note.name for number in mine for note in notes_of(draft.items("toolNotes")[number])}
    done = Added([], [])
    for note in notes:
        (done.skipped if note.name in known else done.added).append(note)
        known.add(note.name)
    written = [{"name": note.name, "note": note.text} for note in done.added]
    home = next((n for n in mine if isinstance(draft.items("toolNotes")[n].get("notes"), list)), None)
    if home is not None:
        for one in written:
            draft.append_at(("toolNotes", home, "notes"), one)
    elif written:
        draft.append("toolNotes", {"toolRef": subject.written, "notes": written})
    return done


def override(
    draft: Draft, subject: Subject, hints: Mapping[str, bool], title: str | None, inherit: Iterable[str]
) -> None:
    """Set hints and the title of a tool, and let it inherit others from its server again (`title` among them)."""
    for name in inherit:
        _inherit(draft, subject, name)
    for name, value in hints.items():
        _set(draft, subject, ("annotations", name), value)
    if title:
        _set(draft, subject, ("title",), title)


def _set(draft: Draft, subject: Subject, place: tuple[str, ...], value: bool | str) -> None:
    """Set one member in the tool's first entry, which is the one that counts."""
    entries = draft.items("toolOverrides")
    home = next((number for number, entry in enumerate(entries) if _is_about(entry, subject)), None)
    if home is None:
        draft.append("toolOverrides", {"toolRef": subject.written, **_nested(place, value)})
        return
    entry = entries[home]
    if len(place) > 1 and not isinstance(entry.get(place[0]), dict):
        draft.put(("toolOverrides", home, place[0]), {place[1]: value})
        return
    old = (entry if len(place) == 1 else entry[place[0]]).get(place[-1])
    if (type(old), old) != (type(value), value):
        draft.put(("toolOverrides", home, *place), value)


def _inherit(draft: Draft, subject: Subject, name: str) -> None:
    """Take one member out of all of the tool's entries; an entry that says nothing more goes too."""
    place = (name,) if name == "title" else ("annotations", name)
    for number in reversed(range(len(draft.items("toolOverrides")))):
        entry = draft.items("toolOverrides")[number]
        within = entry if name == "title" or not isinstance(entry, dict) else entry.get("annotations")
        if _is_about(entry, subject) and isinstance(within, dict) and name in within:
            draft.drop(("toolOverrides", number, *place))
            left = dict(draft.items("toolOverrides")[number])
            left.pop("toolRef")
            if left in ({}, {"annotations": {}}):
                draft.drop(("toolOverrides", number))


def _nested(place: tuple[str, ...], value: bool | str) -> dict[str, Any]:
    return {place[0]: value if len(place) == 1 else {place[1]: value}}


def _is_about(entry: Any, subject: Subject) -> bool:
    return isinstance(entry, dict) and subject.is_meant_by(entry.get("toolRef"))


def _reference(tool: Tool) -> dict[str, str]:
    return {"namespacedName": dotted(tool), "refId": ref_id(tool)}
