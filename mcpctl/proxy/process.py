"""`mcpctl serve` as a process: its streams, its client on two descriptors, its event loop, its end."""

import asyncio
import contextlib
import gc
import io
import os
import select
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TextIO

from mcpctl.base import bounds, posix
from mcpctl.base.callers import speaker
from mcpctl.base.errors import warn
from mcpctl.base.paths import Paths
from mcpctl.config import exposure
from mcpctl.config.config import Config
from mcpctl.metatools.offers import Offer
from mcpctl.policy import tokens
from mcpctl.policy.policy_file import PolicyFile
from mcpctl.policy.tokens import own_token
from mcpctl.proxy.client_protocol import ClientProtocol
from mcpctl.proxy.follower import ConfigFile
from mcpctl.proxy.gateway import Gateway
from mcpctl.proxy.session import LAST_ANSWER_S, ClientSession
from mcpctl.store.state import State
from mcpctl.toolsets import in_force
from mcpctl.wire.reader import MessageReader
from mcpctl.wire.writer import Readers, Writer

_OPENING_S = 0.075
_GRACE_S = 0.5
_LOOK_S = 0.01
_HANG_UP_S = 0.5
_LAST_S = 1.4  # after this it ends, though the client has not read all of its answers
_UNREAD_S = 0.8  # after this it ends where the client has read nothing of them
_LONGEST_END_S = 1.6  # the longest that the end of the process takes: nothing is to be left after 1.8 s
_MAX_WAITING = 1 << 18  # characters that wait to be written to stderr before more is left out


def run(
    paths: Paths, *, project: str | None, toolset: str | None = None, token_file: Path | None = None,
    split: bool = False, annotate: bool = False, verbose: bool = False, locked: Path | None = None,
    direct: Sequence[str] = (),
) -> None:  # fmt: skip
    """Serve on stdin and stdout, then end the process with status 0. Raises `McpctlError` before it begins."""
    with not_waited_for() as stderr:
        token = own_token(token_file)
        gateway = gateway_for(
            paths, project, toolset, token, split=split, verbose=verbose, locked=locked, direct=direct
        )
        stdout = _stdout_alone()
        # Work in threads hands over to the calls after this long, not after five times of it.
        sys.setswitchinterval(0.001)
        gc.freeze()  # objects loaded by now live as long as the process; the collector need not look at them again
        gc.set_threshold(700)

        def end() -> None:
            stderr.drain()
            # The loop would wait for threads that still run, whose work nobody needs any more, and break the promise.
            os._exit(0)

        # It ends in time, even if the loop is held up; servers that are left then are ended by their watcher.
        last = threading.Timer(_LONGEST_END_S, end)
        last.daemon = True

        async def served() -> None:
            loop, ending = asyncio.get_running_loop(), asyncio.Event()
            loop.set_exception_handler(tell)
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                loop.add_signal_handler(number, ending.set)
            await serve(
                gateway, Offer(split, annotate), ending, stdin=0, stdout=stdout, token=token, on_ending=last.start
            )
            end()

        asyncio.run(served())


def gateway_for(
    paths: Paths, project: str | None, toolset: str | None, token: str | None, *, split: bool, verbose: bool,
    locked: Path | None, direct: Sequence[str] = (), is_for_many: bool = False,
) -> Callable[..., Gateway]:  # fmt: skip
    """Makes the gateway once an event loop runs. Warns of problems that stop nothing, and raises as `run` does. The
    tokens of many clients are looked at as they come."""
    file = ConfigFile(paths, project, direct)
    config = file.read()
    State.check(paths)
    in_force.check(paths, config, toolset)
    if config.has_policy:
        with PolicyFile.connect(paths) as decided:
            decided.look_through()  # what cannot be looked up cannot be kept to
            if config.policy.enforces:
                _say_what_is_hidden(config, token, decided, is_for_many=is_for_many)
    for problem in config.problems.values():
        warn(f"{problem}; this server is skipped")
    exposure.guard(paths, config)
    pins = None
    if locked:
        from mcpctl.catalog import lock_file  # most have none

        pins = lock_file.read(locked).pins
    return partial(Gateway, config, paths, toolset=toolset, split=split, verbose=verbose, followed=file, locked=pins)


def _say_what_is_hidden(config: Config, token: str | None, decided: PolicyFile, *, is_for_many: bool) -> None:
    hidden = [name for name in config.enabled if name in config.members]
    if config.project is None and hidden:
        by_token = "a token for one project, " if is_for_many else ""
        named = f"{by_token}or the project in a request's _meta.projectId"
        warn(f"seen only with --project, {named}: {', '.join(hidden)}")
    if is_for_many:
        return
    if token is None:
        if config.policy.table.require_token:
            warn("no token, so nothing is found or called but by requests with one; give one in MCPCTL_TOKEN")
    elif tokens.identified(token, tokens.every(decided), time.time()) is None:
        warn("the token is not valid: nothing is found or called with it; see: mcpctl tokens ls")


