"""`@mcpctl:read` as policies and records see it, and its arguments; `proxy/read_tool` does the reading."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from mcpctl.base.feature_names import EXPLICIT
from mcpctl.base.models import Tool
from mcpctl.base.tool_keys import OWN, READ_TOOL
from mcpctl.wire import jsonrpc

CALLS = "mcpctl://calls/"  # beginning of the URI of a whole answer; the id of its call follows
USUAL, MOST = 8000, 100_000  # bytes that are read at once by default, and at most
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
_LONGEST_URI = 8192
_LONGEST_WORDS = 200
_LONGEST_NAME = 40
_EXAMPLE = f'Example: {{"uri": "{CALLS}ID", "offset": 0}}'
_MEANT = {
    "uri": f"a text of 1 to {_LONGEST_URI:,} characters",
    "path": "a JMESPath expression, as a text",
    "offset": "a number of bytes, 0 or more",
    "limit": f"a number of bytes from 16 to {MOST:,}",
    "grep": f"a text of 1 to {_LONGEST_WORDS} characters",
    "context": "a number of lines from 0 to 10",
    "server": "the name of a server, as a text",
}


def parent_of(arguments: bytes) -> str | None:
    """The id of the call whose answer is to be read; None where something else is."""
    from mcpctl.store import responses  # not part of starting up: most sessions never need it

    uri = jsonrpc.members_or_empty(arguments).get("uri", b"").strip(b'"').decode("utf-8", "replace")
    id_ = uri.removeprefix(CALLS)
    return id_ if id_ != uri and responses.is_id(id_) else None


class ReadRequest(msgspec.Struct, forbid_unknown_fields=True):
    uri: Annotated[str, Meta(min_length=1, max_length=_LONGEST_URI)]
    path: str | None = None
    offset: Annotated[int, Meta(ge=0)] | None = None
    limit: Annotated[int, Meta(ge=16, le=MOST)] = USUAL
    grep: Annotated[str, Meta(min_length=1, max_length=_LONGEST_WORDS)] | None = None
    context: Annotated[int, Meta(ge=0, le=10)] = 0
    server: str | None = None

    @property
    def resource(self) -> str | None:
        """The resource to read, by a name that says its server where the request does; None for a kept answer."""
        if self.uri.startswith(CALLS):
            return None
        return f"{EXPLICIT}{self.server}:{self.uri}" if self.server else self.uri


def resource(arguments: bytes) -> str | None:
    try:
        return taken(arguments).resource
    except WrongArguments:
        return None


class WrongArguments(Exception):
    """Raised with what is wrong with the arguments, for a model."""


def taken(arguments: bytes) -> ReadRequest:
    try:
        return msgspec.json.decode(arguments or b"{}", type=ReadRequest)
    except jsonrpc.REFUSED:
        raise WrongArguments(f"{_problem(arguments)}. {_EXAMPLE}") from None


def _problem(arguments: bytes) -> str:
    every = f"the arguments are {', '.join(_MEANT)}"
    try:
        members = jsonrpc.members(arguments or b"{}")
    except jsonrpc.Malformed:
        return f"the arguments must be an object; {every}"
    if unknown := next((name for name in members if name not in _MEANT), None):
        return f"unknown argument '{unknown[:_LONGEST_NAME]}'; {every}"
    if "uri" not in members:
        return f"the argument 'uri' is missing; {every}"
    types = {field.name: field.type for field in msgspec.structs.fields(ReadRequest)}
    for name, value in members.items():
        try:
            msgspec.json.decode(value, type=types[name])
        except jsonrpc.REFUSED:
            return f"'{name}' must be {_MEANT[name]}"
    return every
