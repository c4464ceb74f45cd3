"""One connection of a client over HTTP/1.1: requests parsed by llhttp, each handed to an ASGI application, answers in
one write. It keeps to time and to bounds on any transport, and takes nothing that two programs could read in two ways.
"""

import asyncio
import re
from collections import deque
from http import HTTPStatus
from typing import Any, ClassVar
from urllib.parse import unquote

import httptools
from uvicorn import Config
from uvicorn.server import ServerState

from mcpctl.base import bounds
from mcpctl.wire.http_answer import Answering, Message

_PIECE = 1 << 16  # bytes that are parsed at once: what they ask for is in memory at once
_LONGEST_KEPT = 1 << 12  # bytes of a head that is known again
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d{1,9})\r\n", re.IGNORECASE)
_VERSIONS = ("1.1", "1.0")
_LENGTHS = (b"content-length", b"transfer-encoding")

_heads: "dict[HttpConnection, float]" = {}  # those that owe a head, with when they began to; the longest first
_idle: "dict[HttpConnection, float]" = {}  # those between two requests


class Ambiguous(Exception):
    """A head that two programs could read in two ways, or that is not HTTP."""


class HttpConnection(asyncio.Protocol):
    most: ClassVar[int] = 100  # connections; beyond, the one ends that has waited longest without a request

    def __init__(
        self, config: Config, server_state: ServerState, app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:  # fmt: skip
        self.app = config.loaded_app
        self.needs_task = getattr(self.app, "needs_task", True)  # whether it asks for the task that it runs in
        self.loop = _loop or asyncio.get_running_loop()
        self.transport: asyncio.Transport
        self._state = server_state
        self._idle_s = config.timeout_keep_alive
        self._app_state = app_state
        self._parser = httptools.HttpRequestParser(self)
        self._asked: deque[Answering] = deque()  # requests that are not answered yet: the first is being answered
        self._body_of: Answering | None = None  # the request whose body is being read
        self._unparsed = bytearray()  # what came meanwhile, as far as it was on the way
        self._heads = 0  # how many heads were whole so far
        self._begun = 0  # bytes of one that is not
        self._url = b""
        self._headers: list[tuple[bytes, bytes]] = []
        self._known = b""  # the head of the last request, without the length of its body
        self._known_scope: Message
        self._length_at: int
        self._notes: dict[Any, Any] = {}  # what the application has noted of that head
        self._reading = True
        self._is_ending = False  # whether nothing that comes is of use any more
        self._is_staying = False  # whether the head of a request that wished for another protocol is read once more
        self._is_wrong = False  # whether what came last cannot be answered but with 400
        self._unread: asyncio.TimerHandle | None = None
        self.room: asyncio.Future[None] | None = None  # done once the other side has taken what is written

    # ---- its beginning and its end

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        transport.set_write_buffer_limits(high=0)  # so that it is told of all that is not taken at once
        self._state.connections.add(self)  # type: ignore[arg-type]
        self.scope = {
            "type": "http", "asgi": {"version": "3.0", "spec_version": "2.3"}, "scheme": "http", "root_path": "",
            "client": _named(transport.get_extra_info("peername")),
            "server": _named(transport.get_extra_info("sockname")),
        }  # fmt: skip
        self._await_head()
        if len(self._state.connections) > self.most:
            longest = next(iter(_heads))
            longest = longest if longest is not self else next(iter(_idle), self)
            _forget(longest)  # which ends once, however many come before it has
            longest.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._state.connections.discard(self)
        _forget(self)
        self._is_ending = True
        self._have_room()
        for each in self._asked:
            each.left()
        self._asked.clear()

    def shutdown(self) -> None:
        """End once what is asked is answered; uvicorn calls this."""
        if self._asked:
            self._asked[-1].keeps_alive = False
        else:
            self.transport.close()

    def _end(self) -> None:
        """Send what is written, and close once the other side does so: at once, it might lose what it has not read."""
        self._is_ending = True
        self._read_on(True)
        if not self.transport.can_write_eof():
            self.transport.close()
            return
        self.transport.write_eof()
        if not self.room:
            self._await_head()

    def _await_head(self) -> None:
        _heads.pop(self, None)  # so that it is the last one
        _heads[self] = self.loop.time()

    # ---- what comes

    def data_received(self, data: bytes) -> None:
        if self._is_ending:
            return
        _idle.pop(self, None)
        if not self._reading or self._unparsed:
            self._unparsed += data
        elif len(data) <= _PIECE:
            self._parse(data)
        else:
            self._unparsed += data
            self._parse_on()

    def _parse_on(self) -> None:
        while self._unparsed and self._reading and not self._is_ending:
            piece = bytes(self._unparsed[:_PIECE])
            del self._unparsed[:_PIECE]
            self._parse(piece)

    def _parse(self, data: bytes) -> None:
        if self._asked or self._begun or self._body_of or not self._take_like_last(data):
            self._feed(data)
        self._begin()

    def _take_like_last(self, data: bytes) -> bool:
        """Take a whole request with a head as the last one's but for the length: its parser would find the same."""
        end = data.find(b"\r\n\r\n", 0, _LONGEST_KEPT)
        length = _LENGTH.search(data, 0, end + 2) if end > 0 else None
        if not length or len(data) != end + 4 + int(length[1]):
            return False
        head = data[: length.start(1)] + data[length.end(1) : end]
        if head != self._known:
            self._learn(data, head, int(length[1]))
            return True
        _heads.pop(self, None)
        headers = self._headers.copy()
        headers[self._length_at] = b"content-length", length[1]
        scope = {**self._known_scope, "headers": headers, "state": self._app_state.copy()}
        self._asked.append(Answering(self, scope, self._notes, keeps_alive=True, body=data[end + 4 :]))
        return True

    def _learn(self, data: bytes, head: bytes, length: int) -> None:
        """Parse a request, and know the head of the next one if it is the same, and ends where it was taken to end."""
        self._feed(data)
        if len(self._asked) == 1 and self._asked[0].is_plain(length) and not (self._body_of or self._begun):
            self._known, self._known_scope = head, {**self._asked[0].scope}
            self._length_at = [name for name, _ in self._headers].index(b"content-length")

    def _begin(self) -> None:
        if self._asked and not (first := self._asked[0]).is_running:
            first.begin()

    def _feed(self, data: bytes) -> None:
        heads = self._heads if self._body_of is None else -1
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as stopped:
            self._stay(data[stopped.args[0] :])
        except httptools.HttpParserError:
            self._refuse()
            return
        if self._body_of is None:
            self._begun += len(data) if heads == self._heads else 0
            if self._begun > bounds.REQUEST_HEAD:
                self._refuse()
            elif not self._asked and self not in _heads:
                self._await_head()
        if len(self._asked) > 1:
            self._read_on(False)
        elif self._unparsed:
            self.loop.call_soon(self._parse_on)

    def _stay(self, rest: bytes) -> None:
        """Go on with the same protocol where another was wished for: the parser would take a body for that one's."""
        self._is_staying = True
        self._parser = httptools.HttpRequestParser(self)
        head = b"".join(b"%b: %b\r\n" % header for header in self._headers if header[0] in _LENGTHS)
        self._parser.feed_data(b"POST * HTTP/1.1\r\n%b\r\n" % head)
        self._unparsed[:0] = rest

    def _refuse(self) -> None:
        """Read no more; what was asked before is answered first."""
        self._is_wrong = True
        self._read_on(False)
        self._unparsed.clear()
        if broken := self._body_of:
            self._body_of = None
            broken.left()
            self._asked.remove(broken)
        if not self._asked:
            if not (broken and broken.is_begun):
                self.transport.write(_WRONG)
            self._end()

    def _read_on(self, reading: bool) -> None:
        if reading != self._reading and not self.transport.is_closing():
            self._reading = reading
            (self.transport.resume_reading if reading else self.transport.pause_reading)()

    # ---- what the parser finds

    def on_message_begin(self) -> None:
        if not self._is_staying:
            self._url, self._headers, self._begun = b"", [], self._begun or 1

    def on_url(self, part: bytes) -> None:
        if not self._is_staying:
            self._url += part

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._body_of is None:  # else it is a trailer, which nobody reads
            self._headers.append((name.lower(), value.strip()))

    def on_headers_complete(self) -> None:
        if self._is_staying:
            self._is_staying = False
            return
        self._heads += 1
        self._begun = 0
        _heads.pop(self, None)
        parser, headers = self._parser, self._headers
        self._is_staying = parser.should_upgrade()
        version = parser.get_http_version()
        _check(version, self._url, headers)
        path, _, query = self._url.partition(b"?")
        scope = {
            **self.scope, "http_version": version, "method": parser.get_method().decode(), "raw_path": path,
            "path": unquote(path.decode()) if b"%" in path else path.decode(), "query_string": query,
            "headers": headers, "state": self._app_state.copy(),  # what an application notes there is of one request
        }  # fmt: skip
        if scope["method"] == "CONNECT":
            raise Ambiguous
        self._known, self._notes = b"", {}
        stays = version == "1.1" and parser.should_keep_alive()
        self._body_of = Answering(self, scope, self._notes, keeps_alive=stays)
        self._asked.append(self._body_of)

    def on_body(self, part: bytes) -> None:
        if (asked := self._body_of) and asked.take(part) > bounds.UNTAKEN:
            self._read_on(False)

    def on_message_complete(self) -> None:
        if self._is_staying:
            return
        asked, self._body_of = self._body_of, None
        if asked:
            asked.completed()

    # ---- what its requests tell

    def taken(self) -> None:
        """The application has taken what there was of a body."""
        if not self._reading and len(self._asked) < 2 and not self._is_wrong:
            self._read_on(True)
            self._parse_on()

    def answered(self, asked: Answering) -> None:
        """The answer to the first request is whole."""
        self._asked.popleft()
        if self.transport.is_closing():
            return
        if not asked.keeps_alive:
            self._asked.clear()
            self._end()
            return
        if self._asked:
            self.loop.call_soon(self._begin)  # by itself: it may be answered at once, as the one after it
        elif self._is_wrong:
            self.transport.write(_WRONG)
            self._end()
            return
        elif self._body_of or self._begun:  # a body that nobody wants any more, or the next head
            self._await_head()
        else:
            _idle[self] = self.loop.time()
        self.taken()

    # ---- what leaves

    def pause_writing(self) -> None:
        self.room = self.loop.create_future()
        self._unread = self.loop.call_later(bounds.UNREAD_S, self.transport.abort)

    def resume_writing(self) -> None:
        self._have_room()
        if self._is_ending:
            self._await_head()

    def _have_room(self) -> None:
        if self._unread:
            self._unread.cancel()
        room, self.room = self.room, None
        if room and not room.done():
            room.set_result(None)


def _forget(connection: HttpConnection) -> None:
    _heads.pop(connection, None)
    _idle.pop(connection, None)


def look(now: float) -> None:
    """End the connections that have been waited for too long."""
    while _heads and now - _heads[late := next(iter(_heads))] >= bounds.REQUEST_HEAD_S:
        del _heads[late]
        late.transport.abort()
    while _idle and now - _idle[late := next(iter(_idle))] >= late._idle_s:
        del _idle[late]
        late.transport.close()


def _check(version: str, url: bytes, headers: list[tuple[bytes, bytes]]) -> None:
    """Raises `Ambiguous`."""
    names = [name for name, _ in headers]
    hosts = names.count(b"host")
    size = len(url) + sum(map(len, names)) + sum(map(len, [value for _, value in headers]))
    if size > bounds.REQUEST_HEAD or len(names) > bounds.REQUEST_HEADERS:
        raise Ambiguous
    if version not in _VERSIONS or names.count(b"content-length") > 1 or hosts > 1 or (version == "1.1" and not hosts):
        raise Ambiguous
    if b"transfer-encoding" in names:
        codings = [value.lower() for name, value in headers if name == b"transfer-encoding"]
        if codings != [b"chunked"] or version == "1.0" or b"content-length" in names:
            raise Ambiguous


def _named(address: Any) -> tuple[str, int] | None:
    return (str(address[0]), int(address[1])) if isinstance(address, tuple) and len(address) > 1 else None


_WORDS = b"this is not an HTTP request that is taken here"
_WRONG = (
    b"HTTP/1.1 400 %b\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: %d\r\nconnection: close\r\n\r\n%b"
    % (HTTPStatus.BAD_REQUEST.phrase.encode(), len(_WORDS), _WORDS)
)
