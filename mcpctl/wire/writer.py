"""Messages into file descriptors on the event loop, without ever blocking: what the lines of one read cause to be
written leaves together, the record first, and who reads for a client stops while it takes nothing."""

import asyncio
import contextlib
import fcntl
import os
import select
import stat
import time
from collections import deque
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Protocol

from mcpctl.base import bounds, posix

_SMALL = 1 << 14  # bytes that are joined rather than sent in pieces
_PIPE = 1 << 16  # the capacity of a pipe, unless it is asked to hold more
_MOST_PIECES = 512  # sent at once; Linux and macOS take twice as many
_PIPE_PIECE = select.PIPE_BUF  # a pipe that polls writable takes so many bytes without blocking (POSIX, `write`)
_WIDE = 1 << 20  # the capacity that anyone may ask for (Linux); a pipe has 64 kB at first
_QUIET_S = 4.0  # by then the last of them are in the index of the records, too


class Pausable(Protocol):
    """A reader for a client."""

    def pause(self) -> None:
        """Leave what comes where it is."""

    def resume(self) -> None:
        """Read on."""


class Recording(Protocol):
    """The record of one client."""

    def write(self, lines: Sequence[bytes]) -> None:
        """Write its new lines."""


class Turn:
    """One turn of reading: what its lines cause to be written leaves at its end, the record first."""

    def __init__(self) -> None:
        self.unwritten: list[tuple[Recording, bytes]] = []  # lines that are on record before anything leaves
        self._writers: list[Callable[[], None]] = []
        self._coming: list[Callable[[], None]] = []
        self._reads = 0
        self._next = 0  # that of what comes now
        self.reading = 0
        """The number of the read whose lines are handled now; 0 where none are. A state before any of them was sent is
        one before the read."""
        self._giving_back: asyncio.TimerHandle | None = None
        self.readers = Readers(self)  # who reads for all clients, as what servers say

    def of_client(self, *others: "Readers") -> "Readers":
        """Those who read for one client alone; `others` read for some more, as for all of one token."""
        return Readers(self, self.readers, *others)

    def take(self, handle: Callable[[], None], reading: int = 0) -> None:
        if not reading:
            self._reads += 1
        self.reading = reading or self._reads
        try:
            handle()
        finally:
            self.reading = 0
        if self.unwritten:
            self._record()
        writers, self._writers = self._writers, []
        for flush in writers:
            flush()

    def take_soon(self, handle: Callable[[], None]) -> None:
        """Handle what has come in one turn with what else comes in this round of the event loop."""
        if not self._next:
            self.coming()
        self._coming.append(handle)

    def coming(self) -> int:
        """The number of the read as which all is handled that comes in this round of the event loop."""
        if not self._next:
            self._reads += 1
            self._next = self._reads
            asyncio.get_running_loop().call_soon(self._take_coming)
        return self._next

    def _take_coming(self) -> None:
        coming, self._coming = self._coming, []
        reading, self._next = self._next, 0
        rest = iter(coming)

        def handle_some() -> None:
            last = time.perf_counter() + bounds.SLICE_S
            for handle in rest:
                handle()
                if time.perf_counter() > last:
                    break

        self.take(handle_some, reading)
        if left := list(rest):
            self.coming()
            self._coming[:0] = left

    def written(self, flush: Callable[[], None]) -> None:
        """Let a writer send now, or at the end of the turn."""
        if self.reading:
            self._writers.append(flush)
        else:
            if self.unwritten:
                self._record()
            flush()

    def _record(self) -> None:
        lines: dict[Recording, list[bytes]] = {}
        for recording, line in self.unwritten:
            lines.setdefault(recording, []).append(line)
        self.unwritten.clear()
        for recording, new in lines.items():
            recording.write(new)

    def was_large(self) -> None:
        """Have the memory of large messages given back, which the allocator keeps, once none has come for a while."""
        if self._giving_back:
            self._giving_back.cancel()
        loop = asyncio.get_running_loop()
        # Aside: it may take some milliseconds.
        self._giving_back = loop.call_later(_QUIET_S, loop.run_in_executor, None, posix.give_back_memory)


