"""`pages.py N [S]`: N tools, tool_0 to tool_N-1, ten a page; `grow` adds the next, `shrink` takes tool_0 away.

With S, a page comes that many seconds after it was asked for, as it was then.
"""

import sys
import threading
from typing import Any

sys.path.append(__file__.rpartition("/tests/")[0])  # Started by path, from any directory.

from mcpctl.demo.stdio_server import Json, text
from tests.servers.tool_server import Request, ToolServer

SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"

server = ToolServer("pages", page_size=10, changes=True)
streams: list[object] = []


def notify(method: str, **params: Any) -> None:
    """Send a notification."""
    server.send({"jsonrpc": "2.0", "method": method} | ({"params": params} if params else {}))


def add_tool() -> str:
    """One more tool; its name."""
    name = f"tool_{len(server.tools) - 2}"
    server.tool({"name": name, "description": f"Number {name[5:]}.", "inputSchema": {"type": "object"}})(
        lambda request: text(name)
    )
    return name


@server.tool({"name": "grow", "description": "Adds a tool and says so.", "inputSchema": {"type": "object"}})
def grow(request: Request) -> Json:
    """Adds a tool; told to everybody in the older era, to those who listen in the newer."""
    name = add_tool()
    announce(request)
    return text(name)


@server.tool({"name": "shrink", "description": "Takes tool_0 away.", "inputSchema": {"type": "object"}})
def shrink(request: Request) -> None:
    """Says so before it answers, and answers late."""
    del server.tools["tool_0"]
    announce(request)
    threading.Timer(0.3, request.answer, [text("shrunk")]).start()


def announce(request: Request) -> None:
    """Tell that the tools have changed."""
    if not request.modern:
        notify("notifications/tools/list_changed")
    for stream in streams:
        notify("notifications/tools/list_changed", _meta={SUBSCRIPTION: stream})


def listen(request: Request) -> None:
    """Acknowledge; the stream then stays open."""
    streams.append(request.id)
    honored = {"toolsListChanged": True}
    notify("notifications/subscriptions/acknowledged", notifications=honored, _meta={SUBSCRIPTION: request.id})


def page_late(request: Request) -> None:
    """A page that may be out of date when it is read."""
    threading.Timer(float(sys.argv[2]), request.answer, [list_tools(request)]).start()


if __name__ == "__main__":
    list_tools: Any = server.methods["tools/list"]
    if len(sys.argv) > 2:
        server.methods["tools/list"] = page_late
    server.methods["subscriptions/listen"] = listen
    for _ in range(int(sys.argv[1])):
        add_tool()
    server.run()
