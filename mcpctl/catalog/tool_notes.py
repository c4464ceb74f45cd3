"""A team's notes and hints on tools, in the toolset in force: added, removed, overridden, listed."""

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from mcpctl.base.errors import McpctlError, NotFound, warn
from mcpctl.base.models import HINTS, Found, Row
from mcpctl.base.near_names import did_you_mean
from mcpctl.base.paths import Paths
from mcpctl.base.tool_keys import split_typed
from mcpctl.catalog import rows
from mcpctl.catalog.cache import Catalog
from mcpctl.toolsets import edits, in_force
from mcpctl.toolsets.edits import Added, NotedTool, ToolsetDraft
from mcpctl.toolsets.toolset import Note, ToolIndex, ToolReference, Toolset, ToolsetEntry, dotted, ref_id
from mcpctl.toolsets.toolset_files import ToolsetFile


class Done(NamedTuple):
    place: ToolsetFile
    diff: Sequence[str]  # empty where nothing changed
    names: Sequence[str] = ()  # the notes that were added or removed


class ToolsetChoice(NamedTuple):
    paths: Paths
    toolset: str | None
    project: str | None

    @contextmanager
    def opened(self) -> Iterator[tuple[Catalog, ToolsetFile, Toolset]]:
        with rows.catalog(self.paths, project=self.project, quiet=True) as catalog:
            yield catalog, *in_force.required(self.paths, catalog.config, self.toolset, catalog.state)


def add(choice: ToolsetChoice, key: str, notes: Sequence[Note], *, dry_run: bool = False) -> Done:
    """Add notes to a tool of the toolset in force; warns of those that it already has, which stay as they are."""
    edits.check_notes(notes)
    place, subject = _named(choice, key)
    diff, outcome = add_to(place, subject, notes, dry_run=dry_run)
    for note in outcome.skipped:
        toolset = ["--toolset", choice.toolset] if choice.toolset else []
        change_it = shlex.join(["mcpctl", "annotate", "edit", key, note.name, *toolset])
        warn(f"{key} has a note '{note.name}' already; it stays as it is; change it with: {change_it}")
    return Done(place, diff, [note.name for note in outcome.added])


def add_to(
    place: ToolsetFile, subject: NotedTool, notes: Sequence[Note], *, dry_run: bool = False
) -> tuple[Sequence[str], Added]:
    return edits.change(place, lambda draft: edits.add_notes(draft, subject, notes), edits.notes_alone, dry_run=dry_run)


def remove(choice: ToolsetChoice, key: str, names: Sequence[str] | None, *, dry_run: bool = False) -> Done:
    """All notes for None; raises `NotFound` where the tool lacks one of the names, and then removes none."""
    place, subject, _ = _noted(choice, key)

    def change(draft: ToolsetDraft) -> list[str]:
        present = {str(note.get("name")) for _, note in edits.notes_of_tool(draft.content, subject)}
        for name in names or ():
            if name not in present:
                raise _no_note(key, name, present)
        return edits.remove_notes(draft, subject, names)

    return Done(place, *edits.change(place, change, edits.notes_alone, dry_run=dry_run))


class FoundNote(NamedTuple):
    place: ToolsetFile
    subject: NotedTool
    key: str
    note: Note

    def rewrite(self, text: str, *, dry_run: bool = False) -> Done:
        """Raises if the note was changed since it was found."""
        note = Note(self.note.name, text)
        if note != self.note:
            edits.check_notes([note])

        def change(draft: ToolsetDraft) -> None:
            if _note(draft.content, self.subject, self.key, note.name) != self.note:
                message = f"note '{note.name}' of {self.key} was changed meanwhile"
                raise McpctlError(message, "look at it, and edit it again", "changed_meanwhile")
            if note != self.note:
                edits.rewrite_note(draft, self.subject, note)

        diff, _ = edits.change(self.place, change, edits.notes_alone, dry_run=dry_run)
        return Done(self.place, diff)


def find(choice: ToolsetChoice, key: str, name: str) -> FoundNote:
    """Raises `NotFound` with similar names."""
    place, subject, toolset = _noted(choice, key)
    return FoundNote(place, subject, key, _note(toolset.content, subject, key, name))


