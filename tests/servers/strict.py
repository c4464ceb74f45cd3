"""`strict.py`: refuses wrong arguments itself, once as a result and once as a JSON-RPC error without data."""

import sys

sys.path.append(__file__.rpartition("/tests/")[0])  # Started by path, from any directory.

from mcpctl.demo.stdio_server import INVALID_PARAMS, Json, RpcError, ToolFailed, checked, text
from tests.servers.tool_server import Request, ToolServer

server = ToolServer("strict")
SCHEMA = {
    "type": "object",
    "properties": {
        "title": {"type": "string", "minLength": 1},
        "priority": {"type": "integer", "minimum": 0, "maximum": 4},
        "state": {"type": "string", "enum": ["open", "closed"], "default": "open"},
    },
    "required": ["title", "priority"],
    "additionalProperties": False,
}


def accept(request: Request) -> Json:
    """What was understood, when the arguments match."""
    given = checked(SCHEMA, request.arguments)
    return text(f"{given['title']}, {given['priority']}, {given['state']}")


@server.tool({"name": "strict_result", "description": "Refuses with isError.", "inputSchema": SCHEMA})
def strict_result(request: Request) -> Json:
    """Refusals name no argument: the help has to come from elsewhere."""
    try:
        return accept(request)
    except ToolFailed as error:
        raise ToolFailed("Invalid input") from error


@server.tool({"name": "strict_error", "description": "Refuses with a JSON-RPC error.", "inputSchema": SCHEMA})
def strict_error(request: Request) -> Json:
    """Refusals have a code and a message, no data."""
    try:
        return accept(request)
    except ToolFailed as error:
        raise RpcError(INVALID_PARAMS, "Invalid params") from error


if __name__ == "__main__":
    server.run()
