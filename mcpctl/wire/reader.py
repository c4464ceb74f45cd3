"""Lines and messages read from a descriptor on the event loop, copied once at most and without ever blocking; long and
odd messages are decoded beside it, in their order."""

import array
import asyncio
import codecs
import contextlib
import fcntl
import os
import re
import termios
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from mcpctl.base import bounds
from mcpctl.base.errors import warn
from mcpctl.wire import jsonrpc, loose_json
from mcpctl.wire.jsonrpc import Malformed
from mcpctl.wire.threads import beside
from mcpctl.wire.writer import Readers, widen

Line = bytes | bytearray
_READ = 1 << 16  # the capacity of a pipe. Once a line was longer, more is read at once:
_READ_OF_LONG = 1 << 20
_EDGE = 1024
Read = list[Any]  # messages, and in place of one that cannot be read the `Malformed` that says why
_ID = rb'"id"[ \t]*:[ \t]*("[^"\\]{0,200}"|-?\d{1,20})[ \t]*'
_FIRST_ID = re.compile(rb"[ \t]*\{[^\[\]{}]{0,300}?" + _ID + rb",")
_LAST_ID = re.compile(_ID + rb"\}\s*\Z")
_OPENING = (b"{", b"[")
_MARK = codecs.BOM_UTF8[:1]
_INDENT = 64


