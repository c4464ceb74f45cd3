"""One toolset: the tools in it, and how their definitions are shown with its notes and overrides."""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import msgspec
from msgspec import Struct, field

from mcpctl.base.models import HINTS, Overrides, Tool
from mcpctl.config.policy_settings import PolicyRule

NAME = re.compile(r"[a-z0-9-]{2,50}\Z")  # the names that toolsets and notes may have
MAX_NOTE = 500
MAX_NOTES = 20  # the most of one tool, and the most that may be added at once
MAX_NOTES_CHARS = 4000  # all notes of one tool together
MAX_TITLE = 200
HIDDEN = re.compile(  # a character that a model reads and no person sees; line breaks and tabs are not among them
    # controls, line separators, marks and overrides of direction, invisible operators, tags and variation selectors
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e0fff]"
)
_HEADING = "### Additional Tool Notes"
_IDENTITY = ("inputSchema", "outputSchema", "annotations")
_EXACT = 1 << 53


def ref_id(tool: Tool) -> str:
    """64 hexadecimal digits, computed as hypertool-mcp does: they change with parameters, output or hints."""
    described = {name: tool.definition[name] for name in _IDENTITY if name in tool.definition}
    identity = {"name": tool.name, "serverName": tool.server, **described}
    return hashlib.sha256(msgspec.json.encode(_as_javascript(identity))).hexdigest()


