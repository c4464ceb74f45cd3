"""A client on two pipes whose lines travel over HTTP: the same suites speak so with `serve --http` as with `serve`."""

import asyncio
import contextlib
import json
from collections.abc import Callable, Mapping
from typing import Any
from unittest import mock

from mcpctl.metatools.offers import Offer
from mcpctl.over_http.admission import Guest
from mcpctl.over_http.front import Front
from mcpctl.proxy.gateway import Gateway
from mcpctl.wire.reader import LineReader
from mcpctl.wire.writer import Readers, Writer
from tests.proxy.client import META, MODERN

_HOST = "127.0.0.1:8080"
_OPENING_S = 5.0
_GRACE_S = 0.5


class Bridge:
    """Posts each line, and writes a line for each message that comes back."""

    def __init__(self, front: Front, writer: Writer) -> None:
        self._front = front
        self._writer = writer
        self._session: dict[str, str] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._streams: set[asyncio.Task[None]] = set()
        self._ended = asyncio.Event()
        self._of_newer: dict[Any, asyncio.Event] = {}
        """What closes the stream of each request of a newer client, by its id."""

    def take(self, line: bytes | bytearray) -> asyncio.Future[None] | None:
        """Post a line; those after a handshake wait for it."""
        message = _decoded(bytes(line))
        if message.get("method") == "notifications/cancelled" and not self._session:
            if closing := self._of_newer.get(message.get("params", {}).get("requestId")):
                closing.set()
            return None
        task = asyncio.get_running_loop().create_task(self._post(bytes(line), message))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task if message.get("method") in ("initialize", "notifications/initialized") else None

    async def _post(self, line: bytes, message: Mapping[str, Any]) -> None:
        closing = asyncio.Event()
        headers = {**self._session, **_headers(message)}
        if "mcp-method" in headers and isinstance(message.get("id"), str | int):
            self._of_newer[message["id"]] = closing
        await self._ask("POST", line, headers, closing)
        if message.get("method") == "notifications/initialized" and self._session:
            stream = asyncio.get_running_loop().create_task(self._ask("GET", b"", self._session, self._ended))
            self._streams.add(stream)

    async def _ask(self, method: str, body: bytes, headers: Mapping[str, str], closing: asyncio.Event) -> None:
        coming = [{"type": "http.request", "body": body, "more_body": False}]
        leaving = Leaving(closing)
        kinds: dict[str, str] = {}
        rest = b""

        async def receive() -> Any:
            if coming:
                return coming.pop()
            await closing.wait()
            return {"type": "http.disconnect"}

        async def send(sent: Any) -> None:
            nonlocal rest
            if sent["type"] == "http.response.start":
                kinds.update({name.decode(): value.decode() for name, value in sent["headers"]})
                if "mcp-session-id" in kinds:
                    self._session = {"mcp-session-id": kinds["mcp-session-id"]}
                return
            rest += sent["body"]
            if kinds.get("content-type") == "text/event-stream":
                *events, rest = rest.split(b"\r\n\r\n")
                for event in events:
                    self._write(event.partition(b"data: ")[2])
            elif not sent.get("more_body"):
                self._write(rest)
            if not sent.get("more_body"):
                closing.set()
            await self._room()

        named = {
            "host": _HOST, "content-type": "application/json", "accept": "application/json, text/event-stream",
            **headers,
        }  # fmt: skip
        pairs = [(name.encode(), value.encode()) for name, value in named.items()]
        scope = {
            "type": "http", "method": method, "path": "/mcp", "client": ("127.0.0.1", 1), "headers": pairs,
            "extensions": {"gone": {"tell": leaving.tell}},
        }  # fmt: skip
        try:
            await self._front(scope, receive, send)
        finally:
            leaving.tell(None)

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
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.gather(*self._streams, return_exceptions=True)


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


def _headers(message: Mapping[str, Any]) -> dict[str, str]:
    params = message.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    if not isinstance(meta, dict) or META + "protocolVersion" not in meta:
        return {}
    headers = {"mcp-protocol-version": MODERN, "mcp-method": str(message.get("method"))}
    member = "uri" if message.get("method") == "resources/read" else "name"
    if isinstance(params, dict) and isinstance(params.get(member), str):
        headers["mcp-name"] = params[member]
    return headers


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
    front = Front(gateway, offer, [_HOST], token)
    # As on stdio, nobody has to have a token, and the process may have one for all.
    with mock.patch.object(front.admission, "guest", lambda http, **more: Guest(token, False, "everybody")):
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
