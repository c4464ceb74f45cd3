"""`@mcpctl:read` as policies and records see it; what it does is in `read_tool`, which is loaded once it is called."""

from typing import Any

import msgspec

from mcpctl.base.models import Tool
from mcpctl.base.tool_keys import OWN, READ_TOOL
from mcpctl.wire import jsonrpc

CALLS = "mcpctl://calls/"
"""What the URI of a whole answer begins with; the id of its call follows."""
USUAL, MOST = 8000, 100_000
"""Bytes that are read at once where nothing is said, and at most."""
_DEFINITION: dict[str, Any] = {
    "name": READ_TOOL,
    "description": "Read on in an answer that was shortened, or what an answer links to.",
    "inputSchema": {
        "type": "object",
        "properties": {
            "uri": {"type": "string", "description": f"{CALLS}ID of an answer, or the URI of a resource."},
            "path": {"type": "string", "description": "JMESPath: what to select of the JSON in it."},
            "offset": {"type": "integer", "minimum": 0, "description": "The byte to begin at."},
            "limit": {"type": "integer", "minimum": 16, "maximum": MOST, "default": USUAL},
            "grep": {"type": "string", "description": "Show only lines with these words, as they stand."},
            "context": {"type": "integer", "minimum": 0, "maximum": 10, "description": "Lines around each of those."},
            "server": {"type": "string", "description": "The server of a resource that several have."},
        },
        "required": ["uri"],
    },
    "annotations": {"readOnlyHint": True, "idempotentHint": True, "openWorldHint": False},
}
TOOL = Tool(OWN, READ_TOOL, _DEFINITION, msgspec.json.encode(_DEFINITION).decode())
"""The tool as policies see it."""


def parent_of(arguments: bytes) -> str | None:
    """The call whose answer is to be read; None where it is something else."""
    from mcpctl.store import responses  # what most sessions never need is no part of starting up

    uri = jsonrpc.members_or_empty(arguments).get("uri", b"").strip(b'"').decode("utf-8", "replace")
    id_ = uri.removeprefix(CALLS)
    return id_ if id_ != uri and responses.is_id(id_) else None
