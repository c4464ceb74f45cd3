"""Messages into a file descriptor on the event loop, without ever blocking."""

import asyncio
import contextlib
import os
import select
import stat
from collections import deque
from collections.abc import Callable

from mcpctl import bounds
from mcpctl.wire.turn import Turn

_SMALL = 1 << 14
_PIPE_PIECE = select.PIPE_BUF
"""What a pipe that polls writable takes without blocking (POSIX, `write`), and less than any socket's."""


class Writer:
    """Writes to `fd` in order; what the other side does not take yet is kept and sent when it does.

    `inherited` says that others share the open file, so that it must not be made non-blocking for them: it is then
    written in pieces that a writable pipe always takes. `holds` says that nobody reads more for this turn's client
    while more than `bounds.UNREAD` bytes wait to be taken.
    """

    def __init__(
        self, fd: int, turn: Turn, on_broken: Callable[[], None], *, inherited: bool = False, holds: bool = False
    ) -> None:
        self._fd = fd
        self._turn = turn
        self._on_broken = on_broken
        self._holds = holds
        self._poll: select.poll | None = None
        self._loop = asyncio.get_running_loop()
        self._queue: deque[memoryview] = deque()
        self._waiting = False
        self.pending = 0
        """Bytes that were given and not yet taken."""
        self.taken = 0
        """Bytes that the other side has taken."""
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
        if self._holds and self.pending > bounds.UNREAD:
            self._turn.hold()

    def close(self) -> None:
        """Send nothing more and close the descriptor."""
        if self._fd >= 0:
            self._wait(False)
            fd, self._fd = self._fd, -1
            self._queue.clear()
            self.pending = 0
            with contextlib.suppress(OSError):
                os.close(fd)
            if self._holds:
                self._turn.release()

    def flush(self) -> None:
        """Send what is queued, as far as the other side takes it."""
        if self._fd < 0:
            return
        if len(self._queue) > 1:
            self._join_small()
        left = bounds.AT_ONCE
        try:
            while self._queue:
                if left <= 0:
                    self._wait(True)  # a reader that is as fast as we are must not keep us from others
                    return
                piece = self._queue[0]
                written = self._write_some(piece)
                self.pending -= written
                self.taken += written
                left -= written
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
        if self._holds:
            self._turn.release()

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
