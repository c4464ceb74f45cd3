"""`noting.py FILE`: notes in FILE the id of each call that has begun; one with a gate reports progress and waits until
there is a file of that name."""

import os
import sys
import threading
import time

sys.path.append(__file__.rpartition("/tests/")[0])  # Started by path, from any directory.

from mcpctl.demo.stdio_server import text
from tests.servers.tool_server import Request, ToolServer

server = ToolServer("noting")
LONGEST_S = 120


@server.tool({"name": "note", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}})
def note(request: Request) -> None:
    """Works on a thread, so that others are called meanwhile."""
    with open(sys.argv[1], "ab", buffering=0) as file:  # noqa: PTH123 - one write, which several processes share
        file.write(f"{request.arguments['id']}\n".encode())
    threading.Thread(target=work, args=[request], daemon=True).start()


def work(request: Request) -> None:
    """Answers at once, or when its gate is open."""
    gate, token = request.arguments.get("gate"), request.meta.get("progressToken")
    if gate and token is not None:
        params = {"progressToken": token, "progress": 1}
        server.send({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})
    last = time.monotonic() + LONGEST_S
    while gate and not os.path.exists(gate) and time.monotonic() < last:  # noqa: PTH110
        time.sleep(0.01)
    request.answer(text(f"noted {request.arguments['id']}"))


if __name__ == "__main__":
    server.run()
