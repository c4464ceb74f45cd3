"""`rubbish.py`: a server that works, between all that does not belong on stdout, after 1 MB on stderr."""

import sys
from collections.abc import Mapping
from typing import Any

sys.path.append(__file__.rpartition("/tests/")[0])  # Started by path, from any directory.

from mcpctl.demo.stdio_server import Json, text
from tests.servers.tool_server import Request, ToolServer

BEFORE = (
    b"Server is running...\n\n   \n\x1b[32mINFO\x1b[0m ready \x1b[2J\n"
    b"\xef\xbb\xbf\n"
    b'\xef\xbb\xbf{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"BOM"}}\n'
    b'{"jsonrpc":"2.0","id":987654321,"result":{"content":[]}}\n'
    b'{"jsonrpc":"2.0","id":"nobody asked","error":{"code":-32603,"message":"nobody asked"}}\n'
)
AFTER = b'{"half": \n[]\n[{"jsonrpc":"2.0"}]\nnull\n{}\n{"id":null}\n\xff\xfe\x00 not UTF-8\n\r\n'


class Rubbish(ToolServer):
    """Surrounds each message with lines that are none."""

    def send(self, message: Mapping[str, Any]) -> None:
        """The message, in bad company."""
        sys.stdout.buffer.write(BEFORE)
        super().send(message)
        sys.stdout.buffer.write(AFTER)
        sys.stdout.buffer.flush()


server = Rubbish("rubbish")


@server.tool({"name": "works", "description": "Works all the same.", "inputSchema": {"type": "object"}})
def works(request: Request) -> Json:
    """A plain answer."""
    return text("works")


if __name__ == "__main__":
    sys.stderr.write(("x" * 99 + "\n") * 10_486)
    sys.stderr.flush()
    server.run()
