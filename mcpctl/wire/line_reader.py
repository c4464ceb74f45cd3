"""Lines out of a file descriptor on the event loop, without copying more than once and without ever blocking."""

import array
import asyncio
import contextlib
import fcntl
import os
import termios
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from mcpctl import bounds
from mcpctl.errors import warn
from mcpctl.wire.turn import Line, Turn

_READ = 1 << 18
_EDGE = 1024


class LineReader:
    """Calls `on_line` for every line of `fd` that is not empty, without its newline, and `on_end` once at the end.

    `on_line` may return a future: the lines after it then wait until it is done, and more is not read meanwhile. A
    line of more than `bounds.MESSAGE` bytes is not kept: `on_too_long` gets its beginning and its end.
    """

    def __init__(
        self,
        fd: int,
        turn: Turn,
        on_line: Callable[[Line], asyncio.Future[Any] | None],
        on_end: Callable[[], None],
        on_too_long: Callable[[bytes, bytes], None],
    ) -> None:
        self._fd = fd
        self._turn = turn
        self._on_line = on_line
        self._on_end = on_end
        self._on_too_long = on_too_long
        self._lines: deque[Line] = deque()
        """Read, and waiting for their turn."""
        self._partial = bytearray()
        self._beginning = b""
        """Of a line that is passed over since it is too long; its last bytes are in `_partial` meanwhile."""
        self._skipped = 0
        self._busy: asyncio.Future[Any] | None = None
        self._at_end = False
        self._loop = asyncio.get_running_loop()
        self._polled = True
        self._open = False
        self._held = False
        turn.join(self)
        self._read_on()

    def resume(self) -> None:
        """Read on, after `pause`."""
        self._held = False
        self._work()

    def pause(self) -> None:
        """Leave what comes in the pipe, so that its writer has to wait."""
        self._held = True
        self._stop_reading()

    def finish(self) -> bool:
        """Take what is there at this moment, and not what is written meanwhile; then it has ended.

        Whether `on_end` was called already, so that nothing of it is awaited.
        """
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
        """Read nothing more; the descriptor stays its owner's."""
        self._stop_reading()
        self._turn.leave(self)
        self._fd = -1
        self._at_end = True
        self._on_end = _nothing
        self._partial = bytearray()
        self._lines.clear()

    def _read_on(self) -> None:
        if self._open or self._fd < 0 or self._at_end:
            return
        self._open = True
        if not self._polled:
            self._loop.call_soon(self._readable)
            return
        try:
            self._loop.add_reader(self._fd, self._readable)
        except PermissionError:
            # epoll takes no regular files and no /dev/null; reading those never blocks.
            self._polled = False
            self._loop.call_soon(self._readable)

    def _stop_reading(self) -> None:
        if self._open and self._polled:
            self._loop.remove_reader(self._fd)
        self._open = False

    def _readable(self) -> None:
        if not self._open:
            return
        try:
            if data := os.read(self._fd, _READ):
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
        whole: list[Line] = [*data.split(b"\n")]
        rest = whole.pop()
        if whole and self._partial:
            # Grown in place and handed on as it is: a line of 20 MB is in memory once.
            self._partial += whole[0]
            whole[0], self._partial = self._partial, bytearray()
            if len(whole[0]) > bounds.MESSAGE:
                long = whole.pop(0)
                self._on_too_long(bytes(long[:_EDGE]), bytes(long[-_EDGE:]))
        self._partial += rest
        self._lines.extend(whole)
        if len(self._partial) > bounds.MESSAGE:
            self._beginning, self._skipped = bytes(self._partial[:_EDGE]), len(self._partial)
            self._partial = self._partial[-_EDGE:]

    def _pass_over(self, data: bytes) -> bytes:
        """What follows a line that is too long, once it has ended."""
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
            self._turn.take(self._due(), self._handle)
        if self._busy is not None:
            self._stop_reading()
        elif self._lines:
            self._stop_reading()
            self._loop.call_soon(self._work)
        elif self._at_end:
            on_end, self._on_end = self._on_end, _nothing
            on_end()
        elif not self._held:
            if not self._polled:
                self._open = False  # a regular file is always ready
            self._read_on()

    def _due(self) -> Iterator[Line]:
        last = time.perf_counter() + bounds.SLICE_S
        while self._lines and self._busy is None:
            yield self._lines.popleft()
            if time.perf_counter() > last:
                return

    def _handle(self, line: Line) -> None:
        try:
            busy = self._on_line(line)
        except MemoryError:
            self._overcome()
            return
        if busy is not None:
            self._busy = busy
            busy.add_done_callback(self._done)

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
        self._turn.leave(self)
        self._at_end = True
        if self._partial:
            self._lines.append(self._partial)
            self._partial = bytearray()


def _nothing() -> None:
    """Nobody waits for the end any more."""
