"""The upstream that is called in `calls`: `echo` and `big`, as fast as Python answers, so that the proxies show."""

import json
import sys
from functools import cache
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2]))  # Started by path, from any directory.

from mcpctl.demo.stdio_server import Json, text
from tests.servers.tool_server import Request, ToolServer


class Quick(ToolServer):
    """Skips the checks of the protocol for calls."""

    def receive(self, line: bytes) -> None:
        """Answer a call at once, anything else as usual."""
        message = json.loads(line)
        if message.get("method") != "tools/call":
            return super().receive(line)
        params = message["params"]
        arguments = params["arguments"]
        result = text(megabytes(arguments["mb"]) if params["name"] == "big" else json.dumps(arguments))
        if "io.modelcontextprotocol/protocolVersion" in params.get("_meta", ()):
            result["resultType"] = "complete"
        return self.send({"jsonrpc": "2.0", "id": message["id"], "result": result})


@cache
def megabytes(count: int) -> str:
    """A text of that many megabytes, with what JSON has to escape here and there."""
    return ('The "quick" brown fox\n' * 50_000)[:1_000_000] * count


def never(request: Request) -> Json:
    """Calls are answered before they come here."""
    raise AssertionError


server = Quick("upstream")
server.tool({"name": "echo", "description": "Returns its arguments.", "inputSchema": {"type": "object"}})(never)
server.tool({"name": "big", "description": "A text of that many MB.", "inputSchema": {"type": "object"}})(never)

if __name__ == "__main__":
    server.run()