def _as_javascript(value: Any) -> Any:
    """The value with its numbers as JavaScript writes them: 1.0 is 1."""
    if isinstance(value, dict):
        return {name: _as_javascript(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_as_javascript(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT else value


def dotted(tool: Tool) -> str:
    return f"{tool.server}.{tool.name}"


class ToolReference(msgspec.Struct, frozen=True):
    """A name or a hash of a tool. A name decides alone: a hash beside it that differs is only information."""

    name: str | None
    ref_id: str | None

    @property
    def label(self) -> str:
        return self.name or f"refId {(self.ref_id or '')[:12]}"

    @property
    def index(self) -> str:
        """The text to look up: the name, which has a dot, else the hash, which has none."""
        return self.name or self.ref_id or ""

    @property
    def key(self) -> str | None:
        return self.name.replace(".", ":", 1) if self.name else None


class ToolIndex:
    """Tools by the references of toolset files; a hash is computed once, and only if it is needed."""

    def __init__(self, tools: Sequence[Tool]) -> None:
        self.tools = tools
        self._hashes: dict[str, str] = {}

    @cached_property
    def by_name(self) -> Mapping[str, Tool]:
        return {dotted(tool): tool for tool in self.tools}

    @cached_property
    def by_hash(self) -> Mapping[str, Tool]:
        return {self.hash(tool): tool for tool in self.tools}

    def hash(self, tool: Tool) -> str:
        name = dotted(tool)
        if name not in self._hashes:
            self._hashes[name] = ref_id(tool)
        return self._hashes[name]

    def tool(self, reference: ToolReference) -> Tool | None:
        return self.by_name.get(reference.name) if reference.name else self.by_hash.get(reference.index)


class Note(msgspec.Struct, frozen=True):
    name: str
    text: str

    @property
    def line(self) -> str:
        """The note as a model reads it. Its further lines are indented, so that no line can pass for another note."""
        return f"• **{self.name}**: {self.text}".replace("\n", "\n    ")


class ToolsetEntry(msgspec.Struct, frozen=True):
    """The notes, hints and title for one tool in one place of a file; several places may be about the same tool."""

    reference: ToolReference
    notes: tuple[Note, ...] = ()
    hints: dict[str, bool] = {}
    title: str | None = None


def rendered(notes: Iterable[Note]) -> str:
    lines = [note.line for note in notes]
    return "\n".join((_HEADING, "", *lines)) if lines else ""


def searched(tools: Iterable[Tool]) -> dict[str, str]:
    """Notes without their heading, by tool key: searches read them beside the descriptions."""
    return {tool.key: tool.notes[len(_HEADING) :] for tool in tools if tool.notes}


class Toolset(Struct, frozen=True, eq=False, dict=True):
    """A named list of tools with notes and overrides, as a file has it. Immutable."""

    name: str
    path: Path
    own: bool  # whether the file is in the user's own data directory
    tools: Sequence[ToolReference] = ()
    entries: Sequence[ToolsetEntry] = ()
    content: Mapping[str, Any] = field(default_factory=dict)  # all members in the file, also unknown ones
    problem: str = ""  # why this differs from the file
    rules: Sequence[PolicyRule] = ()
    _shown: WeakKeyDictionary[Tool, Tool] = field(default_factory=WeakKeyDictionary)
    _merged_entries: dict[tuple[str, str], ToolsetEntry] = field(default_factory=dict)  # by name and hash

    @property
    def lacks_tools(self) -> str | None:
        """Why it has no tools, if its file does not say that it has none."""
        if isinstance(self.content.get("tools"), list):
            return None
        what = "tools is not an array" if "tools" in self.content else "it has no tools"
        return f"{what}, so that no tool can be found or called with it"

    @property
    def description(self) -> str | None:
        text = self.content.get("description")
        return text if isinstance(text, str) and text else None

    def holds(self, tool: Tool) -> bool:
        return dotted(tool) in self._names or bool(self._hashes and ref_id(tool) in self._hashes)

    def may_hold(self, server: str, name: str) -> bool:
        """Whether a tool of which only the name is known could be in the toolset."""
        return bool(self._hashes) or f"{server}.{name}" in self._names

    def names_server(self, server: str) -> bool:
        return any(name.startswith(f"{server}.") for name in self._names)

    def shown(self, tool: Tool) -> Tool:
        """The tool with the toolset's notes, title and hints: a copy, the same one each time."""
        copy = self._shown.get(tool)
        if copy is None:
            copy = self._shown[tool] = self._copy(tool)
        return copy

    def about(self, tool: Tool) -> ToolsetEntry:
        """All entries for a tool merged into one; of values that are set twice the first counts."""
        return self._entry(ToolReference(dotted(tool), None), ref_id(tool) if self._has_hashes else "")

    def said_of(self, reference: ToolReference) -> ToolsetEntry:
        return self._entry(reference, "")

    def _entry(self, reference: ToolReference, hash_: str) -> ToolsetEntry:
        entry = self._merged_entries.get((reference.index, hash_))
        if entry is None:
            numbers = {*self._by_index.get(reference.index, ()), *(self._by_index.get(hash_, ()) if hash_ else ())}
            entry = _merged(reference, [self.entries[number] for number in sorted(numbers)])
            self._merged_entries[reference.index, hash_] = entry
        return entry

    def _copy(self, tool: Tool) -> Tool:
        entry = self.about(tool)
        notes = rendered(entry.notes)
        changes: dict[str, Any] = {"title": entry.title} if entry.title else {}
        if notes and notes != tool.notes:
            changes["description"] = f"{tool.description}\n\n{notes}" if tool.description else notes
        overrides = Overrides(entry.hints, str(self.path), self.own) if entry.hints else None
        return replace(tool, definition={**tool.definition, **changes}, notes=notes, overrides=overrides)

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(reference.name for reference in self.tools if reference.name)

    @cached_property
    def _hashes(self) -> frozenset[str]:
        return frozenset(reference.index for reference in self.tools if not reference.name)

    @cached_property
    def _has_hashes(self) -> bool:
        return any(not entry.reference.name for entry in self.entries)

    @cached_property
    def _by_index(self) -> Mapping[str, list[int]]:
        numbers: dict[str, list[int]] = {}
        for number, entry in enumerate(self.entries):
            numbers.setdefault(entry.reference.index, []).append(number)
        return numbers


def _merged(reference: ToolReference, entries: Sequence[ToolsetEntry]) -> ToolsetEntry:
    notes: dict[str, Note] = {}
    hints: dict[str, bool] = {}
    title = None
    for entry in entries:
        for note in entry.notes:
            notes.setdefault(note.name, note)
        hints = {**entry.hints, **hints}
        title = title or entry.title
    return ToolsetEntry(reference, first(notes.values()), {name: hints[name] for name in HINTS if name in hints}, title)


def first(notes: Iterable[Note]) -> tuple[Note, ...]:
    """The notes that models read: the first ones, within MAX_NOTES and MAX_NOTES_CHARS."""
    shown: list[Note] = []
    budget = MAX_NOTES_CHARS
    for note in notes:
        budget -= len(note.text)
        if budget < 0 or len(shown) == MAX_NOTES:
            break
        shown.append(note)
    return tuple(shown)
