"""Servers that are processes: each leads a session of its own, and all that is in it ends with it, for certain."""

import asyncio
import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from mcpctl.base import bounds, posix
from mcpctl.base.failure import Failure
from mcpctl.config.server_environment import Launch
from mcpctl.secrets.redact import mask
from mcpctl.upstreams.connection import Connection, Exchange, OnGone, OnMessage
from mcpctl.wire.jsonrpc import Json
from mcpctl.wire.reader import MessageReader, id_of
from mcpctl.wire.threads import beside
from mcpctl.wire.writer import Readers, Writer

OWNER = "MCPCTL_OWNER"  # names, in a server that is left over, who started it and the inode of the pipe it reads
_WATCHER = Path(__file__).with_name("watcher.sh")
_STDERR_KEPT = 8192
_CHATTER_KEPT = 200
_EDGE = 1024
_EOF_GRACE_S = 0.4
_TERM_GRACE_S = 0.4
_KILL_S = 0.2  # how long what was sent SIGKILL may take to go; what then runs cannot be ended by us
_LOOK_S = 0.05
_TOO_LONG = f"its answer has more than {bounds.MESSAGE >> 20} MB"


class ServerProcesses:
    """Starts servers, and knows what runs in their sessions."""

    def __init__(self) -> None:
        self._watcher: subprocess.Popen[bytes] | None = None
        self._sessions: set[int] = set()
        self._looking: dict[bool, asyncio.Task[Mapping[int, posix.Process]]] = {}

    def start(self, launch: Launch) -> tuple["subprocess.Popen[bytes]", int]:
        """A server's process and the descriptor that its stdin is read from; raises OSError."""
        if self._watcher is None:
            with contextlib.suppress(OSError):  # without a shell nobody ends servers after a kill -9; all else works
                self._watcher = posix.run_aside(_WATCHER)
        theirs, ours = os.pipe()
        pipe = os.fstat(theirs).st_ino
        self._tell(f"starting {pipe}")
        try:
            process = posix.spawn(launch.argv, {**launch.env, OWNER: f"{os.getpid()}:{pipe}"}, launch.cwd, theirs)
        except BaseException:
            self._tell("failed")
            os.close(ours)
            raise
        finally:
            os.close(theirs)
        self._tell(f"started {process.pid}")
        self._sessions.add(process.pid)
        return process, ours

    async def table(self, *, everything: bool = False) -> Mapping[int, posix.Process]:
        """The processes in the servers' sessions, or on the whole machine; who ask at once share one look."""
        if everything not in self._looking:
            self._looking[everything] = asyncio.get_running_loop().create_task(self._looked(everything))
        return await asyncio.shield(self._looking[everything])

    async def _looked(self, everything: bool) -> Mapping[int, posix.Process]:
        await asyncio.sleep(0)
        del self._looking[everything]  # whoever asks from here on gets what is then
        sessions = None if everything else set(self._sessions)
        return await beside(posix.processes, sessions)

    def ended(self, process: "subprocess.Popen[bytes]") -> None:
        """Forget a server of which nothing is left: from now on its id may be another process's."""
        self._tell(f"ended {process.pid}")
        self._sessions.discard(process.pid)
        process.poll()

    def close(self) -> None:
        if self._watcher and self._watcher.stdin:
            self._watcher.stdin.close()
            self._watcher.kill()
            self._watcher.wait()

    def _tell(self, event: str) -> None:
        """Tell the watcher. One that is gone, or does not read, costs nothing but its service."""
        if self._watcher and self._watcher.stdin:
            with contextlib.suppress(OSError):
                self._watcher.stdin.write(f"{event}\n".encode())


