"""One toolset: which tools are in it, and how it has them shown."""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import msgspec

from mcpctl.models import HINTS, Overrides, Tool

Place = Sequence[str | int]
"""Where in a file's JSON something is: names of members and numbers of items."""
NAME = re.compile(r"[a-z0-9-]{2,50}\Z")
"""How toolsets and notes may be named."""
MAX_NOTE = 500
MAX_NOTES = 20
"""How many notes may be added at once, and how many of one tool are shown."""
MAX_NOTES_CHARS = 4000
"""How many characters all notes of one tool may have together to be shown."""
MAX_TITLE = 200
HIDDEN = re.compile(
    # controls, line separators, marks and overrides of direction, invisible operators, tags and what selects variants
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e0fff]"
)
"""What nobody sees in a text and a model reads all the same; line breaks and tabs are none of it."""
_HEADING = "### Additional Tool Notes"
_IDENTITY = ("inputSchema", "outputSchema", "annotations")
_EXACT = 1 << 53


def ref_id(tool: Tool) -> str:
    """The hash by which toolsets know a tool besides its name: it changes when what the tool takes or promises does.

    As hypertool-mcp computes it, as far as another program can: 64 hexadecimal digits.
    """
    described = {name: tool.definition[name] for name in _IDENTITY if name in tool.definition}
    identity = {"name": tool.name, "serverName": tool.server, **described}
    return hashlib.sha256(msgspec.json.encode(_as_javascript(identity))).hexdigest()


def _as_javascript(value: Any) -> Any:
    """The value with its numbers as JavaScript writes them: it knows no 1.0."""
    if isinstance(value, dict):
        return {name: _as_javascript(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_as_javascript(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT else value


def dotted(tool: Tool) -> str:
    """A tool's name as toolset files have it."""
    return f"{tool.server}.{tool.name}"


class Reference(msgspec.Struct, frozen=True):
    """How a file names a tool. The name, where there is one, decides alone: a hash that differs is information."""

    name: str | None
    ref_id: str | None

    @property
    def label(self) -> str:
        """What stands for it in messages."""
        return self.name or f"refId {(self.ref_id or '')[:12]}"

    @property
    def index(self) -> str:
        """What is looked up: the name, else the hash; a name has a dot and a hash has none."""
        return self.name or self.ref_id or ""

    def is_of(self, tool: Tool) -> bool:
        """Whether it names this tool."""
        return self.index == (dotted(tool) if self.name else ref_id(tool))

    @property
    def key(self) -> str | None:
        """The key of the tool that the name names."""
        return self.name.replace(".", ":", 1) if self.name else None


class Note(msgspec.Struct, frozen=True):
    """A person's guidance for a tool."""

    name: str
    text: str

    @property
    def line(self) -> str:
        """How a model reads it: its further lines are indented, so that none can pass for another note."""
        return f"• **{self.name}**: {self.text}".replace("\n", "\n    ")


class ToolsetEntry(msgspec.Struct, frozen=True):
    """What a file says of one tool in one place; several places may be about the same tool."""

    reference: Reference
    notes: tuple[Note, ...] = ()
    hints: dict[str, bool] = {}
    title: str | None = None


def rendered(notes: Iterable[Note]) -> str:
    """What is added to a description for its notes to be read, whatever its server wrote there; empty without any."""
    lines = [note.line for note in notes]
    return "\n".join((_HEADING, "", *lines)) if lines else ""


def searched(tools: Iterable[Tool]) -> dict[str, str]:
    """What searches read besides the descriptions of tools with notes, by key: the notes without their heading."""
    return {tool.key: tool.notes[len(_HEADING) :] for tool in tools if tool.notes}


@dataclass(frozen=True, eq=False)
class Toolset:
    """A named list of tools with notes and overrides, as a file has it. It never changes: a changed file is another."""

    name: str
    path: Path
    own: bool
    """Whether the file is in the user's own data directory."""
    tools: Sequence[Reference] = ()
    entries: Sequence[ToolsetEntry] = ()
    content: Mapping[str, Any] = field(default_factory=dict)
    """All that the file says, what mcpctl does not know included."""
    problem: str = ""
    """Why this is not what the file says now."""
    _shown: WeakKeyDictionary[Tool, Tool] = field(default_factory=WeakKeyDictionary, repr=False)
    _said: dict[tuple[str, str], ToolsetEntry] = field(default_factory=dict, repr=False)
    """What it says of tools that were asked for, by name and hash: a file may have many entries of one tool."""

    @property
    def description(self) -> str | None:
        """What it is for."""
        said = self.content.get("description")
        return said if isinstance(said, str) and said else None

    def holds(self, tool: Tool) -> bool:
        """Whether the tool is in it."""
        return dotted(tool) in self._names or bool(self._hashes and ref_id(tool) in self._hashes)

    def may_hold(self, server: str, name: str) -> bool:
        """Whether a tool of that name, of which no more is known, could be in it."""
        return bool(self._hashes) or f"{server}.{name}" in self._names

    def shown(self, tool: Tool) -> Tool:
        """The tool with its notes, its title and its hints as the toolset has them: a copy, the same one each time."""
        found = self._shown.get(tool)
        if found is None:
            found = self._shown[tool] = self._made(tool)
        return found

    def about(self, tool: Tool) -> ToolsetEntry:
        """All that it says of a tool, in one: of what is said twice, the first counts."""
        return self._entry(Reference(dotted(tool), None), ref_id(tool) if self._has_hashes else "")

    def said_of(self, reference: Reference) -> ToolsetEntry:
        """All that it says of a tool of which no more is known than this reference."""
        return self._entry(reference, "")

    def _entry(self, reference: Reference, hash_: str) -> ToolsetEntry:
        found = self._said.get((reference.index, hash_))
        if found is None:
            numbers = {*self._by_index.get(reference.index, ()), *(self._by_index.get(hash_, ()) if hash_ else ())}
            found = _merged(reference, [self.entries[number] for number in sorted(numbers)])
            self._said[reference.index, hash_] = found
        return found

    def _made(self, tool: Tool) -> Tool:
        entry = self.about(tool)
        notes = rendered(entry.notes)
        changed: dict[str, Any] = {"title": entry.title} if entry.title else {}
        if notes and notes != tool.notes:
            changed["description"] = f"{tool.description}\n\n{notes}" if tool.description else notes
        overrides = Overrides(entry.hints, str(self.path), self.own) if entry.hints else None
        return replace(tool, definition={**tool.definition, **changed}, notes=notes, overrides=overrides)

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
        found: dict[str, list[int]] = {}
        for number, entry in enumerate(self.entries):
            found.setdefault(entry.reference.index, []).append(number)
        return found


def _merged(reference: Reference, entries: Sequence[ToolsetEntry]) -> ToolsetEntry:
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
    """The notes of a tool that models read: those at the beginning, as long as they are few and short enough."""
    found: list[Note] = []
    left = MAX_NOTES_CHARS
    for note in notes:
        left -= len(note.text)
        if left < 0 or len(found) == MAX_NOTES:
            break
        found.append(note)
    return tuple(found)
