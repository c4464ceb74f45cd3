"""A client on two pipes whose lines travel over HTTP: the same suites speak so with `serve --http` as with `serve`."""

import asyncio
import base64
import contextlib
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

from mcpctl.metatools.offers import Offer
from mcpctl.over_http.admission import Guest
from mcpctl.over_http.front import Front
from mcpctl.proxy.gateway import Gateway
from mcpctl.wire.reader import LineReader
from mcpctl.wire.writer import Readers, Writer
from tests.proxy.client import META, MODERN

HOST = "127.0.0.1:8080"
MANY_AT_ONCE = {"max_in_flight": 1000, "max_in_flight_per_token": 1000}
"""The limits of requests in flight for clients that send as many as on stdio, where there are none."""
_OPENING_S = 5.0
_GRACE_S = 0.5


class Lines(Protocol):
    """Takes the lines of messages to a client."""

    @property
    def pending(self) -> int:
        """The bytes that the client has not taken."""

    def write(self, *pieces: bytes) -> None:
        """Take a line."""


class Bridge:
    """Posts each line, and writes a line for each message that comes back."""

    def __init__(self, front: Front, writer: Lines, address: str = "127.0.0.1") -> None:
        self._front = front
        self._writer = writer
        self._address = address
        self._session: dict[str, str] = {}
        self.is_listening = asyncio.Event()
        """Whether the stream of a session is open."""
        self._tasks: set[asyncio.Task[None]] = set()
        self.unanswered: list[asyncio.Task[None]] = []
        """The posts that nothing is answered to."""
        self._streams: set[asyncio.Task[None]] = set()
        self._ended = asyncio.Event()
        self._of_newer: dict[Any, tuple[asyncio.Event, asyncio.Task[None]]] = {}
        """The posts of a newer client by the ids of their requests, each with what closes its stream."""

    @property
    def session_id(self) -> str:
        """The id of an older client's session."""
        return self._session["mcp-session-id"]

    def take(self, line: bytes | bytearray) -> asyncio.Future[None] | None:
        """Post a line; those after a handshake wait for it."""
        if not line.strip():
            return None
        message = _decoded(bytes(line))
        method, id_ = message.get("method"), message.get("id")
        if method == "notifications/cancelled" and self._of_newer:
            closing, task = self._of_newer.get(message.get("params", {}).get("requestId"), (asyncio.Event(), None))
            closing.set()
            self.unanswered += [task] if task else []
            return None
        closing = asyncio.Event()
        task = asyncio.get_running_loop().create_task(self._post(bytes(line), message, closing))
        self._tasks.add(task)
        task.add_done_callback(self._done)
        if _is_of_newer(message) and isinstance(id_, str | int):
            self._of_newer[id_] = closing, task
        if id_ is None or method is None:
            self.unanswered.append(task)
        return task if method in ("initialize", "notifications/initialized") else None

    def _done(self, task: asyncio.Task[None]) -> None:
        if not task.exception():  # else it fails at the end
            self._tasks.discard(task)

    async def _post(self, line: bytes, message: Mapping[str, Any], closing: asyncio.Event) -> None:
        headers = self._session or ({"mcp-protocol-version": MODERN} if self._of_newer else {})
        await self._ask("POST", line, {**headers, **_headers(message)}, closing)
        if message.get("method") == "notifications/initialized" and self._session:
            stream = asyncio.get_running_loop().create_task(self._ask("GET", b"", self._session, self._ended))
            self._streams.add(stream)

    async def _ask(self, method: str, body: bytes, headers: Mapping[str, str], closing: asyncio.Event) -> None:
        coming = [{"type": "http.request", "body": body, "more_body": False}]
        leaving = Leaving(closing)
        is_stream, rest = False, b""

        async def receive() -> Any:
            if coming:
                return coming.pop()
            await closing.wait()
            return {"type": "http.disconnect"}

        async def send(sent: Any) -> None:
            nonlocal is_stream, rest
            if sent["type"] == "http.response.start":
                is_stream = self._begun(method, sent["headers"])
                return
            rest += sent["body"]
            *events, rest = rest.split(b"\r\n\r\n") if is_stream else [rest]
            for event in events:
                self._write(event.partition(b"data: ")[2])
            if not sent.get("more_body"):
                self._write(rest)
                closing.set()
            await self._room()

        named = {
            "host": HOST, "content-type": "application/json", "accept": "application/json, text/event-stream",
            **headers,
        }  # fmt: skip
        pairs = [(name.encode(), value.encode()) for name, value in named.items()]
        scope = {
            "type": "http", "method": method, "path": "/mcp", "client": (self._address, 1), "headers": pairs,
            "extensions": {"gone": {"tell": leaving.tell}},
        }  # fmt: skip
        try:
            await self._front(scope, receive, send)
        finally:
            leaving.tell(None)

    def _begun(self, method: str, headers: Iterable[tuple[bytes, bytes]]) -> bool:
        """Take the headers of an answer; whether it is a stream."""
        named = dict(headers)
        if session := named.get(b"mcp-session-id"):
            self._session = {"mcp-session-id": session.decode()}
        if method == "GET":
            self.is_listening.set()
        return named.get(b"content-type") == b"text/event-stream"

    async def _room(self) -> None:
        """As a connection whose other side does not read."""
        while self._writer.pending > 1 << 16:
            await asyncio.sleep(0.001)

    def _write(self, line: bytes) -> None:
        if line:
            self._writer.write(line + b"\n")

    async def end(self) -> None:
        """Wait for what goes on."""
        self._ended.set()
        await asyncio.gather(*self._tasks)
        await asyncio.gather(*self._streams)


