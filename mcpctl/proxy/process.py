"""`mcpctl serve` as a process: its streams, its event loop, its end."""

import asyncio
import gc
import os
import signal
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from mcpctl import exposure
from mcpctl.catalog import lock_file
from mcpctl.config import Config
from mcpctl.errors import warn
from mcpctl.paths import Paths
from mcpctl.proxy.config_file import ConfigFile
from mcpctl.proxy.stderr import not_waited_for
from mcpctl.store.policy_file import PolicyFile
from mcpctl.store.state import State
from mcpctl.toolsets import in_force

_LAST_S = 1.6
"""After its end has begun the process is there for so long at most: in 1.8 s nothing is left, it is promised."""


def run(
    paths: Paths,
    *,
    project: str | None,
    toolset: str | None,
    split: bool,
    annotate: bool,
    verbose: bool = False,
    locked: Path | None = None,
) -> None:
    """Serve the client on stdin and stdout, then end the process with status 0.

    Raises `McpctlError` before it begins where the configuration, or the project, toolset or lock file that was named,
    cannot be used.
    """
    with not_waited_for() as stderr:
        file = ConfigFile(paths, project)
        config = checked(paths, file, toolset)
        pins = lock_file.read(locked).pins if locked else None
        stdout = _stdout_alone()
        from mcpctl.proxy.metatools import Offer
        from mcpctl.proxy.stdio_client import serve

        # Work in threads hands over to the calls after this long, not after five times of it.
        sys.setswitchinterval(0.001)
        # What is loaded now lives as long as the process; the collector need not look at it again.
        gc.freeze()

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
                config, paths, ending=ending, stdin=0, stdout=stdout, toolset=toolset, offer=Offer(split, annotate),
                verbose=verbose, followed=file, locked=pins, on_ending=partial(_soon, end),
            )  # fmt: skip
            end()

        asyncio.run(served())


def checked(paths: Paths, file: ConfigFile, toolset: str | None) -> Config:
    """The configuration to serve; what is wrong with it but stops nothing is said. Raises as `run` does."""
    config = file.read()
    State.check(paths)
    in_force.check(paths, config, toolset)
    if config.policy.is_on:
        PolicyFile.connect(paths).close()  # what cannot be looked up cannot be kept to
    for problem in config.problems.values():
        warn(f"{problem}; this server is skipped")
    exposure.guard(paths, config)
    return config


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
