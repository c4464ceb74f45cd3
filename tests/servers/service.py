"""An HTTP service on this machine that answers what a test tells it to, and remembers what it was asked."""

import json
import socket
import threading
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Asked:
    """One request."""

    path: str
    headers: Mapping[str, str]
    body: Any
    peer: object


@dataclass
class Service:
    """Its address, what it was asked, and what it answers next: JSON, or a status, headers and a body."""

    url: str
    answer: Callable[[Asked], Any]
    asked: list[Asked] = field(default_factory=list)
    connections: list[socket.socket] = field(default_factory=list)

    def hang_up(self) -> None:
        """End every connection, without a word."""
        for connection in self.connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self.connections.clear()


@contextmanager
def running(answer: Callable[[Asked], Any]) -> Iterator[Service]:
    """A service; each request is answered in a thread of its own."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle(self) -> None:
            service.connections.append(self.connection)
            with suppress(ConnectionError):  # whoever asked has gone
                super().handle()

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            asked = Asked(self.path, headers, json.loads(body), self.client_address)
            service.asked.append(asked)
            found = service.answer(asked)
            status, more, content = found if isinstance(found, tuple) else (200, {}, json.dumps(found).encode())
            self.send_response(status)
            for name, value in {"content-length": str(len(content)), **more}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    service = Service(f"http://127.0.0.1:{server.server_address[1]}", answer)
    serving = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    serving.start()
    try:
        yield service
    finally:
        server.shutdown()
        serving.join()
        server.server_close()


MEANINGS = (
    ("car", "automobile", "vehicle", "drive"),
    ("issue", "ticket", "bug", "defect"),
    ("weather", "forecast", "climate", "hurricane", "storm"),
    ("message", "post", "mail", "telegram"),
    ("picture", "image", "photo"),
    ("argument", "parameter"),
)
"""Words that mean the same to the model below; any other is like no word but itself."""


def vector(text: str) -> list[float]:
    """What a model might make of a text: how much of each meaning it has, and its words."""
    words = [word.rstrip("s") for word in text.lower().replace("_", " ").replace(":", " ").replace(".", " ").split()]
    numbers = [2.0 * sum(word in meaning for word in words) for meaning in MEANINGS] + [0.0] * 256
    for word in words:
        numbers[len(MEANINGS) + zlib.crc32(word.encode()) % 256] += 0.3
    return numbers


def embeddings(asked: Asked) -> Any:
    """The answer of an embeddings endpoint of OpenAI's form, the last text first."""
    texts: Sequence[str] = asked.body["input"]
    data = [{"object": "embedding", "index": n, "embedding": vector(text)} for n, text in enumerate(texts)]
    return {"object": "list", "model": asked.body["model"], "data": data[::-1]}