class Leaving:
    """Tells that a client has closed its stream."""

    def __init__(self, closing: asyncio.Event) -> None:
        self._closing = closing
        self._watching: asyncio.Task[None] | None = None

    def tell(self, callback: Callable[[], None] | None) -> None:
        """Call this once it has, instead of what was to be called before."""
        if self._watching:
            self._watching.cancel()
        self._watching = asyncio.get_running_loop().create_task(self._watch(callback)) if callback else None

    async def _watch(self, callback: Callable[[], None]) -> None:
        await self._closing.wait()
        callback()


def _decoded(line: bytes) -> Mapping[str, Any]:
    with contextlib.suppress(ValueError, RecursionError):
        message = json.loads(line)
        if isinstance(message, dict):
            return message
    return {}


def _is_of_newer(message: Mapping[str, Any]) -> bool:
    params = message.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    return isinstance(meta, dict) and META + "protocolVersion" in meta


def _headers(message: Mapping[str, Any]) -> dict[str, str]:
    if not _is_of_newer(message):
        return {}
    params = message["params"]
    version = str(params["_meta"][META + "protocolVersion"])
    headers = {"mcp-protocol-version": version, "mcp-method": str(message.get("method"))}
    name = params.get("uri" if message.get("method") == "resources/read" else "name")
    return headers | ({"mcp-name": _encoded(name)} if isinstance(name, str) else {})


def _encoded(value: str) -> str:
    """As it stands in a header, which has printable ASCII alone."""
    if value.isascii() and value.isprintable() and value == value.strip() and not value.startswith("=?"):
        return value
    return f"=?base64?{base64.b64encode(value.encode()).decode()}?="


async def serve(
    made: Callable[[], Gateway], offer: Offer, ending: asyncio.Event, *, stdin: int, stdout: int,
    token: str | None = None,
) -> None:  # fmt: skip
    """As `process.serve`, with what `serve --http` is between the two."""
    gateway = made()
    readers = gateway.turn.of_client()
    writer = Writer(stdout, gateway.turn, ending.set, inherited=True, holds=readers)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_OPENING_S):
            await gateway.current()
    front = Front(gateway, offer, [HOST], token)
    # As on stdio, nobody has to have a token, and the process may have one for all.
    front.admission.guest = lambda http, **more: Guest(token, False, "everybody")  # type: ignore[method-assign]
    await _serve(gateway, front, Bridge(front, writer), readers, ending, stdin)
    last = asyncio.get_running_loop().time() + 1
    while writer.pending and asyncio.get_running_loop().time() < last:
        await asyncio.sleep(0.01)
    writer.close()
    readers.close()


async def _serve(
    gateway: Gateway, front: Front, bridge: Bridge, readers: Readers, ending: asyncio.Event, stdin: int
) -> None:
    LineReader(stdin, readers, bridge.take, ending.set, lambda *_: None)
    await ending.wait()
    await front.drain(_GRACE_S)
    await bridge.end()
    last = asyncio.get_running_loop().time() + 1
    await gateway.stop(front.close(last), last)
    assert gateway.run
    gateway.run.close()
