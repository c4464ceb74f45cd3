"""One request of a connection, and its answer, as ASGI has them."""

import asyncio
from collections.abc import Callable, MutableMapping, Sequence
from http import HTTPStatus
from typing import Any, Protocol

Message = MutableMapping[str, Any]
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_LINES = {each.value: b"HTTP/1.1 %d %b\r\n" % (each.value, each.phrase.encode()) for each in HTTPStatus}
_WITHOUT_BODY = (HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED)
_running: "set[Answering]" = set()  # the loop itself keeps no task from being collected


class Channel(Protocol):
    app: Any
    loop: asyncio.AbstractEventLoop
    transport: asyncio.Transport
    room: asyncio.Future[None] | None

    def taken(self) -> None: ...
    def answered(self, asked: Any) -> None: ...


class Answering:
    def __init__(self, connection: Channel, scope: Message, *, keeps_alive: bool) -> None:
        self.keeps_alive = keeps_alive
        self.is_begun = False  # whether the head of the answer has been given
        self.is_over = False
        self._connection = connection
        self._scope = scope
        scope["extensions"] = {"gone": {"tell": self.tell}}
        self._body: list[bytes] = []
        self._size = 0
        self._is_whole = False  # whether all of the body has come
        self._is_gone = False
        self._coming: asyncio.Future[None] | None = None
        self._on_gone: Callable[[], None] | None = None
        self._head = b""
        self._is_chunked = False
        self._is_read = False  # whether the application has asked for it
        self._is_given = False  # whether the application has all of it

    # ---- what the connection tells

    def begin(self) -> None:
        self._task = self._connection.loop.create_task(self._run())

    def take(self, part: bytes) -> int:
        """Take a part of the body; how much waits."""
        if self.is_over:
            return 0
        self._body.append(part)
        self._size += len(part)
        self._wake()
        return self._size

    def completed(self) -> None:
        self._is_whole = True
        self._wake()

    def left(self) -> None:
        """The client has gone."""
        self._is_gone = True
        self._wake()
        if self._on_gone:
            self._on_gone()

    def _wake(self) -> None:
        if self._coming and not self._coming.done():
            self._coming.set_result(None)

    # ---- what the application does

    async def _run(self) -> None:
        _running.add(self)
        try:
            await self._connection.app(self._scope, self.receive, self.send)
        except Exception as error:
            if not self.is_over:
                problem = {"message": "ASGI", "exception": error}
                self._connection.loop.call_exception_handler(problem)
        finally:
            _running.discard(self)
            del self._scope["extensions"]  # which refers to us
        if self.is_over or self._is_gone:
            return
        if self.is_begun:
            self._connection.transport.abort()
            return
        headers = [(b"content-length", b"0"), (b"connection", b"close")]
        await self.send({"type": "http.response.start", "status": 500, "headers": headers})
        await self.send({"type": "http.response.body"})

    def tell(self, callback: Callable[[], None] | None) -> None:
        """Call this once the client goes before it is answered, which saves a task that waits for it."""
        self._on_gone = callback
        if callback and self._is_gone:
            callback()

    async def receive(self) -> Message:
        """As ASGI has it; the first time at once, with as much of the body as is there."""
        if not self._is_read:
            self._is_read = True
            if not self._is_whole and not self.is_begun and self._expects():
                self._connection.transport.write(_CONTINUE)
        else:
            while not (self._is_gone or self.is_over or (not self._is_given and (self._size or self._is_whole))):
                self._coming = self._connection.loop.create_future()
                await self._coming
        if self._is_gone or self.is_over:
            return {"type": "http.disconnect"}
        body, self._body, self._size = b"".join(self._body), [], 0
        self._is_given = is_last = self._is_whole
        if not is_last:
            self._connection.taken()
        return {"type": "http.request", "body": body, "more_body": not is_last}

    def _expects(self) -> bool:
        return any(name == b"expect" and value.lower() == b"100-continue" for name, value in self._scope["headers"])

    async def send(self, message: Message) -> None:
        while self._connection.room and not self._is_gone:
            await self._connection.room
        if self._is_gone or self.is_over:
            return
        if message["type"] == "http.response.start":
            self._start(message["status"], message.get("headers", ()))
        else:
            self._write(message.get("body", b""), is_last=not message.get("more_body"))

    def _start(self, status: int, headers: Sequence[tuple[bytes, bytes]]) -> None:
        self.is_begun = True
        given = dict(headers)
        lines = [_LINES.get(status) or b"HTTP/1.1 %d \r\n" % status, *[b"%b: %b\r\n" % header for header in headers]]
        has_length = b"content-length" in given
        if not has_length and status not in _WITHOUT_BODY and self._scope["method"] != "HEAD":
            self._is_chunked = self._scope["http_version"] == "1.1"
            self.keeps_alive &= self._is_chunked  # else its end is that of the connection
            lines += [b"transfer-encoding: chunked\r\n"] if self._is_chunked else []
        if given.get(b"connection") == b"close":
            self.keeps_alive = False
        elif not self.keeps_alive:
            lines.append(b"connection: close\r\n")
        head = b"".join(lines)
        if head.count(b"\n") != len(lines):
            raise ValueError(head)
        self._head = head + b"\r\n"
        if not has_length:
            self._connection.transport.write(self._head)  # what comes next may take long
            self._head = b""

    def _write(self, body: bytes, *, is_last: bool) -> None:
        if self._scope["method"] == "HEAD":
            body = b""
        if self._is_chunked:
            body = (b"%x\r\n%b\r\n" % (len(body), body) if body else b"") + (b"0\r\n\r\n" if is_last else b"")
        if self._head or body:
            self._connection.transport.write(self._head + body)
            self._head = b""
        if is_last:
            self.is_over = True
            self._wake()
            self._on_gone = None
            self._connection.answered(self)
