"""Lines in and out of file descriptors on the event loop, without copying more than once and without ever blocking."""

import array
import asyncio
import contextlib
import fcntl
import os
import select
import stat
import termios
from collections import deque
from collections.abc import Callable, Iterable

from mcpctl.errors import warn

Line = bytes | bytearray

_READ = 1 << 18
_SMALL = 1 << 14
_LONGEST_LINE = 256 << 20
_PIPE_PIECE = select.PIPE_BUF
"""What a pipe that polls writable takes without blocking (POSIX, `write`), and less than any socket's."""


class Turn:
    """One turn of reading: what its lines cause to be written leaves at its end, the record first."""

    def __init__(self, record: Callable[[], None]) -> None:
        self._record = record
        self._writers: dict[Writer, None] = {}
        self._taking = False

    def take(self, lines: Iterable[Line], on_line: Callable[[Line], None]) -> None:
        """Handle the lines that were read at once."""
        self._taking = True
        for line in lines:
            try:
                if line:
                    on_line(line)
            except Exception as error:
                # One line's fault must not cost the lines after it, nor the process.
                warn(f"internal error: {error!r}")
        self._taking = False
        self._record()
        writers, self._writers = self._writers, {}
        for writer in writers:
            writer.flush()

    def written(self, writer: "Writer") -> None:
        """Let a writer send now, or at the end of the turn."""
        if self._taking:
            self._writers[writer] = None
        else:
            self._record()
            writer.flush()


class LineReader:
    """Calls `on_line` for every line of `fd` that is not empty, without its newline, and `on_end` once at the end."""

    def __init__(self, fd: int, turn: Turn, on_line: Callable[[Line], None], on_end: Callable[[], None]) -> None:
        self._fd = fd
        self._turn = turn
        self._on_line = on_line
        self._on_end = on_end
        self._partial = bytearray()
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
        """Take what is there at this moment, and not what is written meanwhile."""
        if self._fd < 0:
            return
        with contextlib.suppress(OSError):
            there = array.array("i", [0])
            fcntl.ioctl(self._fd, termios.FIONREAD, there)
            left = there[0]
            while left > 0 and (data := os.read(self._fd, min(left, _READ))):
                left -= len(data)
                self._split(data)

    def close(self) -> None:
        """Read nothing more; the descriptor stays its owner's."""
        self.pause()
        self._fd = -1
        self._partial = bytearray()

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
        read = data.split(b"\n")
        rest = read.pop()
        whole: list[Line] = [*read]
        if whole and self._partial:
            # Grown in place and handed on as it is: a line of 20 MB is in memory once.
            self._partial += whole[0]
            whole[0], self._partial = self._partial, bytearray()
        self._partial += rest
        if whole:
            self._turn.take(whole, self._on_line)
        if len(self._partial) > _LONGEST_LINE:
            # Nobody means a line like this, and whoever writes it may never end it.
            warn(f"a line of more than {_LONGEST_LINE >> 20} MB is not read to its end")
            self._partial = bytearray()
            self._ended()

    def _ended(self) -> None:
        last = self._partial
        self.close()
        self._turn.take([last], self._on_line)
        self._on_end()


class Writer:
    """Writes to `fd` in order; what the other side does not take yet is kept and sent when it does.

    `inherited` says that others share the open file, so that it must not be made non-blocking for them: it is then
    written in pieces that a writable pipe always takes.
    """

    def __init__(self, fd: int, turn: Turn, on_broken: Callable[[], None], *, inherited: bool = False) -> None:
        self._fd = fd
        self._turn = turn
        self._on_broken = on_broken
        self._poll: select.poll | None = None
        self._loop = asyncio.get_running_loop()
        self._queue: deque[memoryview] = deque()
        self._waiting = False
        self.pending = 0
        """Bytes that were given and not yet taken."""
        self.on_drained: Callable[[], None] | None = None
        if inherited and not self._reopened():
            self._poll = select.poll()
            self._poll.register(fd, select.POLLOUT)
        else:
            os.set_blocking(self._fd, False)

    def _reopened(self) -> bool:
        """Have the pipe as an open file of our own, where the system gives one (Linux does)."""
        if not stat.S_ISFIFO(os.fstat(self._fd).st_mode):
            return False
        try:
            fd = os.open(f"/proc/self/fd/{self._fd}", os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return False
        os.close(self._fd)
        self._fd = fd
        return True

    def write(self, *pieces: bytes | memoryview) -> None:
        """Send the pieces at the end of this turn, or as soon after as the other side takes them."""
        if self._fd < 0:
            return
        for piece in pieces:
            self.pending += len(piece)
            self._queue.append(memoryview(piece))
        if not self._waiting:
            self._turn.written(self)

    def close(self) -> None:
        """Send nothing more and close the descriptor."""
        if self._fd >= 0:
            self._wait(False)
            fd, self._fd = self._fd, -1
            self._queue.clear()
            self.pending = 0
            with contextlib.suppress(OSError):
                os.close(fd)

    def flush(self) -> None:
        """Send what is queued, as far as the other side takes it."""
        if self._fd < 0:
            return
        if len(self._queue) > 1:
            self._join_small()
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

    def _join_small(self) -> None:
        """Many small messages become one write; a large one is not copied for it."""
        joined: deque[memoryview] = deque()
        small: list[memoryview] = []
        for piece in self._queue:
            if len(piece) <= _SMALL:
                small.append(piece)
                continue
            joined += [memoryview(b"".join(small)), piece] if small else [piece]
            small = []
        if small:
            joined.append(memoryview(b"".join(small)))
        self._queue = joined

    def _write_some(self, piece: memoryview) -> int:
        if self._poll is None:
            return os.write(self._fd, piece)
        if not self._poll.poll(0):
            return 0
        return os.write(self._fd, piece[:_PIPE_PIECE])

    def _wait(self, waiting: bool) -> None:
        if waiting and not self._waiting:
            self._loop.add_writer(self._fd, self._turn.written, self)
        elif self._waiting and not waiting:
            self._loop.remove_writer(self._fd)
        self._waiting = waiting