class LineReader:
    """Calls `on_line` for every line of `fd` that is not empty, and `on_end` once at the end. Only a long line may have
    its newline. `on_line` may return a future: the lines after it then wait until it is done, and more is not read
    meanwhile. A line of more than `bounds.MESSAGE` bytes is not kept: `on_too_long` gets its beginning and its end."""

    def __init__(
        self, fd: int, readers: Readers, on_line: Callable[[Line], asyncio.Future[Any] | None],
        on_end: Callable[[], None], on_too_long: Callable[[bytes, bytes], None],
    ) -> None:  # fmt: skip
        self._fd = fd
        self._readers, self._turn = readers, readers.turn
        self._on_line = on_line
        self._on_end = on_end
        self._on_too_long = on_too_long
        self._lines: deque[Line] = deque()
        self._partial = bytearray()
        self._is_wide = False
        self._beginning = b""  # that of a line that is too long; its last bytes are in `_partial` meanwhile
        self._skipped = 0
        self._busy: asyncio.Future[Any] | None = None
        self._at_end = False
        self._loop = asyncio.get_running_loop()
        self._polled = True
        self._open = False
        self._held = False
        readers.join(self)
        self._read_on()

    def resume(self) -> None:
        self._held = False
        self._work()

    def pause(self) -> None:
        """Leave what comes in the pipe, so that its writer has to wait."""
        self._held = True
        self._stop_reading()

    def finish(self) -> bool:
        """Take what is there at this moment, then it has ended; whether `on_end` was called already."""
        self._stop_reading()
        if self._fd < 0 or self._at_end:
            return self._on_end is _nothing
        with contextlib.suppress(OSError):
            there = array.array("i", [0])
            fcntl.ioctl(self._fd, termios.FIONREAD, there)
            left = there[0]
            while left > 0 and (data := os.read(self._fd, min(left, _READ))):
                left -= len(data)
                self._split(data)
        self._ended()
        self._work()
        return self._on_end is _nothing

    def close(self) -> None:
        self._stop_reading()
        self._readers.leave(self)
        self._fd = -1
        self._at_end = True
        self._on_end = _nothing
        self._partial = bytearray()
        self._lines.clear()

    def _read_on(self) -> None:
        if self._open or self._fd < 0 or self._at_end:
            return
        self._open = True
        if self._polled:
            try:
                self._loop.add_reader(self._fd, self._readable)
                return
            except PermissionError:  # epoll takes no regular files and no /dev/null; reading those never blocks
                self._polled = False
        self._loop.call_soon(self._readable)

    def _stop_reading(self) -> None:
        if self._open and self._polled:
            self._loop.remove_reader(self._fd)
        self._open = False

    def _readable(self) -> None:
        if not self._open or self._lines:
            return
        try:
            if data := os.read(self._fd, _READ_OF_LONG if self._is_wide else _READ):
                self._split(data)
            else:
                self._ended()
        except BlockingIOError:
            return
        except MemoryError:
            self._overcome()
        except OSError:
            self._ended()
        self._work()

    def _overcome(self) -> None:
        """End for want of memory: of a line of which a part is lost, the rest cannot be told from another's."""
        warn("there is not enough memory for what was sent; its sender is not read any more")
        self._lines.clear()
        self._partial = bytearray()
        self._ended()

    def _split(self, data: bytes) -> None:
        if self._beginning and not (data := self._pass_over(data)):
            return
        # Looked for first: to split a large piece takes far longer.
        end = data.find(b"\n")
        if end < 0:
            self._keep(data)
            return
        # A long one that was read whole keeps its newline: JSON takes it for white space, and nothing is copied.
        first: Line = data if end == len(data) - 1 and end >= _READ and not self._partial else data[:end]
        if self._partial:
            # Grown in place and handed on as it is: a line of 20 MB is in memory once.
            self._partial += first
            first, self._partial = self._partial, bytearray()
        if len(first) > _READ:
            self._turn.was_large()
        if len(first) > bounds.MESSAGE:
            self._on_too_long(bytes(first[:_EDGE]), bytes(first[-_EDGE:]))
        else:
            self._lines.append(first)
        *whole, rest = data[end + 1 :].split(b"\n")
        self._lines.extend(whole)
        if rest:
            self._keep(rest)

    def _keep(self, rest: Line) -> None:
        self._partial += rest
        if not self._is_wide and len(self._partial) >= _READ:
            self._is_wide = True
            widen(self._fd)
        if len(self._partial) > bounds.MESSAGE:
            self._beginning, self._skipped = bytes(self._partial[:_EDGE]), len(self._partial)
            self._partial = self._partial[-_EDGE:]

    def _pass_over(self, data: bytes) -> bytes:
        """The bytes after a line that is too long, once it has ended."""
        rest, newline, following = data.partition(b"\n")
        self._skipped += len(rest)
        self._partial = (self._partial + rest[-_EDGE:])[-_EDGE:]
        if newline:
            beginning, end, self._beginning, self._partial = self._beginning, self._partial, b"", bytearray()
            self._on_too_long(beginning, bytes(end))
        elif self._skipped > bounds.ENDLESS:
            self._partial = bytearray()
            self._ended()
        return following

    def _work(self) -> None:
        """Handle what was read, no longer than others can wait."""
        if self._held:
            return
        if self._lines and self._busy is None:
            self._turn.take(self._handle_lines)
        if self._busy is not None:
            self._stop_reading()
        elif self._lines:
            self._loop.call_soon(self._work)
        elif self._at_end:
            on_end, self._on_end = self._on_end, _nothing
            on_end()
        elif not self._held:
            if not self._polled:
                self._open = False  # a regular file is always ready
            if not self._open:
                self._read_on()

    def _handle_lines(self) -> None:
        last = time.perf_counter() + bounds.SLICE_S
        lines, on_line = self._lines, self._on_line
        while lines and self._busy is None:
            line = lines.popleft()
            try:
                self._busy = on_line(line) if line else None
            except MemoryError:
                self._overcome()
            except Exception as error:
                # One line's fault must not cost the lines after it, nor the process.
                warn(f"internal error: {error!r}")
            if time.perf_counter() > last:
                break
        if self._busy is not None:
            self._busy.add_done_callback(self._done)

    def _done(self, busy: asyncio.Future[Any]) -> None:
        self._busy = None
        error = None if busy.cancelled() else busy.exception()
        if isinstance(error, MemoryError):
            self._overcome()
        elif error:
            warn(f"internal error: {error!r}")
        self._work()

    def _ended(self) -> None:
        self._stop_reading()
        self._readers.leave(self)
        self._at_end = True
        if self._partial:
            self._lines.append(self._partial)
            self._partial = bytearray()


