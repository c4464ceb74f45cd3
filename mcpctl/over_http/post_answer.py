"""The way of answers to a client: of those to the requests of one POST, and of what comes outside of any."""

import asyncio
from collections.abc import Callable, Iterable
from http import HTTPStatus

from mcpctl.base import bounds
from mcpctl.over_http.http_exchange import STREAM, Header, HttpExchange
from mcpctl.wire import jsonrpc
from mcpctl.wire.writer import Readers, Turn

_ALIVE_S = 15  # seconds of silence after which a stream has a comment, so that nobody on the way takes it for dead
_ALIVE = b": \r\n\r\n"
_STREAM_HEADERS: list[Header] = [
    (b"content-type", STREAM), (b"cache-control", b"no-cache, no-transform"), (b"x-accel-buffering", b"no"),
]  # fmt: skip
_OK = 200  # a member of an enumeration is looked up by a function, until Python 3.12
NOBODY_READS = 1 << 30  # as many bytes as wait where no client is: what may be left out is
_STATUS = {
    jsonrpc.METHOD_NOT_FOUND: HTTPStatus.NOT_FOUND,
    **dict.fromkeys((
        jsonrpc.PARSE_ERROR, jsonrpc.INVALID_REQUEST, jsonrpc.INVALID_PARAMS, jsonrpc.HEADER_MISMATCH,
        jsonrpc.UNSUPPORTED_VERSION, jsonrpc.MISSING_CAPABILITY,
    ), HTTPStatus.BAD_REQUEST),
}  # fmt: skip
"""The status of an answer of 2026-07-28 that is an error; 200 for any other."""


class StreamedLines:
    """Lines to one client, which leave at the end of a turn; what it does not take stops those who read for it."""

    def __init__(self, turn: Turn, readers: Readers) -> None:
        self.pending = 0
        self.is_gone = False
        self.is_over = False
        self._turn = turn
        self._readers = readers
        self._written: list[bytes] = []
        self._ready: list[bytes] = []
        self._is_due = False
        self._is_of_turn = False
        self._waiting: asyncio.Future[None] | None = None
        self._silent_since = 0.0
        self._silence: asyncio.TimerHandle | None = None

    def write(self, *pieces: bytes | memoryview) -> None:
        if not (self.is_gone or self.is_over):
            self._send(b"".join(pieces))

    def _send(self, line: bytes) -> None:
        self.pending += len(line)
        self._written.append(line)
        if not self._is_due:
            self._is_due = True
            self._is_of_turn = self._turn.reading > 0
            self._turn.written(self._flush)
        if self.pending > bounds.UNREAD:
            self._readers.hold()

    async def released(self) -> None:
        await self._readers.released()

    def _flush(self) -> None:
        self._is_due = False
        self._ready += self._written
        self._written.clear()
        if not self._is_of_turn:  # whoever has written goes on first: its request may end only then
            self.wake()
        elif (waiting := self._waiting) and not waiting.done():
            waiting.set_result(None)

    def wake(self) -> None:
        if self._waiting:
            asyncio.get_running_loop().call_soon(_end, self._waiting)

    def end(self) -> None:
        """Nothing more comes."""
        self.is_over = True
        self.wake()

    def leave(self, _: object = None) -> None:
        """The client has gone."""
        self.is_gone = True
        self._written.clear()
        self._taken(self.pending)
        self.wake()

    def close(self) -> None:
        """No more of it is of use."""
        if self.pending or not self.is_over:
            self.leave()
        self.is_gone = True
        self._readers.close()

    async def _lines(self, http: HttpExchange) -> list[bytes]:
        """The lines that are there now, or come next; none after some seconds of silence."""
        if not (self._ready or self.is_gone or self.is_over):
            loop = asyncio.get_running_loop()
            self._waiting = http.waiting()
            self._silent_since = loop.time()
            if self._silence is None:
                self._silence = loop.call_later(_ALIVE_S, self._look)
            await self._waiting
        ready, self._ready = self._ready, []
        return ready

    def _look(self) -> None:
        """Break a silence: one timer looks after all that is waited for in a row."""
        self._silence = None
        if self._waiting and not self._waiting.done():
            loop = asyncio.get_running_loop()
            left = self._silent_since + _ALIVE_S - loop.time()
            if left > 0:
                self._silence = loop.call_later(left, self._look)
            else:
                self.wake()

    def discard(self) -> None:
        """It is not used again."""
        if self._silence:
            self._silence.cancel()

    def _taken(self, size: int) -> None:
        self.pending -= size
        if not self.pending:
            self._readers.release()

    async def stream(self, http: HttpExchange, *headers: Header) -> None:
        """Send all as events until there is no more, or the client goes."""
        await http.begin(HTTPStatus.OK, [*_STREAM_HEADERS, *headers])
        await http.write(_ALIVE)  # so that a client sees at once that it is open
        await self._stream_on(http, await self._lines(http) if self._ready else [])

    async def _stream_on(self, http: HttpExchange, lines: list[bytes]) -> None:
        while not self.is_gone:
            if lines:
                await http.write(b"".join(map(_event, lines)))
                await http.write(b"")  # which returns once the other side has room again
                self._taken(sum(map(len, lines)))
            if self.is_over and not self._ready:
                await http.write(b"", more=False)
                return
            lines = await self._lines(http)
            if not lines and not self.is_over:
                await http.write(_ALIVE)


