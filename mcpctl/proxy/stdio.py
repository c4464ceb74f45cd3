"""A server that is a process: its pipes, what it was asked and has not answered, and its certain end."""

import asyncio
import contextlib
import os
import signal
import threading
from collections.abc import Callable, Mapping

from mcpctl import posix
from mcpctl.launching import Launch
from mcpctl.proxy import jsonrpc
from mcpctl.proxy.connection import Connection, Exchange
from mcpctl.proxy.pipes import Line, LineReader, Turn, Writer
from mcpctl.proxy.server_processes import ServerProcesses
from mcpctl.store.redact import mask

_STDERR_KEPT = 8192
_CHATTER_KEPT = 200
_MAX_UNREAD = 16 << 20
_MOST_LINES = 100_000
"""The longest message that is printed over several lines."""
_EOF_GRACE_S = 0.4
_TERM_GRACE_S = 0.4
_KILL_S = 0.2
"""How long what was sent SIGKILL may take to go; what then runs cannot be ended by us."""
_LOOK_S = 0.05


class Stdio(Connection):
    """A started server."""

    def __init__(
        self,
        launch: Launch,
        processes: ServerProcesses,
        turn: Turn,
        on_message: Callable[[Connection, jsonrpc.Message], None],
        on_gone: Callable[[Connection], None],
        on_stderr: Callable[[bytes], None],
    ) -> None:
        super().__init__(on_message, on_gone)
        self.exit_status: int | None = None
        self.chatter = b""
        """The first line on stdout that was no message."""
        self._pretty: list[bytes] = []
        self._on_stderr = on_stderr
        self._stderr = b""
        self.detached: Mapping[int, str] = {}
        """What it had started in sessions of their own when its end began: ids and names."""
        self.unended: Mapping[int, str] = {}
        """What of its session could not be ended."""
        self._ending: asyncio.Task[None] | None = None
        self._processes = processes
        self._process, stdin = processes.start(launch)
        stdout, stderr = self._process.stdout, self._process.stderr
        assert stdout
        assert stderr
        self._stdout, self._stderr_pipe = stdout, stderr
        os.set_blocking(stdout.fileno(), False)
        os.set_blocking(stderr.fileno(), False)
        self._writer = Writer(stdin, turn, on_broken=self._hung_up)
        self._reader = LineReader(stdout.fileno(), turn, self._line, self._hung_up)
        self._loop.add_reader(stderr.fileno(), self._read_stderr)
        threading.Thread(target=self._await_exit, name=f"await-{self._process.pid}", daemon=True).start()

    @property
    def pid(self) -> int:
        """The process id, which is also its session's."""
        return self._process.pid

    @property
    def is_over(self) -> bool:
        """Whether neither the process nor anything of its session is left, or can be ended."""
        return self._ending is not None and self._ending.done()

    @property
    def last_words(self) -> str:
        """The last lines it wrote to stderr, or what it wrote to stdout instead, on one line."""
        lines = (self._stderr.strip() or self.chatter).decode("utf-8", "replace").strip().splitlines()
        return mask(" | ".join(line.strip() for line in lines[-3:]))[-500:]

    def write(self, line: bytes, exchange: Exchange | None = None) -> None:
        """Send a line that is complete already. A server that reads nothing is not answered without end."""
        if exchange or self._writer.pending <= _MAX_UNREAD:
            self._writer.write(line)

    async def stop(self) -> None:
        """End it: close its stdin, then SIGTERM, then SIGKILL, to its whole session; returns when that is done."""
        await asyncio.shield(self._end())

    def _end(self) -> "asyncio.Task[None]":
        if self._ending is None:
            self._ending = self._loop.create_task(self._ended())
            # Whoever keeps it may now let it go.
            self._ending.add_done_callback(lambda _: self._on_gone(self))
        return self._ending

    async def _ended(self) -> None:
        """What the process has started is in its session, and must not outlive it."""
        term_at = self._loop.time() + _EOF_GRACE_S
        if not self.gone.is_set():
            # Now, while it can be told who has started what.
            self.detached = posix.detached(self.pid, await self._processes.table(everything=True))
        self._writer.close()
        await self._is_gone_within(term_at - self._loop.time())
        # From when it should have been, so that what comes late on a busy machine does not add up.
        kill_at = min(term_at, self._loop.time()) + _TERM_GRACE_S
        left = await self._signalled(signal.SIGTERM)
        if left:
            await self._is_gone_within(kill_at - self._loop.time())
        while left and self._loop.time() < kill_at:
            await asyncio.sleep(_LOOK_S)
            left = await self._signalled(0)
        last = self._loop.time() + _KILL_S
        # Again and again: what was forked meanwhile is found the next time.
        while left and (left := await self._signalled(signal.SIGKILL)) and self._loop.time() < last:
            await asyncio.sleep(_LOOK_S / 5)
        self.unended = left
        if not await self._is_gone_within(0 if left else _KILL_S):
            self._leave("it cannot be ended")
        self._processes.ended(self._process)

    async def _signalled(self, number: int) -> Mapping[int, str]:
        """Send a signal to all that is in its session now (0 is none); ids and names."""
        table = await self._processes.table()
        left = posix.in_session(self.pid, table)
        if not self.gone.is_set():
            left.setdefault(self.pid, "its own")  # where no table is to be had, or not all of it
        if left and number:
            posix.signal_session(self.pid, number, table)
        return left

    async def _is_gone_within(self, seconds: float) -> bool:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.gone.wait()
        return self.gone.is_set()  # both may have come at once

    def _line(self, line: Line) -> None:
        # Invalid UTF-8 would end the client's whole connection, and with it every other server's calls.
        line = jsonrpc.well_formed(line)
        try:
            message = jsonrpc.decode(line)
        except jsonrpc.Malformed:
            self._not_a_message(bytes(line))
            return
        if self._pretty and message.method is None and not jsonrpc.is_id(message.id):
            self._not_a_message(bytes(line))  # a part of one that is printed over several lines
            return
        self._pretty.clear()
        self._received(message)

    def _not_a_message(self, line: bytes) -> None:
        """What some servers print: batches, a message over several lines, and what belongs on stderr."""
        if self._pretty or line.rstrip() == b"{":
            self._pretty.append(line)
            if line.rstrip() != b"}" and len(self._pretty) < _MOST_LINES:
                return
            # No JSON string has a line break in it: what joins the lines is white space.
            whole, self._pretty = b" ".join(self._pretty), []
            with contextlib.suppress(jsonrpc.Malformed):
                self._received(jsonrpc.decode(whole))
                return
        try:
            batch = jsonrpc.items(line)
        except jsonrpc.Malformed:
            # The fault of many servers, and harmless.
            self.chatter = self.chatter or line[:_CHATTER_KEPT]
            return
        for item in batch:
            with contextlib.suppress(Exception):  # one bad item costs no other its answer
                self._received(jsonrpc.decode(item))

    def _read_stderr(self) -> None:
        try:
            data = os.read(self._stderr_pipe.fileno(), 1 << 16)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._loop.remove_reader(self._stderr_pipe.fileno())
            return
        self._stderr = (self._stderr + data)[-_STDERR_KEPT:]
        self._on_stderr(data)

    def _await_exit(self) -> None:
        status = posix.await_exit(self._process)
        try:
            self._loop.call_soon_threadsafe(self._exited, status)
        except RuntimeError:
            return  # the loop is closed: so is everything else

    def _hung_up(self) -> None:
        # With one stream closed it can answer nothing any more: the next call starts it anew.
        if self.hung_up:
            return
        self.hung_up = True
        self._on_gone(self)
        self._end()

    def _exited(self, status: int) -> None:
        self.exit_status = status
        if not self.gone.is_set():
            self._reader.drain()
            self._read_stderr()
            self._leave(f"it ended ({self.how_it_ended()})")
            self._end()

    def _leave(self, why: str) -> None:
        """Neither hear it nor speak to it any more."""
        self._writer.close()
        self._reader.close()
        self._loop.remove_reader(self._stderr_pipe.fileno())
        self._stdout.close()
        self._stderr_pipe.close()
        self._is_gone(why)

    def how_it_ended(self) -> str:
        """Exit status or signal, and its last words, for a message."""
        status = self.exit_status
        if status is not None and status < 0:
            how = (
                f"killed by {signal.Signals(-status).name}"
                if -status in signal.valid_signals()
                else f"signal {-status}"
            )
        else:
            how = f"exit status {status}"
        return f"{how}; its last words: {self.last_words}" if self.last_words else how
