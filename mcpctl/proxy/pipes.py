"""Lines in and out of file descriptors on the event loop, without copying more than once and without ever blocking."""

import asyncio
import contextlib
import os
import select
from collections import deque
from collections.abc import Callable

_READ = 1 << 18
_PIPE_PIECE = 4096
"""What a pipe that polls writable takes without blocking: POSIX's PIPE_BUF on Linux, and less than any socket's."""


class LineReader:
    """Calls `on_line` for every line of `fd`, without its newline, and `on_end` once at the end."""

    def __init__(self, fd: int, on_line: Callable[[bytes], None], on_end: Callable[[], None]) -> None:
        self._fd = fd
        self._on_line = on_line
        self._on_end = on_end
        self._parts: list[bytes] = []
        self._loop = asyncio.get_running_loop()
        self._polled = True
        self._open = False
        self.resume()

    def resume(self) -> None:
        """Read on, after `pause`."""
        if self._open or self._fd < 0:
            return
        self._open = True
        try:
            self._loop.add_reader(self._fd, self._readable)
        except PermissionError:
            # epoll takes no regular files and no /dev/null; reading those never blocks.
            self._polled = False
            self._loop.call_soon(self._readable)

    def pause(self) -> None:
        """Leave what comes in the pipe, so that its writer has to wait."""
        if self._open and self._polled:
            self._loop.remove_reader(self._fd)
        self._open = False

    def drain(self) -> None:
        """Take what is there already, from a descriptor that does not block."""
        with contextlib.suppress(OSError):
            while self._fd >= 0 and (data := os.read(self._fd, _READ)):
                self._split(data)

    def close(self) -> None:
        """Read nothing more; the descriptor stays its owner's."""
        self.pause()
        self._fd = -1
        self._parts.clear()

    def _readable(self) -> None:
        if not self._open:
            return
        try:
            data = os.read(self._fd, _READ)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._ended()
            return
        self._split(data)
        if not self._polled and self._open:
            self._loop.call_soon(self._readable)

    def _split(self, data: bytes) -> None:
        *whole, rest = data.split(b"\n")
        if whole and self._parts:
            # Joined once, however many reads a line took: a line of 20 MB stays linear.
            self._parts.append(whole[0])
            whole[0] = b"".join(self._parts)
            self._parts.clear()
        if rest:
            self._parts.append(rest)
        for line in whole:
            self._on_line(line)

    def _ended(self) -> None:
        last = b"".join(self._parts)
        self.close()
        if last:
            self._on_line(last)
        self._on_end()


class Writer:
    """Writes to `fd` in order; what the other side does not take yet is kept and sent when it does.

    `inherited` says that others share the open file, so that it must not be made non-blocking for them: it is then
    written in pieces that a writable pipe always takes.
    """

    def __init__(self, fd: int, on_broken: Callable[[], None], *, inherited: bool = False) -> None:
        self._fd = fd
        self._on_broken = on_broken
        self._poll: select.poll | None = None
        self._loop = asyncio.get_running_loop()
        self._queue: deque[memoryview] = deque()
        self._waiting = False
        self.pending = 0
        """Bytes that were given and not yet taken."""
        self.on_drained: Callable[[], None] | None = None
        if inherited:
            self._poll = select.poll()
            self._poll.register(fd, select.POLLOUT)
        else:
            os.set_blocking(fd, False)

    def write(self, data: bytes) -> None:
        """Send `data` now, or as soon as the other side takes it."""
        if self._fd < 0:
            return
        self.pending += len(data)
        self._queue.append(memoryview(data))
        if not self._waiting:
            self._flush()

    def close(self) -> None:
        """Send nothing more and close the descriptor."""
        if self._fd >= 0:
            self._wait(False)
            fd, self._fd = self._fd, -1
            self._queue.clear()
            self.pending = 0
            with contextlib.suppress(OSError):
                os.close(fd)

    def _flush(self) -> None:
        try:
            while self._queue:
                piece = self._queue[0]
                written = self._write_some(piece)
                self.pending -= written
                if written == len(piece):
                    self._queue.popleft()
                    continue
                self._queue[0] = piece[written:]
                if not written:
                    self._wait(True)
                    return
        except BlockingIOError:
            self._wait(True)
            return
        except OSError:
            self.close()
            self._on_broken()
            return
        self._wait(False)
        if self.on_drained:
            self.on_drained()

    def _write_some(self, piece: memoryview) -> int:
        if self._poll is None:
            return os.write(self._fd, piece)
        if not self._poll.poll(0):
            return 0
        return os.write(self._fd, piece[:_PIPE_PIECE])

    def _wait(self, waiting: bool) -> None:
        if waiting and not self._waiting:
            self._loop.add_writer(self._fd, self._flush)
        elif self._waiting and not waiting:
            self._loop.remove_writer(self._fd)
        self._waiting = waiting
