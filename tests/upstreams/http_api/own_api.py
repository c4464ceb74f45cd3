"""An HTTP API on this machine that keeps the raw bytes of its requests and answers what a test says, and the connection
to it, made from a compiled document."""

import asyncio
import json
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

import msgspec
from msgspec import Raw

from mcpctl.base.callers import MODERN_REVISION, Caller
from mcpctl.base.failure import Failed, Failure
from mcpctl.base.paths import Paths
from mcpctl.config import entry_secrets
from mcpctl.config.api_environment import api
from mcpctl.config.server_settings import Server
from mcpctl.openapi import snapshot
from mcpctl.openapi.snapshot import Body, CompiledDocument, Content, HttpOperation, Parameter
from mcpctl.upstreams.connection import Exchange, Reply
from mcpctl.upstreams.http_api.connection import HttpApi
from mcpctl.wire.writer import Turn

T = TypeVar("T")
OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
Respond = Callable[[bytes, socket.socket], bytes | None]


def answer(body: bytes = b"", status: str = "200 OK", **headers: str) -> bytes:
    """The bytes of an answer; `Content_Type` is the header Content-Type."""
    given = {"Content_Length": str(len(body)), **headers}
    lines = [f"HTTP/1.1 {status}", *(f"{name.replace('_', '-')}: {value}" for name, value in given.items() if value)]
    return "\r\n".join([*lines, "", ""]).encode() + body


class OwnApi:
    """Each request that came, as its bytes; `respond` makes the answers, or writes them itself and returns None."""

    def __init__(self) -> None:
        self.requests: list[bytes] = []
        self.respond: Respond = lambda *_: OK
        self.connections = 0
        self.closed = threading.Semaphore(0)
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self._accepting.start()

    @property
    def last(self) -> bytes:
        """The last request, as it came."""
        return self.requests[-1]

    @property
    def target(self) -> str:
        """The path and query of the last request."""
        return self.last.split(b" ", 2)[1].decode()

    @property
    def body(self) -> bytes:
        """The body of the last request."""
        return self.last.partition(b"\r\n\r\n")[2]

    def header(self, name: str) -> str | None:
        """A header of the last request."""
        for line in self.last.partition(b"\r\n\r\n")[0].decode().split("\r\n")[1:]:
            key, _, value = line.partition(": ")
            if key.lower() == name.lower():
                return value
        return None

    def close(self) -> None:
        """Take no more connections. The thread ends first: its descriptor may be another socket's soon."""
        self._listening.shutdown(socket.SHUT_RDWR)
        self._accepting.join(5)
        self._listening.close()

    def _accept(self) -> None:
        while True:
            try:
                connected, _ = self._listening.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._serve, args=(connected,), daemon=True).start()

    def _serve(self, connected: socket.socket) -> None:
        with connected:
            try:
                while request := _read(connected):
                    self.requests.append(request)
                    if given := self.respond(request, connected):
                        connected.sendall(given)
            except OSError:
                pass
        self.closed.release()


def _read(connected: socket.socket) -> bytes:
    data = b""
    while b"\r\n\r\n" not in data:
        if not (piece := connected.recv(1 << 16)):
            return b""
        data += piece
    head, _, rest = data.partition(b"\r\n\r\n")
    lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    length = int(lengths[0].partition(b":")[2]) if lengths else 0
    parts = [rest]
    size = len(rest)
    while size < length and (piece := connected.recv(1 << 18)):
        parts.append(piece)
        size += len(piece)
    return b"%b\r\n\r\n%b" % (head, b"".join(parts))


@contextmanager
def own_api() -> Iterator[OwnApi]:
    """An API for a test."""
    served = OwnApi()
    try:
        yield served
    finally:
        served.close()


