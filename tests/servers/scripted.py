"""A Streamable HTTP server in the test process: the handshake is done for it, each tool is a function of the test.

It knows what it was asked, and how many requests are open at this moment.
"""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Does = Callable[["Exchange", Any], None]
"""Answers a request, given the id of its message; of a GET or DELETE, None."""
HANDSHAKE = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "scripted"}}


class Exchange(BaseHTTPRequestHandler):
    """One request."""

    protocol_version = "HTTP/1.1"
    server: "Scripted"

    def begin(self, kind: str = "application/json", status: int = 200, **headers: str) -> None:
        """The head of a response whose end is that of its connection."""
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("connection", "close")
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.close_connection = True

    def answer(self, id_: Any, result: Any) -> None:
        """A whole answer."""
        body = json.dumps({"jsonrpc": "2.0", "id": id_, "result": result}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("mcp-session-id", "the-session")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        """A message."""
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        method, id_ = message.get("method"), message.get("id")
        name = message["params"]["name"] if method == "tools/call" else method
        if name in self.server.does:
            self._do(name, id_)
        elif method == "initialize":
            self.answer(id_, HANDSHAKE)
        elif method == "tools/list":
            self.answer(id_, {"tools": [{"name": name} for name in (*self.server.does, "other")]})
        elif id_ is None:
            self.send_response(202)
            self.send_header("content-length", "0")
            self.end_headers()
        else:
            self.answer(id_, {"content": [{"type": "text", "text": str(name)}]})

    def do_GET(self) -> None:
        """A stream, or none."""
        self._do("GET", None)

    def do_DELETE(self) -> None:
        """The end of the session."""
        self._do("DELETE", None)

    def _do(self, name: str, id_: Any) -> None:
        with self.server.counted(name):
            if name in self.server.does:
                self.server.does[name](self, id_)
            else:
                self.begin(status=405)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is logged."""


class Scripted(ThreadingHTTPServer):
    """The server: what it does by the tool's name, the method's, or GET and DELETE."""

    daemon_threads = True

    def __init__(self, does: Mapping[str, Does]) -> None:
        super().__init__(("127.0.0.1", 0), Exchange)
        self.does = does
        self.asked: list[str] = []
        self.open: list[str] = []

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.server_address[1]}/mcp"

    @contextmanager
    def counted(self, name: str) -> Iterator[None]:
        """Know of a request while it is open; that the client has gone is no error."""
        self.asked.append(name)
        self.open.append(name)
        try:
            yield
        except OSError:
            pass
        finally:
            self.open.remove(name)


@contextmanager
def scripted(**does: Does) -> Iterator[Scripted]:
    """A running one."""
    with Scripted({name.replace("__", "/"): done for name, done in does.items()}) as server:
        thread = threading.Thread(target=server.serve_forever, args=[0.01])
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
