"""One HTTP request and its answer, as ASGI has them: headers, a body in bounds, refusals as JSON-RPC errors."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from http import HTTPStatus
from typing import Any, ClassVar

from mcpctl.base import bounds
from mcpctl.wire import jsonrpc

Header = tuple[bytes, bytes]
JSON = b"application/json"
STREAM = b"text/event-stream"
_SOON = (b"retry-after", b"1")
_READABLE = (
    (b"access-control-expose-headers", b"Mcp-Session-Id, Retry-After, WWW-Authenticate"), (b"vary", b"Origin"),
)  # fmt: skip
_PREFLIGHT = ((b"access-control-allow-methods", b"GET, POST, DELETE"), (b"access-control-max-age", b"600"))


_NO_CONTENT = 204
_NO_WAITING = {"begin": lambda: asyncio.get_running_loop().create_future()}


class HttpRefusal(Exception):
    """A request that is not carried out; says so in words of a JSON-RPC error."""

    def __init__(
        self, status: int, message: str, *headers: Header, code: int = jsonrpc.INVALID_REQUEST, data: Any = None,
        id_: bytes = b"null",
    ) -> None:  # fmt: skip
        super().__init__(message)
        self.status, self.message, self.headers = status, message, headers
        self.code, self.data, self.id = code, data, id_


def busy(message: str, status: int = HTTPStatus.SERVICE_UNAVAILABLE) -> HttpRefusal:
    return HttpRefusal(status, message, _SOON)


class Gone(Exception):
    """The client has gone before its request was whole."""


class HttpExchange:
    reading: ClassVar[Counter[str]] = Counter()  # bytes of all bodies that are being read, by whose they are

    def __init__(self, scope: Any, receive: Callable[[], Any], send: Callable[[Any], Any]) -> None:
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        self.address: str = (scope.get("client") or ("",))[0]
        self._server: tuple[str, int | None] = scope.get("server") or ("", None)
        extensions = scope["extensions"]
        self.when_gone: Callable[[Callable[[], None] | None], None] = extensions["gone"]["tell"]
        self.waiting: Callable[[], Any] = extensions.get("waiting", _NO_WAITING)["begin"]
        self._every: list[Header] = scope["headers"]
        # Requests of one connection share them while their heads are the same, but for the length of a short body.
        self.notes: dict[str, Any] = extensions.get("notes", {})
        if not self.notes:
            self.notes["headers"] = dict(self._every)
        self.headers: dict[bytes, bytes] = self.notes["headers"]
        self.repeats = len(self.headers) < len(self._every)  # whether any header appears more than once
        self._receive = receive
        self._send = send
        self._of_each: Sequence[Header] = ()  # headers that each answer has

    @property
    def reached(self) -> str:
        host, port = self._server
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    def every(self, name: bytes) -> list[str]:
        if name not in self.headers:
            return []
        return [value.decode("latin-1") for key, value in self._every if key == name]

    def header(self, name: bytes) -> str | None:
        """The header's value; raises `HttpRefusal` where there are several."""
        value = self.headers.get(name)
        if self.repeats and len(self.every(name)) > 1:
            message = f"the header {name.decode()} appears more than once"
            raise HttpRefusal(HTTPStatus.BAD_REQUEST, message, code=jsonrpc.HEADER_MISMATCH)
        return None if value is None else value.decode("latin-1")

    def beginning(self, prefix: bytes) -> list[tuple[str, str]]:
        return [
            (key.decode("latin-1"), value.decode("latin-1")) for key, value in self._every if key.startswith(prefix)
        ]

    # ---- the request

    async def body(self, most: int, whose: str = "") -> bytes:
        """The body; raises `HttpRefusal` where it is too large or too slow, and `Gone`."""
        length = self.headers.get(b"content-length", b"")
        if len(length) > 6 and length.isdigit() and int(length) > most:
            raise self._too_large(most)
        first, is_whole = await self._part()
        if not is_whole:
            return await self._whole(first, most, whose)
        if len(first) > most:
            raise self._too_large(most)
        return first

    async def _whole(self, first: bytes, most: int, whose: str) -> bytes:
        parts, size, is_whole = [first], len(first), False
        reading = HttpExchange.reading
        reading[whose] += size
        try:
            async with asyncio.timeout(bounds.BODY_S):
                while not is_whole:
                    part, is_whole = await self._part()
                    size += len(part)
                    reading[whose] += len(part)
                    parts.append(part)
                    if size > most:
                        raise self._too_large(most)
                    if reading[whose] > bounds.BODIES_OF_ONE:
                        raise busy("too much is being sent for you at once", HTTPStatus.TOO_MANY_REQUESTS)
                    if reading.total() > bounds.BODIES:
                        raise busy("too much is being sent at once")
            return b"".join(parts)
        except TimeoutError:
            message = f"the body took more than {bounds.BODY_S} s"
            raise HttpRefusal(HTTPStatus.REQUEST_TIMEOUT, message, (b"connection", b"close")) from None
        finally:
            reading[whose] -= size
            if not reading[whose]:
                del reading[whose]

    async def _part(self) -> tuple[bytes, bool]:
        message = await self._receive()
        if message["type"] == "http.disconnect":
            raise Gone
        return message["body"], not message["more_body"]

    def _too_large(self, most: int) -> HttpRefusal:
        return HttpRefusal(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"the body has more than {most >> 20} MB")

    # ---- the answer

    def be_readable(self, origin: bytes) -> None:
        """Let pages of that origin read the answer: https://fetch.spec.whatwg.org/#http-cors-protocol"""
        self._of_each = ((b"access-control-allow-origin", origin), *_READABLE)

    async def preflight(self) -> None:
        """Say that pages may send what they are about to send."""
        headers = self.headers.get(b"access-control-request-headers", b"")
        await self.answer(HTTPStatus.NO_CONTENT, b"", (b"access-control-allow-headers", headers), *_PREFLIGHT)

    async def begin(self, status: int, headers: Iterable[Header]) -> None:
        await self._send({"type": "http.response.start", "status": status, "headers": [*headers, *self._of_each]})

    async def write(self, body: bytes, *, more: bool = True) -> None:
        await self._send({"type": "http.response.body", "body": body, "more_body": more})

    async def answer(self, status: int, body: bytes = b"", *headers: Header, kind: bytes = JSON) -> None:
        kinds = [(b"content-type", kind)] if body else []
        lengths = [] if status == _NO_CONTENT else [(b"content-length", b"%d" % len(body))]
        every = [*kinds, *lengths, *headers, *self._of_each]
        await self._send({"type": "http.response.start", "status": status, "headers": every})
        await self._send({"type": "http.response.body", "body": body})

    async def refuse(self, refusal: HttpRefusal) -> None:
        error = jsonrpc.error(refusal.id, jsonrpc.error_object(refusal.code, refusal.message, refusal.data))
        await self.answer(refusal.status, error.rstrip(b"\n"), *refusal.headers)
