"""`counter.py [FILE]`: leaves a line with its pid in FILE (or $COUNTER_FILE) at each start, and counts its calls. The
schema of its `echo` is in $ECHO_SCHEMA."""

import json
import os
import sys

sys.path.append(__file__.rpartition("/tests/")[0])  # Started by path, from any directory.

from mcpctl.demo.stdio_server import Json, text
from tests.servers.tool_server import Request, ToolServer

server = ToolServer("counter")
answered = 0


@server.tool(
    {
        "name": "count",
        "description": "How many calls this process has answered, this one included, and its pid.",
        "inputSchema": {"type": "object"},
        "annotations": {"readOnlyHint": True},
    }
)
def count(request: Request) -> Json:
    """The number of calls up to this one."""
    global answered
    answered += 1
    return text(json.dumps({"count": answered, "pid": os.getpid()}))


SCHEMA = json.loads(os.environ.get("ECHO_SCHEMA", '{"type": "object"}'))


@server.tool({"name": "echo", "description": "Returns its arguments.", "inputSchema": SCHEMA})
def echo(request: Request) -> Json:
    """The arguments, as JSON text."""
    global answered
    answered += 1
    return text(json.dumps(request.arguments))


if __name__ == "__main__":
    if path := sys.argv[1] if len(sys.argv) > 1 else os.environ.get("COUNTER_FILE"):
        from pathlib import Path

        with Path(path).open("a", encoding="utf-8") as file:
            file.write(f"{os.getpid()}\n")
    server.run()
