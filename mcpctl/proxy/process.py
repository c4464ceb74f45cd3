"""`mcpctl serve` as a process: its streams, its event loop, its end."""

import asyncio
import gc
import os
import sys

from mcpctl import config, exposure
from mcpctl.errors import warn
from mcpctl.paths import Paths
from mcpctl.toolsets import in_force


def run(
    paths: Paths, *, project: str | None, toolset: str | None, split: bool, annotate: bool, verbose: bool = False
) -> None:
    """Serve the client on stdin and stdout, then end the process with status 0.

    Raises `McpctlError` before it begins where the configuration, or the project or toolset that was named, cannot be
    used.
    """
    loaded = config.load(paths.config, project)
    in_force.check(paths, loaded, toolset)
    for problem in loaded.problems.values():
        warn(f"{problem}; this server is skipped")
    exposure.guard(paths, loaded)
    if sys.stdin is None:
        # Closed by whoever started us: whatever is opened next would take its place.
        os.open(os.devnull, os.O_RDONLY)
    elif sys.stdin.isatty():
        warn("serving on this terminal: an MCP client is meant to start this and speak JSON-RPC; end it with Ctrl-D")
    # stdout carries protocol and nothing else: whatever else would print there goes to stderr.
    stdout = os.dup(1)
    os.dup2(2, 1)
    from mcpctl.proxy.metatools import Offer
    from mcpctl.proxy.server import serve

    # What is loaded now lives as long as the process; the collector need not look at it again.
    gc.freeze()

    async def served() -> None:
        offer = Offer(split, annotate)
        await serve(loaded, paths, stdin=0, stdout=stdout, toolset=toolset, offer=offer, verbose=verbose)
        sys.stderr.flush()
        # What still runs in a thread is nobody's any more; the loop would wait for it, and break the promised 1.8 s.
        os._exit(0)

    asyncio.run(served())
