"""`mcpctl serve` as a process: its streams, its event loop, its end."""

import asyncio
import contextlib
import gc
import io
import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, TextIO

from mcpctl.base.errors import warn
from mcpctl.base.paths import Paths
from mcpctl.config import exposure
from mcpctl.config.config import Config
from mcpctl.policy import tokens
from mcpctl.policy.holding import Locked
from mcpctl.policy.policy_file import PolicyFile
from mcpctl.policy.tokens import own_token
from mcpctl.proxy.config_file import ConfigFile
from mcpctl.store.state import State
from mcpctl.toolsets import in_force

_MAX_WAITING = 1 << 18
"""Characters that wait to be read before more is left out."""
_DRAIN_S = 0.1


class Stderr(io.TextIOBase):
    """Takes text at once and has a thread write it to `stream`, line by line. What finds no room is only counted."""

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
                self._take(line + "\n")
            if self._lines and self._thread is None:
                self._thread = threading.Thread(target=self._write_all, name="stderr", daemon=True)
                self._thread.start()
            self._changed.notify_all()
        return len(text)

    def drain(self, seconds: float = _DRAIN_S) -> None:
        """Wait until all is written, that long at most."""
        with self._changed:
            self._changed.wait_for(lambda: not self._waiting, seconds)

    def isatty(self) -> bool:
        """Whether a person reads it."""
        return self._stream.isatty()

    def fileno(self) -> int:
        """The descriptor that is written to in the end."""
        return self._stream.fileno()

    def _take(self, line: str) -> None:
        if self._waiting + len(line) > _MAX_WAITING:
            self._left_out += 1
            return
        self._lines.append(line)
        self._waiting += len(line)

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
    """Whatever this process prints goes to stderr, and is not waited for; at the end most briefly."""
    kept = sys.stdout, sys.stderr
    stderr = Stderr(sys.stderr)
    sys.stdout = sys.stderr = stderr
    try:
        yield stderr
    finally:
        stderr.drain()
        sys.stdout, sys.stderr = kept


_LAST_S = 1.6
"""After its end has begun the process is there for so long at most: in 1.8 s nothing is left, it is promised."""


def run(
    paths: Paths,
    *,
    project: str | None,
    toolset: str | None = None,
    token_file: Path | None = None,
    split: bool = False,
    annotate: bool = False,
    verbose: bool = False,
    locked: Path | None = None,
) -> None:
    """Serve the client on stdin and stdout, then end the process with status 0.

    Raises `McpctlError` before it begins where the configuration, or the project, toolset, token or lock file that was
    cannot be used.
    """
    with not_waited_for() as stderr:
        file = ConfigFile(paths, project)
        token = own_token(token_file)
        config = checked(paths, file, toolset, token)
        pins = _locked(locked) if locked else None
        stdout = _stdout_alone()
        from mcpctl.metatools.offers import Offer
        from mcpctl.proxy.stdio_client import serve

        # Work in threads hands over to the calls after this long, not after five times of it.
        sys.setswitchinterval(0.001)
        # What is loaded now lives as long as the process; the collector need not look at it again.
        gc.freeze()
        gc.set_threshold(700)

        def end() -> None:
            stderr.drain()
            # What still runs in a thread is nobody's any more; the loop would wait for it, and break the promise.
            os._exit(0)

        async def served() -> None:
            loop, ending = asyncio.get_running_loop(), asyncio.Event()
            loop.set_exception_handler(tell)
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                loop.add_signal_handler(number, ending.set)
            await serve(
                config, paths, ending=ending, stdin=0, stdout=stdout, toolset=toolset, token=token,
                offer=Offer(split, annotate), verbose=verbose, followed=file, locked=pins,
                on_ending=partial(_soon, end),
            )  # fmt: skip
            end()

        asyncio.run(served())


def _locked(file: Path) -> Locked:
    from mcpctl.catalog import lock_file  # most have none

    return lock_file.read(file).pins


def checked(paths: Paths, file: ConfigFile, toolset: str | None, token: str | None = None) -> Config:
    """The configuration to serve; what is wrong with it, or with the token, but stops nothing is said. Raises as `run`
    does."""
    config = file.read()
    State.check(paths)
    in_force.check(paths, config, toolset)
    if config.has_policy:
        with PolicyFile.connect(paths) as decided:
            decided.look_through()  # what cannot be looked up cannot be kept to
            if config.policy.enforces:
                _say_what_is_hidden(config, token, decided)
    for problem in config.problems.values():
        warn(f"{problem}; this server is skipped")
    exposure.guard(paths, config)
    return config


def _say_what_is_hidden(config: Config, token: str | None, decided: PolicyFile) -> None:
    """Warn where the policy lets requests see less than a person may expect."""
    hidden = [name for name in config.enabled if name in config.members]
    if config.project is None and hidden:
        names = ", ".join(hidden)
        warn(f"seen only with --project, or the project in a request's _meta.projectId: {names}")
    if token is None:
        if config.policy.table.require_token:
            warn("no token, so nothing is found or called but by requests with one; give one in MCPCTL_TOKEN")
    elif tokens.identified(token, tokens.every(decided), time.time()) is None:
        warn("the token is not valid: nothing is found or called with it; see: mcpctl tokens ls")


def _stdout_alone() -> int:
    """A descriptor for the protocol and nothing else: whatever else would be printed there goes to stderr."""
    if sys.stdin is None:
        # Closed by whoever started us: whatever is opened next would take its place.
        os.open(os.devnull, os.O_RDONLY)
    elif sys.stdin.isatty():
        warn("serving on this terminal: an MCP client is meant to start this and speak JSON-RPC; end it with Ctrl-D")
    stdout = os.dup(1)
    os.dup2(2, 1)
    return stdout


def _soon(end: Callable[[], None]) -> None:
    """End it in time, whatever the loop is held up by; servers that are left then are ended by their watcher."""
    last = threading.Timer(_LAST_S, end)
    last.daemon = True
    last.start()


def tell(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Say in one line what went wrong where nobody waits for it; in full only to who looks for it."""
    warn(f"internal error: {context.get('exception') or context['message']!r}")
    if os.environ.get("MCPCTL_DEBUG"):
        loop.default_exception_handler(context)