class Stdio(Connection):
    keeps_stderr = True

    def __init__(
        self, launch: Launch, processes: ServerProcesses, readers: Readers, on_message: OnMessage, on_gone: OnGone,
        on_stderr: Callable[[int, bytes], None],
    ) -> None:  # fmt: skip
        super().__init__(on_message, on_gone)
        self.exit_status: int | None = None
        self.chatter = b""
        self._pretty: list[bytes] = []
        self._pretty_bytes = 0
        self._given = 0
        self._junk = 0
        self._exit = asyncio.Event()
        self._on_stderr = on_stderr
        self._stderr = b""
        self.detached: Mapping[int, str] = {}  # in sessions of their own when its end began: ids and names
        self.unended: Mapping[int, str] = {}  # processes of its session that could not be ended
        self._ending: asyncio.Task[None] | None = None
        self._processes = processes
        self._process, stdin = processes.start(launch)
        self.pid = self._process.pid
        stdout, stderr = self._process.stdout, self._process.stderr
        assert stdout
        assert stderr
        self._stdout, self._stderr_pipe = stdout, stderr
        os.set_blocking(stdout.fileno(), False)
        os.set_blocking(stderr.fileno(), False)
        self._writer = Writer(stdin, readers.turn, on_broken=self._hung_up)
        self._reader = MessageReader(
            stdout.fileno(), readers, on_message=self._received, on_other=self._not_a_message,
            on_end=self._all_read,
            on_too_long=lambda *edges: self._unreadable(id_of(*edges), _TOO_LONG),
        )  # fmt: skip
        self._stderr_in_a_row = 0
        self._hear_stderr()
        self._watch_for_exit()

    @property
    def is_over(self) -> bool:
        return self._ending is not None and self._ending.done()

    @property
    def last_words(self) -> str:
        lines = (self._stderr.strip() or self.chatter).decode("utf-8", "replace").strip().splitlines()
        words = mask(" | ".join(line.strip() for line in lines[-3:]))[-500:]
        return f"; its last words: {words}" if words else ""

    def write(self, *pieces: Json, exchange: Exchange | None = None) -> None:
        """Send the pieces of a line. A server that reads nothing is not answered without end."""
        if exchange or self._writer.pending <= bounds.UNREAD:
            self._writer.write(*pieces)

    @property
    def is_full(self) -> bool:
        return self._writer.pending > bounds.MESSAGE

    async def stop(self) -> None:
        """End it: close its stdin, then SIGTERM, then SIGKILL, to its whole session; returns when that is done."""
        await asyncio.shield(self._end())
        # Its words that nobody has read yet are of no interest any more, however many they are.
        self._leave(self.ended())

    def _end(self) -> "asyncio.Task[None]":
        if self._ending is None:
            self._ending = self._loop.create_task(self._ended())
            self._ending.add_done_callback(lambda _: self._on_gone(self))
        return self._ending

    async def _ended(self) -> None:
        """Processes that it has started are in its session, and must not outlive it."""
        term_at = self._loop.time() + _EOF_GRACE_S
        if not self._exit.is_set():
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
            self._leave(Failure("server_died", {"reason": "it cannot be ended"}))
        self._processes.ended(self._process)

    async def _signalled(self, number: int) -> Mapping[int, str]:
        """Send a signal to all that is in its session now (0 is none); ids and names."""
        table = await self._processes.table()
        left = posix.in_session(self.pid, table)
        if not self._exit.is_set():
            left.setdefault(self.pid, "its own")  # where no table is to be had, or not all of it
        if left and number:
            posix.signal_session(self.pid, number, table)
        return left

    async def _is_gone_within(self, seconds: float) -> bool:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._exit.wait()
        return self._exit.is_set()  # both may have come at once

    def _not_a_message(self, line: bytes) -> asyncio.Future[Any] | None:
        """Take a line that some servers print: a part of a message over several lines, or a text for stderr."""
        if self._given != self._reader.given:
            self._given, self._junk = self._reader.given, 0
            self._pretty.clear()
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

    def _unreadable(self, id_: bytes, why: str) -> None:
        if exchange := self.awaited(id_):
            del self.pending[exchange.id]
            exchange.failed(Failure("answer_unreadable", {"reason": why}))

    def _hear_stderr(self) -> None:
        if not self._stderr_pipe.closed:
            self._loop.add_reader(self._stderr_pipe.fileno(), self._read_stderr)

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
        self._on_stderr(self.pid, data)
        self._stderr_in_a_row += len(data)
        if self._stderr_in_a_row >= bounds.STDERR:
            # A server that does little but write there waits, so that others need not.
            self._stderr_in_a_row = 0
            self._loop.remove_reader(self._stderr_pipe.fileno())
            self._loop.call_later(bounds.STDERR_PAUSE_S, self._hear_stderr)

    def _watch_for_exit(self) -> None:
        try:
            watched = os.pidfd_open(self._process.pid)  # Linux alone has it
        except (AttributeError, OSError):
            threading.Thread(target=self._await_exit, name=f"await-{self._process.pid}", daemon=True).start()
            return

        def ended() -> None:
            self._loop.remove_reader(watched)
            os.close(watched)
            self._exited(posix.await_exit(self._process))

        self._loop.add_reader(watched, ended)

    def _await_exit(self) -> None:
        status = posix.await_exit(self._process)
        try:
            self._loop.call_soon_threadsafe(self._exited, status)
        except RuntimeError:
            return  # the loop is closed: so is everything else

    def _hung_up(self) -> None:
        # With one stream closed it can answer nothing any more: the next call starts it again.
        if self.hung_up:
            return
        self.hung_up = True
        self._on_gone(self)
        self._end()

    def _all_read(self) -> None:
        if self._exit.is_set():
            self._leave(self.ended())
        else:
            self._hung_up()

    def _exited(self, status: int) -> None:
        self.exit_status = status
        self._exit.set()
        if self.gone.is_set():
            return
        self._read_stderr()
        # Its last words are read, also where it was found gone by a write that failed.
        if self._reader.finish():
            self._all_read()
        self._end()

    def _leave(self, why: Failure) -> None:
        if self.gone.is_set():
            return
        self._writer.close()
        self._reader.close()
        self._loop.remove_reader(self._stderr_pipe.fileno())
        self._stdout.close()
        self._stderr_pipe.close()
        self._on_stderr(self.pid, b"")
        self._is_gone(why)

    def how_it_ended(self) -> str:
        status = self.exit_status
        if status is not None and status < 0:
            named = {number.value: number.name for number in signal.Signals}  # real-time signals have none
            return f"killed by {named.get(-status, f'signal {-status}')}"
        return f"exit status {status}"