def _stdout_alone() -> int:
    """A descriptor for the protocol alone: everything else that would be printed there goes to stderr."""
    if sys.stdin is None:
        os.open(os.devnull, os.O_RDONLY)  # closed by whoever started us: whatever is opened next would take its place
    elif sys.stdin.isatty():
        warn("serving on this terminal: an MCP client is meant to start this and speak JSON-RPC; end it with Ctrl-D")
    stdout = os.dup(1)
    os.dup2(2, 1)
    return stdout


def tell(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Report in one line an error that nobody waits for; in full only with MCPCTL_DEBUG."""
    warn(f"internal error: {context.get('exception') or context['message']!r}")
    if os.environ.get("MCPCTL_DEBUG"):
        loop.default_exception_handler(context)


# ---- the client


async def serve(
    made: Callable[[], Gateway], offer: Offer, ending: asyncio.Event, *, stdin: int, stdout: int,
    token: str | None = None, on_ending: Callable[[], None] = lambda: None,
) -> None:  # fmt: skip
    """Serve one client until it goes or `ending` is set; then nothing is left, and `stdout` is closed. `token` is for
    requests without one."""
    gateway = made()
    readers = gateway.turn.of_client(gateway.upstreams.readers)
    writer = Writer(stdout, gateway.turn, ending.set, inherited=True, holds=readers)
    session = ClientSession(gateway, writer, speaker(token), parents=posix.parents)
    protocol = ClientProtocol(session, writer, offer)
    # The first answer says what is kept of servers, but does not wait for another process that has the database.
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_OPENING_S):
            await gateway.current()
    reader = MessageReader(
        stdin, readers, on_message=protocol.message, on_malformed=protocol.malformed, decoded=protocol.decoded,
        on_other=protocol.not_a_message, on_end=ending.set, on_too_long=protocol.too_long,
    )  # fmt: skip
    loop = asyncio.get_running_loop()
    watching = asyncio.create_task(_watch_for_hang_up(stdin, readers, writer, ending))
    await ending.wait()
    on_ending()
    began, taken = loop.time(), writer.taken
    watching.cancel()
    reader.close()  # what it would start, nobody would end
    await session.settle(_GRACE_S)
    await gateway.stop(session.close(began + LAST_ANSWER_S), began + LAST_ANSWER_S)
    # One that takes nothing has gone, or never reads.
    while writer.pending and loop.time() < began + (_LAST_S if writer.taken > taken else _UNREAD_S):
        await asyncio.sleep(_LOOK_S)
    writer.close()
    readers.close()


async def _watch_for_hang_up(stdin: int, readers: Readers, writer: Writer, ending: asyncio.Event) -> None:
    """End when the client is gone without reading its answers: a full pipe hides its hang-up."""
    poll = select.poll()
    poll.register(stdin, 0)
    while True:
        await readers.held()
        pending = writer.pending
        await asyncio.sleep(_HANG_UP_S)
        if writer.pending == pending and pending > bounds.UNREAD and poll.poll(0):
            ending.set()
            return


# ---- stderr


class Stderr(io.TextIOBase):
    """Takes text at once, and has a thread write it line by line. Lines that find no room are only counted."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._changed = threading.Condition()
        self._lines: deque[str] = deque()
        self._begun = ""
        self._waiting = 0
        self._left_out = 0
        self._thread: threading.Thread | None = None

    def write(self, text: str) -> int:
        """Keep whole lines for the thread; a line that has no end yet waits for it."""
        with self._changed:
            *whole, self._begun = (self._begun + text).split("\n")
            if len(self._begun) > _MAX_WAITING:
                whole, self._begun = [*whole, self._begun], ""
            for line in whole:
                if self._waiting + len(line) < _MAX_WAITING:
                    self._lines.append(line + "\n")
                    self._waiting += len(line) + 1
                else:
                    self._left_out += 1
            if self._lines and self._thread is None:
                self._thread = threading.Thread(target=self._write_all, name="stderr", daemon=True)
                self._thread.start()
            self._changed.notify_all()
        return len(text)

    def drain(self, seconds: float = 0.1) -> None:
        with self._changed:
            self._changed.wait_for(lambda: not self._waiting, seconds)

    def isatty(self) -> bool:
        return self._stream.isatty()

    def fileno(self) -> int:
        return self._stream.fileno()

    def _write_all(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._lines)
                text, left_out = "".join(self._lines), self._left_out
                self._lines.clear()
                self._left_out = 0
            taken = len(text)
            if left_out:
                text += f"mcpctl: {left_out} more lines were left out, since nobody read these\n"
            # Nobody is there, or nothing can be written: there is no other place to say so.
            with contextlib.suppress(OSError, ValueError):
                self._stream.write(text)
                self._stream.flush()
            with self._changed:
                self._waiting -= taken
                self._changed.notify_all()


@contextlib.contextmanager
def not_waited_for() -> Iterator[Stderr]:
    """Everything that this process prints goes to stderr, and is not waited for; at the end most briefly."""
    stderr = Stderr(sys.stderr)
    with contextlib.redirect_stdout(stderr), contextlib.redirect_stderr(stderr):
        try:
            yield stderr
        finally:
            stderr.drain()
