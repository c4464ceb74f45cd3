"""Server-sent events out of bytes as they come: https://html.spec.whatwg.org/multipage/server-sent-events.html. The
SDK's HTTP client has them as text: an event of 60 MB is then in memory five times, and its lines are handled without a
pause."""

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ServerSentEvent:
    name: str
    data: bytes
    id: str  # the place in the stream where it is resumed, of this event or the last one that had one
    retry_ms: int | None


_LONGEST_NAME = 16


class TooLong(ValueError):
    """An event of more bytes than are kept."""


class EventStream:
    """Takes a stream apart. An event of more than `most` bytes raises `TooLong`."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._partial = bytearray()
        self._skips_newline = False
        self._begun = False
        self._fresh()
        self._id = ""

    def _fresh(self) -> None:
        self._name = ""
        self._data: list[bytes] = []
        self._size = 0
        self._retry_ms: int | None = None

    def feed(self, data: bytes) -> Iterator[ServerSentEvent]:
        if self._skips_newline and data.startswith(b"\n"):
            data = data[1:]
        self._skips_newline = data.endswith(b"\r")
        if b"\r" in data:
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        lines = data.split(b"\n")
        rest = lines.pop()
        for line in lines:
            whole: bytes | bytearray = line
            if self._partial:
                self._partial += line
                whole, self._partial = self._partial, bytearray()
            if event := self._line(whole):
                yield event
        self._partial += rest
        self._check(len(self._partial))

    def _line(self, line: bytes | bytearray) -> ServerSentEvent | None:
        if not self._begun:
            self._begun, line = True, line.removeprefix(b"\xef\xbb\xbf")
        if not line:
            return self._ended()
        colon = line.find(b":")
        name = bytes(line[: colon if colon >= 0 else len(line)][:_LONGEST_NAME])
        # A view, since a value may be long: it is in memory twice at most.
        value = bytes(memoryview(line)[len(line) if colon < 0 else colon + 1 + line.startswith(b" ", colon + 1) :])
        if name == b"data":
            self._check(len(value))
            self._size += len(value) + 1
            self._data.append(value)
        elif name == b"event":
            self._name = value[:200].decode("utf-8", "replace")
        elif name == b"id" and b"\0" not in value and len(value) <= 4096:
            self._id = value.decode("utf-8", "replace")
        elif name == b"retry" and value.isdigit() and len(value) < 10:
            self._retry_ms = int(value)
        return None

    def _ended(self) -> ServerSentEvent | None:
        # Without data it is not an event, but its words on the stream count.
        event = ServerSentEvent(self._name or "message", b"\n".join(self._data), self._id, self._retry_ms)
        self._fresh()
        return event if event.data or event.id or event.retry_ms is not None else None

    def _check(self, more: int) -> None:
        if self._size + more > self._most:
            raise TooLong