def _nothing() -> None:
    """In place of a callback, once nobody waits for the end."""


class MessageReader:
    """Gives the messages in the lines of `fd` to `on_message`, and each line that has none to `on_other`. `on_other`
    may return a future, which the lines after it wait for. `on_malformed` gets why a message cannot be read that a
    client has sent, so that it is answered; without it, as for a server, that is left out. `decoded` may have other
    classes than `Message` for messages that come often; it raises as `jsonrpc.decoded`, in any thread."""

    def __init__(
        self, fd: int, readers: Readers, *, on_message: Callable[[Any], None],
        on_other: Callable[[bytes], asyncio.Future[Any] | None], on_end: Callable[[], None],
        on_too_long: Callable[[bytes, bytes], None], on_malformed: Callable[[Malformed], None] | None = None,
        decoded: Callable[[Line], Any] = jsonrpc.decoded,
    ) -> None:  # fmt: skip
        self.given = 0  # how many lines so far had messages
        self._on_message = on_message
        self._on_malformed = on_malformed
        self._decoded = decoded
        self._on_other = on_other
        self._loop = asyncio.get_running_loop()
        reader = LineReader(fd, readers, self.take, on_end, on_too_long)
        self.finish, self.close = reader.finish, reader.close

    def take(self, line: Line) -> asyncio.Future[Any] | None:
        """Take one line; what is returned is done when that is."""
        if line[:1] not in _OPENING and line[:_INDENT].lstrip()[:1] not in (*_OPENING, b"", _MARK):
            return self._on_other(bytes(line))
        if len(line) > bounds.AT_ONCE:
            return self._loop.create_task(self._take_beside(line))
        if not line.isascii():
            # Invalid UTF-8 would end the other side's whole connection, and with it every other call.
            line = loose_json.well_formed(line)
        try:
            message = self._decoded(line)
        except jsonrpc.REFUSED:
            if len(line) <= bounds.LITTLE:
                return self._give(line, self._read(line))
            return self._loop.create_task(self._take_beside(line))
        if self._on_malformed is None and message.method is None and message.id in jsonrpc.NOTHING:
            return self._on_other(bytes(line))
        self.given += 1
        self._on_message(message)
        return None

    async def _take_beside(self, line: Line) -> None:
        read = await beside(self._read, line)
        if busy := self._give(line, read):
            await busy

    def _give(self, line: Line, read: Read) -> asyncio.Future[Any] | None:
        if self._on_malformed is None:
            read = [
                each for each in read
                if not isinstance(each, Malformed) and (each.method is not None or each.id not in jsonrpc.NOTHING)
            ]  # fmt: skip
        if not read:
            return self._on_other(bytes(line))
        self.given += 1
        for each in read:
            if not isinstance(each, Malformed):
                self._on_message(each)
            elif self._on_malformed:
                self._on_malformed(each)
        return None

    def _read(self, line: Line) -> Read:
        return messages_in(line, self._decoded)


def messages_in(text: Line, decoded: Callable[[Line], Any]) -> Read:
    """The messages in a line, none where it has none; `decoded` is as that of `MessageReader`."""
    text = loose_json.well_formed(text)
    with contextlib.suppress(*jsonrpc.REFUSED):
        return [decoded(text)]
    with contextlib.suppress(Malformed):
        return [*jsonrpc.messages(bytes(text))]
    return []


def id_of(beginning: bytes, end: bytes) -> bytes:
    """The id, in JSON, of a message that cannot be read, from its first and last bytes; empty where neither tells."""
    if b'"jsonrpc"' not in beginning and b'"jsonrpc"' not in end:
        return b""
    match = _FIRST_ID.match(beginning) or _LAST_ID.search(end)
    return match[1] if match else b""
