"""`raw.py`: answers with bytes from a file, with as many bytes as asked for, late, or not at all."""

import json
import os
import sys
import threading

sys.path.append(__file__.rpartition("/tests/")[0])  # Started by path, from any directory.

from mcpctl.demo.stdio_server import Json, text
from tests.servers.tool_server import Request, ToolServer

server = ToolServer("raw")
FILE = {"type": "object", "properties": {"file": {"type": "string"}}, "required": ["file"]}


def splice(request: Request, member: bytes) -> None:
    """Answer with the file's bytes as `member`: no parser has seen them."""
    from pathlib import Path

    content = Path(request.arguments["file"]).read_bytes()
    server.send_line(b'{"jsonrpc":"2.0","id":%b,"%b":%b}' % (json.dumps(request.id).encode(), member, content))


@server.tool({"name": "raw", "description": "Answers with the file as its result.", "inputSchema": FILE})
def raw(request: Request) -> None:
    """The file is the result."""
    splice(request, b"result")


@server.tool({"name": "raw_error", "description": "Answers with the file as its error.", "inputSchema": FILE})
def raw_error(request: Request) -> None:
    """The file is the error."""
    splice(request, b"error")


@server.tool(
    {
        "name": "big",
        "description": "One text block of that many bytes.",
        "inputSchema": {"type": "object", "properties": {"bytes": {"type": "integer"}}, "required": ["bytes"]},
    }
)
def big(request: Request) -> Json:
    """A text of that size."""
    return text("x" * request.arguments["bytes"])


@server.tool(
    {
        "name": "sleep",
        "description": "Answers after that many seconds, while other calls go on.",
        "inputSchema": {"type": "object", "properties": {"seconds": {"type": "number"}}, "required": ["seconds"]},
    }
)
def sleep(request: Request) -> None:
    """A late answer."""
    seconds = request.arguments["seconds"]
    timer = threading.Timer(seconds, request.answer, [text(f"slept {seconds} s")])
    timer.daemon = True
    timer.start()


@server.tool({"name": "last", "description": "Answers once its input has ended.", "inputSchema": {"type": "object"}})
def last(request: Request) -> Json:
    """An answer of which nobody knows whether it is still read."""
    sys.stdin.buffer.read()
    return text("the end")


@server.tool({"name": "die", "description": "Exits during the call.", "inputSchema": {"type": "object"}})
def die(request: Request) -> None:
    """No answer, only a status."""
    os.write(2, b"last words\n")
    os._exit(3)


if __name__ == "__main__":
    server.run()
