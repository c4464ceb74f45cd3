"""One `add-tool-annotation`: notes that a model adds to a tool of the toolset in force, as `annotate add` does."""

from collections.abc import Mapping
from typing import Any

import msgspec

from mcpctl.base import tool_keys
from mcpctl.base.errors import NotFound, WrongUsage
from mcpctl.base.failure import Failed
from mcpctl.catalog import tool_notes
from mcpctl.catalog.cache import Catalog
from mcpctl.policy.decide import ANNOTATE, Subject, decide
from mcpctl.toolsets import edits
from mcpctl.toolsets.edits import NotedTool
from mcpctl.toolsets.toolset import Note, ToolReference, ref_id
from mcpctl.toolsets.toolset_files import ToolsetFile
from mcpctl.wire import jsonrpc

_EXAMPLE = '{"toolRef": {"namespacedName": "server.tool"}, "notes": [{"name": "when-to-use", "note": "…"}]}'


def note_request(arguments: bytes, catalog: Catalog) -> tuple[NotedTool, list[Note]]:
    """The notes to add, and the tool; raises `McpctlError` with what a model should fix, or `Failed`."""
    if catalog.toolset is None:
        raise NotFound(
            "no toolset is equipped", "the user can equip one with: mcpctl toolsets equip NAME", "no_toolset"
        )
    try:
        members = jsonrpc.value(arguments or b"{}", dict)
        named, notes = dict(members["toolRef"]), [_note(note) for note in members["notes"]]
    except (KeyError, TypeError, ValueError):
        raise WrongUsage("the arguments of add-tool-annotation have another form", f"Example: {_EXAMPLE}") from None
    edits.check_notes(notes)
    server, name = tool_keys.split(_key(named, catalog))
    subject = Subject(ANNOTATE, server, name, catalog.find(server, name), catalog.view)
    if failure := decide(subject).failure:
        raise Failed(failure)
    return tool_notes.of_key(catalog, catalog.toolset, subject.key), notes


def add(place: ToolsetFile, subject: NotedTool, notes: list[Note], toolset: str) -> bytes:
    _, done = tool_notes.add_to(place, subject, notes)
    content: dict[str, Any] = {
        "toolset": toolset,
        "tool": {"namespacedName": subject.reference.name, "refId": subject.reference.ref_id},
        "addedNotes": [{"name": note.name, "note": note.text} for note in done.added],
        "skippedNotes": [note.name for note in done.skipped],
    }
    text = msgspec.json.encode(content)
    blocks = [{"type": "text", "text": text.decode()}]
    return msgspec.json.encode({"content": blocks, "structuredContent": msgspec.Raw(text)})


def _note(members: Mapping[str, Any]) -> Note:
    name, text = members["name"], members["note"]
    if not isinstance(name, str) or not isinstance(text, str):
        raise TypeError
    return Note(name, text)


def _key(named: Mapping[str, Any], catalog: Catalog) -> str:
    name, hash_ = named.get("namespacedName"), named.get("refId")
    if isinstance(name, str) and name:
        return ToolReference(name, None).key or name
    # The key will stand in sentences of ours.
    keys = [tool.key for tool in catalog.permitted() if ref_id(tool) == hash_ and tool_keys.is_plain(tool.key)]
    if not keys:
        raise NotFound(f"no tool has the refId '{str(hash_)[:64]}'", f"Example: {_EXAMPLE}", "tool_not_found")
    return keys[0]