def _note(content: Mapping[str, Any], subject: NotedTool, key: str, name: str) -> Note:
    notes = [note for _, note in edits.notes_of_tool(content, subject)]
    for note in notes:
        if str(note.get("name")) == name:
            return Note(name, str(note.get("note")))
    raise _no_note(key, name, dict.fromkeys(str(note.get("name")) for note in notes))


def _no_note(key: str, name: str, names: Iterable[str]) -> NotFound:
    hint = did_you_mean(name, names, f"list its notes with: mcpctl annotate ls {key}")
    return NotFound(f"{key} has no note '{name}'", hint, "note_not_found")


def override(
    choice: ToolsetChoice,
    key: str,
    hints: Mapping[str, bool],
    title: str | None,
    inherit: Sequence[str],
    permit: edits.Permit,
    *,
    dry_run: bool = False,
) -> Done:
    """Override hints and the title of a tool of the toolset in force, or inherit them from its server again."""
    place, subject = _named(choice, key)
    diff, _ = edits.change(
        place, lambda draft: edits.override(draft, subject, hints, title, inherit), permit, dry_run=dry_run
    )
    return Done(place, diff)


def listed(choice: ToolsetChoice, key: str | None) -> Found:
    with choice.opened() as (catalog, place, toolset):
        if key is None:
            about = _by_tool(catalog, toolset)
        else:
            subject = of_key(catalog, toolset, key)
            entry = toolset.about(subject.tool) if subject.tool else toolset.said_of(subject.reference)
            about = [(_key(subject.reference), entry)]
    table = [row for key_, entry in about for row in _rows(key_, entry, place, toolset)]
    return Found.of(table, filtered=key is not None)


def of_key(catalog: Catalog, toolset: Toolset, key: str) -> NotedTool:
    """The tool of that key, which must be in the toolset; one that is not listed is taken as the toolset names it."""
    server, name = split_typed(key)
    tool = catalog.find(server, name)
    named = next((reference for reference in toolset.tools if reference.name == f"{server}.{name}"), None)
    if tool is None and named is None:
        raise rows.unknown(catalog, key)
    if tool is None and named is not None:
        return NotedTool(named, None)
    assert tool
    if not toolset.holds(tool):
        raise not_in(toolset, tool.key)
    return NotedTool(ToolReference(dotted(tool), ref_id(tool)), tool)


def not_in(toolset: Toolset, key: str) -> NotFound:
    named = toolset.name if toolset.own else toolset.path
    hint = f"add it with: {shlex.join(['mcpctl', 'toolsets', 'add', str(named), key])}"
    return NotFound(f"tool '{key}' is not in the toolset '{toolset.name}'", hint, "not_in_toolset")


def _named(choice: ToolsetChoice, key: str) -> tuple[ToolsetFile, NotedTool]:
    with choice.opened() as (catalog, place, toolset):
        return place, of_key(catalog, toolset, key)


def _noted(choice: ToolsetChoice, key: str) -> tuple[ToolsetFile, NotedTool, Toolset]:
    with choice.opened() as (catalog, place, toolset):
        server, name = split_typed(key)
        tool = catalog.find(server, name)
        subject = NotedTool(ToolReference(f"{server}.{name}", ref_id(tool) if tool else None), tool)
        if not any(edits.notes_of_tool(toolset.content, subject)):
            subject = of_key(catalog, toolset, key)
        return place, subject, toolset


def _by_tool(catalog: Catalog, toolset: Toolset) -> list[tuple[str, ToolsetEntry]]:
    known = ToolIndex(catalog.known())
    entries: dict[str, ToolsetEntry] = {}
    for entry in toolset.entries:
        tool = known.tool(entry.reference)
        reference = ToolReference(dotted(tool), None) if tool else entry.reference
        if _key(reference) not in entries:
            entries[_key(reference)] = toolset.about(tool) if tool else toolset.said_of(reference)
    return list(entries.items())


def _key(reference: ToolReference) -> str:
    return reference.key or reference.label


def _rows(key: str, entry: ToolsetEntry, place: ToolsetFile, toolset: Toolset) -> Iterator[Row]:
    values: list[tuple[str, str, Any]] = [("note", note.name, note.text) for note in entry.notes]
    values += [("override", name, entry.hints[name]) for name in HINTS if name in entry.hints]
    values += [("override", "title", entry.title)] if entry.title else []
    for kind, name, value in values:
        yield {
            "key": key, "kind": kind, "name": name, "value": value, "toolset": toolset.name, "path": str(place.path),
        }  # fmt: skip
