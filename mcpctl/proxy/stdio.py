"""A server that is a process: its pipes, what it was asked and has not answered, and its certain end."""

import asyncio
import os
import signal
import threading
from collections.abc import Callable
from typing import Any

from msgspec import Raw

from mcpctl import bounds, posix
from mcpctl.launching import Launch
from mcpctl.proxy import jsonrpc
from mcpctl.proxy.connection import Connection, Exchange, Failure
from mcpctl.proxy.messages import MessageReader, id_of
from mcpctl.proxy.turn import Turn
from mcpctl.proxy.writer import Writer
from mcpctl.store.redact import mask

_STDERR_KEPT = 8192
_CHATTER_KEPT = 200
_EDGE = 1024
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
        """The lines so far of a message that is printed over several."""
        self._pretty_bytes = 0
        self._junk = 0
        """How many lines in a row were no message."""
        self._exit_seen = False
        self._stopping = False
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
        self._reader = MessageReader(
            stdout.fileno(), turn, of_client=False, on_message=self._read, on_other=self._not_a_message,
            on_end=self._all_read, on_too_long=self._is_too_long,
        )  # fmt: skip
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
        said = mask(" | ".join(line.strip() for line in lines[-3:]))[-500:]
        return f"; its last words: {said}" if said else ""

    def write(self, line: bytes, exchange: Exchange | None = None) -> None:
        """Send a line that is complete already. A server that reads nothing is not answered without end."""
        if exchange or self._writer.pending <= bounds.UNREAD:
            self._writer.write(line)

    @property
    def is_full(self) -> bool:
        """Whether it has left so much unread that it is sent nothing more."""
        return self._writer.pending > bounds.MESSAGE

    async def stop(self) -> None:
        """End it: close its stdin, then SIGTERM, then SIGKILL, to the whole group; returns when it is gone."""
        self._stopping = True
        self._writer.close()
        if self._exit_seen:
            self._end()
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

    def _read(self, message: jsonrpc.Message | jsonrpc.Malformed) -> None:
        assert isinstance(message, jsonrpc.Message)  # of a server no others are given
        self._pretty.clear()
        self._junk = 0
        self._received(message)

    def _not_a_message(self, line: bytes) -> asyncio.Future[Any] | None:
        """What some servers print: a message over several lines, and what belongs on stderr."""
        edge = line[:3].rstrip()
        if self._pretty or edge == b"{":
            self._pretty_bytes = len(line) + (self._pretty_bytes if self._pretty else 0)
            self._pretty.append(line)
            if len(self._pretty) > bounds.MESSAGE_LINES or self._pretty_bytes > bounds.MESSAGE:
                self._pretty.clear()
                return self._pause()
            if edge == b"}" and len(self._pretty) > 1:
                # No JSON string has a line break in it: what joins the lines is white space.
                whole, self._pretty = b" ".join(self._pretty), []
                return self._reader.take(whole)
            return None
        if id_ := id_of(line[:_EDGE], line[-_EDGE:]):
            self._unreadable(id_, "its answer is not JSON")
        # The fault of many servers, and harmless; one that does little else must not take up others' time.
        self.chatter = self.chatter or line[:_CHATTER_KEPT]
        self._junk += 1
        return None if self._junk % bounds.JUNK_LINES else self._pause()

    def _pause(self) -> asyncio.Future[Any]:
        return self._loop.create_task(asyncio.sleep(bounds.JUNK_PAUSE_S))

    def _is_too_long(self, beginning: bytes, end: bytes) -> None:
        self._unreadable(id_of(beginning, end), f"its answer has more than {bounds.MESSAGE >> 20} MB")

    def _unreadable(self, id_: bytes, why: str) -> None:
        """Fail the call whose answer cannot be passed on."""
        if exchange := self._answered(Raw(id_)):
            exchange.failed(Failure("answer_unreadable", why))

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
        # With one stream closed or not read on, it can answer nothing any more: the next call starts it anew.
        if self.hung_up:
            return
        self.hung_up = True
        self._on_gone(self)
        # Kept, since the loop holds its tasks weakly.
        self._ending = self._loop.create_task(self.stop())

    def _all_read(self) -> None:
        if self._exit_seen:
            self._end()
        else:
            self._hung_up()

    def _exited(self) -> None:
        self.exit_status = self._process.wait()
        self._exit_seen = True
        # First of all: a child of its that goes on writing would be read for ever.
        if posix.signal_group(self.pid, signal.SIGTERM):
            self._ending_group = self._loop.create_task(self._end_group())
        self._read_stderr()
        self._writer.close()
        self._loop.remove_reader(self._stderr_pipe.fileno())
        if self._stopping or self.hung_up:
            self._end()
        else:
            self._reader.finish()

    def _end(self) -> None:
        """Its process is gone and all that it said is read: whoever still waits is told."""
        if not self.gone.is_set():
            self._reader.close()
            self._stdout.close()
            self._stderr_pipe.close()
            self._is_gone(Failure("server_died", f"it ended ({self.how_it_ended()})", self.last_words))

    async def _end_group(self) -> None:
        """What the process has started is in its group, and must not outlive it."""
        last = self._loop.time() + _TERM_GRACE_S
        while self._loop.time() < last and posix.signal_group(self.pid, 0):
            await asyncio.sleep(_LOOK_S)
        posix.signal_group(self.pid, signal.SIGKILL)
        self._loop.call_soon(self._on_gone, self)

    def how_it_ended(self) -> str:
        """Exit status or signal, for a message."""
        status = self.exit_status
        if status is not None and status < 0:
            known = -status in signal.valid_signals()
            return f"killed by {signal.Signals(-status).name}" if known else f"signal {-status}"
        return f"exit status {status}"
