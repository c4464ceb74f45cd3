"""One request of a connection, and its answer, as ASGI has them."""

import asyncio
from collections.abc import Callable, Coroutine, Generator, Iterator, MutableMapping, Sequence
from http import HTTPStatus
from types import coroutine
from typing import Any, Protocol

Message = MutableMapping[str, Any]
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_LINES = {each.value: b"HTTP/1.1 %d %b\r\n" % (each.value, each.phrase.encode()) for each in HTTPStatus}
_WITHOUT_BODY = (HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED)
_running: "set[Answering]" = set()  # the loop itself keeps no task from being collected


class Channel(Protocol):
    app: Any
    needs_task: bool
    loop: asyncio.AbstractEventLoop
    transport: asyncio.Transport
    room: asyncio.Future[None] | None

    def taken(self) -> None: ...
    def answered(self, asked: Any) -> None: ...


class Suspended:
    """A future of a request that no task runs: what waits for it goes on within `set_result`."""

    def __init__(self, go_on: Callable[[], None]) -> None:
        self._go_on = go_on
        self._is_done = False

    def done(self) -> bool:
        return self._is_done

    def set_result(self, result: None) -> None:
        self._is_done = True
        self._go_on()

    def __await__(self) -> Iterator[Any]:
        return iter((self,))


class Answering:
    is_running = False  # whether the application knows of it
    is_begun = False  # whether the head of the answer has been given
    is_over = False
    _size = 0
    _is_whole = False  # whether all of the body has come
    _is_gone = False
    _coming: asyncio.Future[None] | None = None
    _on_gone: Callable[[], None] | None = None
    _head = b""
    _is_chunked = False
    _is_read = False  # whether the application has asked for it
    _is_given = False  # whether the application has all of it
    _task: asyncio.Task[None] | None = None

    def __init__(
        self, connection: Channel, scope: Message, notes: dict[Any, Any], *, keeps_alive: bool,
        body: bytes | None = None,
    ) -> None:  # fmt: skip
        """An application may keep `notes` of what it finds in the head: the next request with the same has them too."""
        self.keeps_alive = keeps_alive
        self.scope = scope
        self._connection = connection
        self._notes = notes
        self._body: list[bytes] = []
        if body is not None:
            self._body, self._size, self._is_whole = [body], len(body), True

    # ---- what the connection tells

    def begin(self) -> None:
        """Have the application run: where it may, without a task as long as it waits for nothing but a `pause`."""
        _running.add(self)
        self.is_running = True
        extensions = {"gone": {"tell": self.tell}, "waiting": {"begin": self.pause}, "notes": self._notes}
        self.scope["extensions"] = extensions
        self._running = self._run()
        if self._is_whole and not self._connection.needs_task:
            self._go_on()
        else:
            self._task = self._connection.loop.create_task(self._running)

    def is_plain(self, length: int) -> bool:
        """Whether a body of this length has come, and another request may."""
        return self._is_whole and self._size == length and self.keeps_alive

    def _go_on(self) -> None:
        try:
            waits = self._running.send(None)
        except StopIteration:
            return
        if not isinstance(waits, Suspended):
            self._task = self._connection.loop.create_task(_rest(self._running, waits))

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
        try:
            await self._connection.app(self.scope, self.receive, self.send)
        except Exception as error:
            if not self.is_over:
                problem = {"message": "ASGI", "exception": error}
                self._connection.loop.call_exception_handler(problem)
        finally:
            _running.discard(self)
            del self.scope["extensions"]  # which refers to us
        if self.is_over or self._is_gone:
            return
        if self.is_begun:
            self._connection.transport.abort()
            return
        headers = [(b"content-length", b"0"), (b"connection", b"close")]
        await self.send({"type": "http.response.start", "status": 500, "headers": headers})
        await self.send({"type": "http.response.body"})

    def pause(self) -> Any:
        """A future for the application to wait for."""
        return self._connection.loop.create_future() if self._task else Suspended(self._go_on)

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
        return any(name == b"expect" and value.lower() == b"100-continue" for name, value in self.scope["headers"])

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
        if not has_length and status not in _WITHOUT_BODY and self.scope["method"] != "HEAD":
            self._is_chunked = self.scope["http_version"] == "1.1"
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
        if self.scope["method"] == "HEAD":
            body = b""
        if self._is_chunked:
            body = (b"%x\r\n%b\r\n" % (len(body), body) if body else b"") + (b"0\r\n\r\n" if is_last else b"")
        if self._head or body:
            self._connection.transport.write(self._head + body)
            self._head = b""
        if is_last:
            self.is_over = True
            if self._coming:
                self._wake()
            self._on_gone = None
            self._connection.answered(self)


async def _rest(running: Coroutine[Any, Any, None], waits: Any) -> None:
    await _resumed(running, waits)  # from Python 3.12 on, a task takes no generator


@coroutine
def _resumed(running: Coroutine[Any, Any, None], waits: Any) -> Generator[Any, Any, None]:
    """A coroutine, from where it waits for this."""
    try:
        while True:
            try:
                result = yield waits
            except BaseException as error:
                waits = running.throw(error)
            else:
                waits = running.send(result)
    except StopIteration:
        return