def _end(waiting: "asyncio.Future[None] | None") -> None:
    if waiting and not waiting.done():
        waiting.set_result(None)


def _event(line: bytes) -> bytes:
    data = line.rstrip(b"\n")
    # A server may write JSON with breaks between its parts, or worse, inside of a string: what came after one would
    # be another message, which nobody has looked at.
    return b"event: message\r\ndata: %b\r\n\r\n" % (
        data.translate(jsonrpc.ONE_LINE) if b"\r" in data or b"\n" in data else data
    )


class PostAnswer(StreamedLines):
    def __init__(
        self, turn: Turn, readers: Readers, *, is_modern: bool, beyond: Callable[..., None] | None = None
    ) -> None:
        """`beyond` takes what comes once each request is answered."""
        super().__init__(turn, readers)
        self._beyond = beyond
        self._open: list[bytes] = []
        self._is_modern = is_modern
        self._is_single = False
        self.was_plain = False

    def begin(self, ids: Iterable[bytes]) -> None:
        """Take the answers to requests of these ids: it is over when each is answered."""
        if self.is_gone:
            self._readers.open()
        self.is_gone = self.is_over = self.was_plain = False
        self._ready = []
        self._open = [b'{"jsonrpc":"2.0","id":%b,"' % id_ for id_ in ids]
        self._is_single = len(self._open) == 1

    @property
    def is_open(self) -> bool:
        return bool(self._open)

    def write(self, *pieces: bytes | memoryview) -> None:
        if self.is_over:
            if self._beyond:
                self._beyond(*pieces)
            return
        line = b"".join(pieces)
        self._note(line)
        if not self.is_gone:
            self._send(line)

    def _note(self, beginning: bytes) -> None:
        for prefix in self._open:
            if beginning.startswith((prefix + b"r", prefix + b"e")):
                self._open.remove(prefix)
                self.is_over = not self._open
                if self.is_gone:  # else it is woken once that has left
                    self.wake()
                return

    def withdrawn(self, id_: bytes) -> None:
        """That request is not answered any more."""
        prefix = b'{"jsonrpc":"2.0","id":%b,"' % id_
        if prefix in self._open:
            self._open.remove(prefix)
            if not self._open:
                self.end()

    async def send(self, http: HttpExchange, headers: Callable[[], list[Header]], *, streams: bool) -> None:
        """Answer with one JSON object if that is all, and else with a stream."""
        lines = await self._lines(http) if not streams else []
        if self.is_gone:
            return
        if self.is_over and self._is_single and len(lines) == 1:
            line = lines[0].rstrip(b"\n")
            await http.answer(self._status(line), line, *headers())
            self.was_plain = len(line) < bounds.LITTLE and b"input_required" not in line
            self._taken(len(lines[0]))
            return
        await http.begin(HTTPStatus.OK, [*_STREAM_HEADERS, *headers()])
        await self._stream_on(http, lines)

    async def over(self) -> None:
        """Return when each is answered, though nobody takes the answers."""
        self.pending = NOBODY_READS
        while not self.is_over:
            self._waiting = asyncio.get_running_loop().create_future()
            await self._waiting

    def _status(self, line: bytes) -> int:
        if not self._is_modern or b'"error":' not in line[:600]:
            return _OK
        error = jsonrpc.members_or_empty(jsonrpc.members_or_empty(line).get("error", b""))
        code = error.get("code", b"")
        return _STATUS.get(int(code), HTTPStatus.OK) if code.lstrip(b"-").isdigit() and len(code) < 8 else HTTPStatus.OK