def parameter(name: str, place: str = "query", style: str = "", explode: bool | None = None, **more: Any) -> Parameter:
    """A parameter with the style and explode that the standard has by default for its place."""
    style = style or ("" if more.get("media_type") else {"path": "simple", "header": "simple"}.get(place, "form"))
    is_exploded = style in ("form", "cookie", "deepObject") if explode is None else explode
    return Parameter(more.pop("argument", name), name, place, style, is_exploded, **more)


def operation(method: str = "GET", path: str = "/x", *parameters: Parameter, **more: Any) -> HttpOperation:
    """An operation named `op`; `body` may be a media type and kind alone."""
    if isinstance(given := more.get("body"), tuple):
        more["body"] = Body([Content(*given)])
    definition = {"name": more.get("tool", "op"), "inputSchema": {"type": "object"}}
    more = {"tool": "op", "base": "", "definition": Raw(json.dumps(definition).encode()), **more}
    return HttpOperation(method=method, path=path, parameters=list(parameters), **more)


def document(base: str, *operations: HttpOperation, **more: Any) -> CompiledDocument:
    """A compiled document whose operations go to `base`, where they name no place themselves."""
    placed = [msgspec.structs.replace(each, base=each.base or base) for each in operations]
    return CompiledDocument(
        made_at=0, source="api.json", sha256="0" * 64, openapi="3.1.1", base=base, operations=placed, **more
    )


class Outcome(Reply):
    """What becomes of one request."""

    def __init__(self) -> None:
        self.answered: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    def result(self, result: memoryview) -> None:
        """Keep it."""
        self.answered.set_result(json.loads(bytes(result)))

    def error(self, error: bytes) -> None:
        """Keep it."""
        self.answered.set_result({"error": json.loads(error)})

    def failed(self, failure: Failure) -> None:
        """Raise it for who waits."""
        self.answered.set_exception(Failed(failure))


def sent(connection: HttpApi, arguments: bytes | Mapping[str, Any], tool: str = "op") -> tuple[Exchange, Outcome]:
    """A call that is under way."""
    given = arguments if isinstance(arguments, bytes) else json.dumps(arguments).encode()
    outcome = Outcome()
    params = {"name": json.dumps(tool).encode(), "arguments": given}
    exchange = Exchange(
        "tools/call", params, {}, Caller(MODERN_REVISION if connection.modern else "2025-11-25"), outcome
    )
    connection.send(exchange)
    return exchange, outcome


async def opened(paths: Paths, server: Server, **more: Any) -> HttpApi:
    """A connection to an API that is named shop."""
    entry = api(server, paths.config)
    secrets = entry_secrets.learn_of_api(server, entry.secrets)
    on_message = more.get("on_message", lambda *_: None)
    connection = HttpApi(server, entry, secrets, paths, Turn().readers, on_message, lambda _: None)
    connection.server = "shop"
    await connection.ready()
    return connection


def with_api(paths: Paths, compiled: CompiledDocument, work: Callable[[HttpApi], Awaitable[T]], **settings: Any) -> T:
    """What `work` returns, with a connection of an entry with these settings."""
    server = Server(openapi="api.json", **settings)

    async def run() -> T:
        snapshot.save(paths, "shop", server, snapshot.encoded(compiled))
        connection = await opened(paths, server)
        try:
            async with asyncio.timeout(20):
                return await work(connection)
        finally:
            await connection.stop()

    return asyncio.run(run())


def called(
    paths: Paths, compiled: CompiledDocument, arguments: bytes | Mapping[str, Any] = b"{}", **settings: Any
) -> dict[str, Any]:
    """The result of a call; raises `Failed`."""

    async def call(connection: HttpApi) -> dict[str, Any]:
        result: dict[str, Any] = await sent(connection, arguments)[1].answered
        return result

    return with_api(paths, compiled, call, **settings)


def refusal(paths: Paths, compiled: CompiledDocument, arguments: Any = b"{}", **settings: Any) -> Failure:
    """Why a call fails."""
    try:
        result = called(paths, compiled, arguments, **settings)
    except Failed as error:
        return error.failure
    raise AssertionError(result)
