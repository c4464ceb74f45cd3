"""`flood.py`: tells more than anybody reads, and asks before it was spoken to."""

import sys

sys.path.append(__file__.rpartition("/tests/")[0])  # Started by path, from any directory.

from mcpctl.demo.stdio_server import Json, text
from tests.servers.tool_server import Request, ToolServer

server = ToolServer("flood")


@server.tool({"name": "flood", "description": "100 MB of progress.", "inputSchema": {"type": "object"}})
def flood(request: Request) -> Json:
    """More than a pipe holds, a hundred times."""
    token = request.meta["progressToken"]
    for done in range(1000):
        params: Json = {"progressToken": token, "progress": done, "message": "x" * 100_000}
        server.send({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})
    return text("flooded")


if __name__ == "__main__":
    server.send({"jsonrpc": "2.0", "id": "early", "method": "roots/list", "params": {}})
    server.run()
