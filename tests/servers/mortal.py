"""`mortal.py FILE`: leaves a line in FILE for each call it gets; ends, closes its stdout or asks the client in one."""

import json
import os
import sys
import threading
import time

sys.path.append(__file__.rpartition("/tests/")[0])  # Started by path, from any directory.

from mcpctl.demo.stdio_server import Json, text
from tests.servers.tool_server import Request, ToolServer

ANYTHING = {"type": "object"}
INPUTS = {"name": {"method": "elicitation/create", "params": {"message": "Your name?"}}}

asking: dict[object, Request] = {}


class Asking(ToolServer):
    """Takes answers to what it asks."""

    def receive(self, line: bytes) -> None:
        """An answer goes to the call that waits for it."""
        message = json.loads(line)
        if "method" not in message and message.get("id") in asking:
            asking.pop(message["id"]).answer(text(json.dumps(message["result"])))
        else:
            super().receive(line)


server = Asking("mortal")


def note(request: Request) -> None:
    """Put the call on the file."""
    from pathlib import Path

    with Path(sys.argv[1]).open("a", encoding="utf-8") as file:
        file.write(f"{request.params['name']} {json.dumps(request.arguments)}\n")


@server.tool({"name": "work", "description": "Answers with its pid.", "inputSchema": ANYTHING})
def work(request: Request) -> Json:
    """A plain answer."""
    note(request)
    return text(str(os.getpid()))


@server.tool({"name": "die", "description": "Exits during the call.", "inputSchema": ANYTHING})
def die(request: Request) -> None:
    """No answer, only a status."""
    note(request)
    os.write(2, b"first\nlast words\n")
    os._exit(3)


@server.tool({"name": "fall_silent", "description": "Closes its stdout, and hangs.", "inputSchema": ANYTHING})
def fall_silent(request: Request) -> None:
    """No answer, ever."""
    note(request)
    os.dup2(2, 1)
    time.sleep(60)


@server.tool({"name": "linger", "description": "Answers after half a second.", "inputSchema": ANYTHING})
def linger(request: Request) -> None:
    """A late answer, while other calls go on."""
    note(request)
    timer = threading.Timer(0.5, request.answer, [text("late")])
    timer.daemon = True
    timer.start()


@server.tool({"name": "ask", "description": "Asks the client before it answers.", "inputSchema": ANYTHING})
def ask(request: Request) -> Json | None:
    """Asks in the way of the request's era."""
    note(request)
    if not request.modern:
        asking["mine"] = request
        question = {"message": "Your name?", "requestedSchema": ANYTHING}
        server.send({"jsonrpc": "2.0", "id": "mine", "method": "elicitation/create", "params": question})
        return None
    if "inputResponses" in request.params:
        return text(json.dumps([request.params["inputResponses"], request.params["requestState"]]))
    return {"resultType": "input_required", "inputRequests": INPUTS, "requestState": "here"}


if __name__ == "__main__":
    server.run()
