"""The definition of a tool that a client is shown directly, in bytes: the server's, member for member."""

from weakref import WeakKeyDictionary

import msgspec

from mcpctl.base import hints
from mcpctl.base.models import Tool
from mcpctl.wire import jsonrpc

KEY = "mcpctl/key"  # the member of its `_meta` that has the tool's key
_definitions: WeakKeyDictionary[Tool, bytes] = WeakKeyDictionary()


def definition(named: tuple[str, Tool]) -> bytes:
    """The definition of a tool under its name, made once: as its server sent it, but for its name and key, and for the
    words of a toolset."""
    name, tool = named
    made = _definitions.get(tool)
    if made is None:
        made = _definitions[tool] = _definition(name, tool)
    return made


def _definition(name: str, tool: Tool) -> bytes:
    members = jsonrpc.members(tool.text.encode("utf-8", "replace"))
    members["name"] = msgspec.json.encode(name)
    for text in ("title", "description"):
        if (now := tool.definition.get(text)) != jsonrpc.value(members.get(text, b"null"), object):
            members[text] = msgspec.json.encode(now)
    decided = hints.deciding(tool, may_infer=True).items()
    ours = {hint: value for hint, (value, source) in decided if source in ("override", "inferred")}
    if ours:
        declared = jsonrpc.members_or_empty(members.get("annotations", b""))
        encoded = {hint: msgspec.json.encode(value) for hint, value in ours.items()}
        members["annotations"] = jsonrpc.object_of({**declared, **encoded})
    meta = jsonrpc.members_or_empty(members.get("_meta", b""))
    members["_meta"] = jsonrpc.object_of({**meta, KEY: msgspec.json.encode(tool.key)})
    return jsonrpc.object_of(members)
