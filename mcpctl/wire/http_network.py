"""The connections beneath the SDK's client, which reads all that comes before an answer in one go, and keeps what comes
after it for the next: both are bounded here. The import takes 0.1 s; callers in an event loop do it in a thread."""

import asyncio
import re
import ssl
from typing import Any

import httpcore2
import httpx2

from mcpctl.base import bounds
from mcpctl.base.failure import failed

_BLANK_LINE = re.compile(rb"\n\r?\n")
_INTERIM = re.compile(rb"HTTP/[0-9.]+ 1(?!01)")
_BODILESS = (204, 304)
_LINE_ENDS = 3  # bytes of a blank line that may be in the part before


class HttpTransport(httpx2.AsyncHTTPTransport):
    """Closes each connection that it has opened: the pool forgets one whose request is cancelled while TLS begins."""

    def __init__(self, verify: ssl.SSLContext, **options: Any) -> None:
        super().__init__(verify, **options)
        self._network = _Network()
        self._pool._network_backend = self._network

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await super().handle_async_request(request)
        stream = response.extensions.get("network_stream")
        if isinstance(stream, _HttpStream):
            stream.responded(response, is_bodiless=request.method == "HEAD" or response.status_code in _BODILESS)
        return response

    async def aclose(self) -> None:
        try:
            await super().aclose()
        finally:
            await self._network.aclose()


class _Network(httpcore2.AnyIOBackend):
    def __init__(self) -> None:
        self._open: list[httpcore2.AsyncNetworkStream] = []

    async def connect_tcp(self, *place: Any, **options: Any) -> httpcore2.AsyncNetworkStream:
        stream = await super().connect_tcp(*place, **options)
        self._open = [each for each in self._open if each.get_extra_info("socket").fileno() >= 0]
        self._open.append(stream)
        return _HttpStream(stream)

    async def aclose(self) -> None:
        for stream in self._open:
            await stream.aclose()


class _HttpStream(httpcore2.AsyncNetworkStream):
    """Hands on what comes before a body head by head, and tells the pool whether another request may follow."""

    def __init__(self, stream: httpcore2.AsyncNetworkStream) -> None:
        self._stream = stream
        self._is_before_body = False
        self._heads = self._size = 0  # of the answer to one request
        self._ahead = b""  # what came with a head
        self._is_spent = False
        self._parser: Any = None

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        if not self._is_before_body:
            self._is_before_body, self._heads, self._size = True, 0, 0
        await self._stream.write(buffer, timeout)

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        if self._is_before_body:
            return await self._head(max_bytes, timeout)
        if self._ahead:
            ahead, self._ahead = self._ahead, b""
            return ahead
        return await self._stream.read(max_bytes, timeout)

    async def _head(self, max_bytes: int, timeout: float | None) -> bytes:
        if self._heads:
            await asyncio.sleep(0)
        self._heads += 1
        if self._heads > bounds.INTERIM + 1:
            raise failed("answer_unreadable", f"more than {bounds.INTERIM} interim responses came before its answer")
        head, looked_at = bytearray(self._ahead), 0
        while not (end := _BLANK_LINE.search(head, looked_at)) and len(head) <= bounds.HEAD:
            looked_at = max(len(head) - _LINE_ENDS, 0)
            if not (part := await self._stream.read(max_bytes, timeout)):
                break  # the parser has the words for it
            head += part
        size = end.end() if end else len(head)
        self._ahead = bytes(head[size:])
        self._size += size
        if self._size > bounds.HEAD:
            raise failed("answer_unreadable", f"the head of its answer has more than {bounds.HEAD >> 10} KB")
        self._is_before_body = end is None or _INTERIM.match(head) is not None
        return bytes(head[:size])

    def responded(self, response: httpx2.Response, *, is_bodiless: bool) -> None:
        """Keep what shows later whether all that came was the answer: nothing may be left for the next one."""
        has_body = response.headers.get("content-length", "0") != "0" or "transfer-encoding" in response.headers
        self._is_spent = is_bodiless and has_body
        body: Any = response.stream
        self._parser = body._httpcore_stream._stream._connection._h11_state  # no other way leads to it

    def get_extra_info(self, info: str) -> Any:
        # The pool takes a connection that can be read before it is used for one that has ended.
        is_unfit = self._is_spent or self._ahead or (self._parser and self._parser.trailing_data[0])
        return True if info == "is_readable" and is_unfit else self._stream.get_extra_info(info)

    async def start_tls(self, *given: Any, **options: Any) -> httpcore2.AsyncNetworkStream:
        return _HttpStream(await self._stream.start_tls(*given, **options))

    async def aclose(self) -> None:
        await self._stream.aclose()
