"""A server that is a process: its pipes, what it was asked and has not answered, and its certain end."""

import asyncio
import contextlib
import os
import signal
import threading
from collections.abc import Callable

from mcpctl import posix
from mcpctl.launching import Launch
from mcpctl.proxy import jsonrpc
from mcpctl.proxy.connection import Connection, Exchange
from mcpctl.proxy.pipes import Line, LineReader, Turn, Writer
from mcpctl.store.redact import mask

_STDERR_KEPT = 8192
_CHATTER_KEPT = 200
_MAX_UNREAD = 16 << 20
_MOST_LINES = 100_000
"""The longest message that is printed over several lines."""
_EOF_GRACE_S = 0.4
_TERM_GRACE_S = 0.4
_LOOK_S = 0.02


class Stdio(Connection):
    """A started server."""

    def __init__(
        self,
        launch: Launch,
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
        self._ending: asyncio.Task[None] | None = None
        self._ending_group: asyncio.Task[None] | None = None
        self._process = posix.spawn(launch.argv, launch.env, launch.cwd)
        stdin, stdout, stderr = self._process.stdin, self._process.stdout, self._process.stderr
        assert stdin and stdout and stderr
        self._stdout, self._stderr_pipe = stdout, stderr
        os.set_blocking(stdout.fileno(), False)
        os.set_blocking(stderr.fileno(), False)
        # The writer owns a descriptor of its own, which it closes to say that nothing more comes.
        self._writer = Writer(os.dup(stdin.fileno()), turn, on_broken=self._hung_up)
        stdin.close()
        self._reader = LineReader(stdout.fileno(), turn, self._line, self._hung_up)
        self._loop.add_reader(stderr.fileno(), self._read_stderr)
        threading.Thread(target=self._await_exit, name=f"await-{self._process.pid}", daemon=True).start()

    @property
    def pid(self) -> int:
        """The process id, which is also its group's."""
        return self._process.pid

    @property
    def is_over(self) -> bool:
        """Whether neither the process nor anything of its group is left."""
        return self.gone.is_set() and (self._ending_group is None or self._ending_group.done())

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
        """End it: close its stdin, then SIGTERM, then SIGKILL, to the whole group; returns when it is gone."""
        self._writer.close()
        last = self._loop.time() + _EOF_GRACE_S + _TERM_GRACE_S
        for grace, number in ((_EOF_GRACE_S, signal.SIGTERM), (_TERM_GRACE_S, signal.SIGKILL)):
            if await self._is_gone_within(grace):
                break
            posix.signal_group(self.pid, number)
        await self.gone.wait()
        if self._ending_group and not self._ending_group.done():
            await asyncio.wait([self._ending_group], timeout=max(0.0, last - self._loop.time()))
            posix.signal_group(self.pid, signal.SIGKILL)

    async def _is_gone_within(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await self.gone.wait()
        except TimeoutError:
            return False
        return True

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
        posix.await_exit(self._process)
        try:
            self._loop.call_soon_threadsafe(self._exited)
        except RuntimeError:
            return  # the loop is closed: so is everything else

    def _hung_up(self) -> None:
        # With one stream closed it can answer nothing any more: the next call starts it anew.
        if self.hung_up:
            return
        self.hung_up = True
        self._on_gone(self)
        # Kept, since the loop holds its tasks weakly.
        self._ending = self._loop.create_task(self.stop())

    def _exited(self) -> None:
        self.exit_status = self._process.wait()
        # First of all: a child of its that goes on writing would be read for ever.
        if posix.signal_group(self.pid, signal.SIGTERM):
            self._ending_group = self._loop.create_task(self._end_group())
        self._reader.drain()
        self._read_stderr()
        self._writer.close()
        self._reader.close()
        self._loop.remove_reader(self._stderr_pipe.fileno())
        self._stdout.close()
        self._stderr_pipe.close()
        self._is_gone(f"it ended ({self.how_it_ended()})")

    async def _end_group(self) -> None:
        """What the process has started is in its group, and must not outlive it."""
        last = self._loop.time() + _TERM_GRACE_S
        while self._loop.time() < last and posix.signal_group(self.pid, 0):
            await asyncio.sleep(_LOOK_S)
        posix.signal_group(self.pid, signal.SIGKILL)
        self._loop.call_soon(self._on_gone, self)

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
