"""`progress.py [FILE]`: a slow tool that reports progress, and leaves the id of a cancelled call in FILE."""

import sys
import threading
from typing import Any

sys.path.append(__file__.rpartition("/tests/")[0])  # Started by path, from any directory.

from mcpctl.demo.stdio_server import Json, text
from tests.servers.tool_server import Request, ToolServer

server = ToolServer("progress")
cancelled: dict[object, threading.Event] = {}


@server.tool(
    {
        "name": "slow",
        "description": "Reports progress n times, with a pause before each.",
        "inputSchema": {
            "type": "object",
            "properties": {"n": {"type": "integer", "default": 3}, "pause": {"type": "number", "default": 0.01}},
        },
    }
)
def slow(request: Request) -> None:
    """Works on a thread, so that a cancellation is read meanwhile."""
    cancelled[request.id] = threading.Event()
    threading.Thread(target=work, args=[request], daemon=True).start()


def work(request: Request) -> None:
    """Reports and answers, or stops in between and says nothing more."""
    n, token = request.arguments.get("n", 3), request.meta.get("progressToken")
    for done in range(1, n + 1):
        if cancelled[request.id].wait(request.arguments.get("pause", 0.01)):
            if len(sys.argv) > 1:
                from pathlib import Path

                with Path(sys.argv[1]).open("a", encoding="utf-8") as file:
                    file.write(f"{request.id}\n")
            return
        if token is not None:
            params: Json = {"progressToken": token, "progress": done, "total": n, "message": f"{done} of {n}"}
            server.send({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})
    request.answer(text(f"{n} steps"))


def stop(params: dict[str, Any]) -> None:
    """The client no longer wants the answer."""
    if event := cancelled.get(params.get("requestId")):
        event.set()


if __name__ == "__main__":
    server.notifications["notifications/cancelled"] = stop
    server.run()