class Readers:
    """Who reads for a client, and stops while it takes nothing. Those who read for several stop while none of these
    takes anything: one alone keeps no other from its answers."""

    def __init__(self, turn: Turn, *shared: "Readers") -> None:
        self.turn = turn
        self._shared = shared
        self._clients = self._holding = 0  # how many these read for, and how many of them take nothing
        self._readers: set[Pausable] = set()
        self._taken = asyncio.Event()
        self._taken.set()
        self._held = asyncio.Event()
        self._holds = False
        self.open()

    def open(self) -> None:
        for others in self._shared:
            others._clients += 1
            if others._holding:
                others._follow()

    def close(self) -> None:
        if self._holds:
            self.release()
        for others in self._shared:
            others._clients -= 1
            if others._holding:
                others._follow()

    def join(self, reader: Pausable) -> None:
        self._readers.add(reader)
        if self._holds:
            reader.pause()

    def leave(self, reader: Pausable) -> None:
        self._readers.discard(reader)

    def hold(self) -> None:
        if not self._holds:
            self._holds = True
            self._taken.clear()
            self._held.set()
            for reader in self._readers:
                reader.pause()
            for others in self._shared:
                others._holding += 1
                others._follow()

    def release(self) -> None:
        if self._holds:
            self._holds = False
            self._taken.set()
            self._held.clear()
            for others in self._shared:
                others._holding -= 1
                others._follow()
            for reader in list(self._readers):
                reader.resume()

    def _follow(self) -> None:
        if self._clients and self._holding == self._clients:
            self.hold()
        else:
            self.release()

    async def held(self) -> None:
        await self._held.wait()

    async def released(self) -> None:
        """Return when there is no `hold`, for those who read no descriptor."""
        await self._taken.wait()


class Writer:
    """Writes to `fd` in order; what the other side does not take yet is kept and sent when it does. `inherited` says
    that others share the open file, so that it must not be made non-blocking for them: it is then written in pieces
    that a writable pipe always takes. Those whom it `holds` read no more while more than `bounds.UNREAD` bytes wait to
    be taken."""

    def __init__(
        self, fd: int, turn: Turn, on_broken: Callable[[], None], *, inherited: bool = False,
        holds: Readers | None = None,
    ) -> None:  # fmt: skip
        self._fd = fd
        self._turn = turn
        self._on_broken = on_broken
        self._holds = holds
        self._poll: select.poll | None = None
        self._loop = asyncio.get_running_loop()
        self._queue: deque[memoryview] = deque()
        self._waiting = False
        self._is_due = False
        self._is_wide = False
        self._is_holding = False  # whether nothing is read since the other side takes nothing
        self.pending = 0
        self.taken = 0
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
        size = sum(map(len, pieces))
        self.pending += size
        if size <= _SMALL:
            self._queue.append(memoryview(b"".join(pieces)))
        else:
            self._queue.extend(memoryview(piece) for piece in pieces if piece)
            if size > _PIPE and not self._is_wide:
                self._is_wide = True
                widen(self._fd)
        if not (self._waiting or self._is_due):
            self._is_due = True
            self._turn.written(self.flush)
        if self._holds and self.pending > bounds.UNREAD:
            self._is_holding = True
            self._holds.hold()

    async def released(self) -> None:
        if self._holds:
            await self._holds.released()

    def close(self) -> None:
        if self._fd >= 0:
            self._wait(False)
            fd, self._fd = self._fd, -1
            self._queue.clear()
            self.pending = 0
            with contextlib.suppress(OSError):
                os.close(fd)
            if self._holds:
                self._holds.release()

    def flush(self) -> None:
        self._is_due = False
        if self._fd < 0:
            return
        last = self.taken + bounds.AT_ONCE  # a reader that is as fast as we are must not keep us from others
        try:
            while self._queue and self.taken < last and self._write_some():
                pass
        except BlockingIOError:
            pass
        except OSError:
            self.close()
            self._on_broken()
            return
        if self._queue or self._waiting:
            self._wait(bool(self._queue))
        if self._holds and self._is_holding and not self._queue:
            self._is_holding = False
            self._holds.release()

    def _write_some(self) -> bool:
        """Send what the other side takes at once; whether it may take more."""
        if self._poll is None:
            pieces = list(islice(self._queue, _MOST_PIECES))
            written = os.writev(self._fd, pieces)
        elif self._poll.poll(0):
            pieces = [self._queue[0][:_PIPE_PIECE]]
            written = os.write(self._fd, pieces[0])
        else:
            return False
        is_all = written == sum(map(len, pieces))
        self.pending -= written
        self.taken += written
        while written:
            piece = self._queue.popleft()
            if len(piece) > written:
                self._queue.appendleft(piece[written:])
            written -= min(len(piece), written)
        return is_all

    def _wait(self, waiting: bool) -> None:
        if waiting and not self._waiting:
            self._loop.add_writer(self._fd, self._turn.written, self.flush)
        elif self._waiting and not waiting:
            self._loop.remove_writer(self._fd)
        self._waiting = waiting


def widen(fd: int) -> None:
    """Have a pipe hold 1 MB, where the system lets us, so that a large message passes in a few steps."""
    if hasattr(fcntl, "F_SETPIPE_SZ"):
        with contextlib.suppress(OSError):  # no pipe, or its user has too many wide ones
            fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, _WIDE)
