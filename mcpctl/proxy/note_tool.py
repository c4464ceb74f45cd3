"""One `add-tool-annotation`: notes that a model adds to a tool of the toolset in force, as `annotate add` does."""

from collections.abc import Mapping
from typing import Any

import msgspec

from mcpctl.catalog import tool_notes
from mcpctl.catalog.cache import Catalog
from mcpctl.errors import NotFound, Refused, WrongUsage
from mcpctl.proxy import jsonrpc
from mcpctl.toolsets import edits
from mcpctl.toolsets.edits import Subject
from mcpctl.toolsets.toolset import Note, Reference, Toolset, ref_id
from mcpctl.toolsets.toolset_files import ToolsetPlace

_EXAMPLE = '{"toolRef": {"namespacedName": "server.tool"}, "notes": [{"name": "when-to-use", "note": "…"}]}'


def asked(arguments: bytes, catalog: Catalog, toolset: Toolset | None) -> tuple[Subject, list[Note]]:
    """Which notes are to be added to which tool; raises `McpctlError` with what a model should mend."""
    if toolset is None:
        raise NotFound(
            "no toolset is equipped", "the user can equip one with: mcpctl toolsets equip NAME", "no_toolset"
        )
    try:
        given = jsonrpc.value(arguments or b"{}", dict)
        named, notes = dict(given["toolRef"]), [_note(note) for note in given["notes"]]
    except (KeyError, TypeError, ValueError):
        raise WrongUsage("the arguments of add-tool-annotation have another form", f"Example: {_EXAMPLE}") from None
    edits.check_notes(notes)
    key = _key(named, catalog)
    if key.partition(":")[0] in catalog.config.elsewhere:
        # Models of another project would read it.
        raise NotFound(f"no tool '{key}' is in the project in force", f"Example: {_EXAMPLE}", "tool_not_found")
    server, _, name = key.partition(":")
    if server in catalog.config.servers and not catalog.config.servers[server].permits(name):
        told = f"tool '{key}' is not permitted by the user's configuration"
        raise Refused(told, "do not retry it", "not_permitted")
    return tool_notes.of_key(catalog, toolset, key), notes


def add(place: ToolsetPlace, subject: Subject, notes: list[Note], toolset: str) -> bytes:
    """Add them; the result says which were added and which were there already. May wait for the file's lock."""
    done = tool_notes.add_to(place, subject, notes).notes
    content: dict[str, Any] = {
        "toolset": toolset,
        "tool": {"namespacedName": subject.reference.name, "refId": subject.reference.ref_id},
        "addedNotes": [{"name": note.name, "note": note.text} for note in done.added],
        "skippedNotes": [note.name for note in done.skipped],
    }
    text = msgspec.json.encode(content)
    blocks = [{"type": "text", "text": text.decode()}]
    return msgspec.json.encode({"content": blocks, "structuredContent": msgspec.Raw(text)})


def _note(given: Mapping[str, Any]) -> Note:
    name, text = given["name"], given["note"]
    if not isinstance(name, str) or not isinstance(text, str):
        raise TypeError
    return Note(name, text)


def _key(named: Mapping[str, Any], catalog: Catalog) -> str:
    name, hash_ = named.get("namespacedName"), named.get("refId")
    if isinstance(name, str) and name:
        return Reference(name, None).key or name
    found = [tool.key for tool in catalog.permitted() if ref_id(tool) == hash_]
    if not found:
        raise NotFound(f"no tool has the refId '{str(hash_)[:64]}'", f"Example: {_EXAMPLE}", "tool_not_found")
    return found[0]
