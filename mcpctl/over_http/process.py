"""`mcpctl serve --http` as a process: its sockets, its event loop, its end."""

import asyncio
import contextlib
import gc
import os
import signal
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from mcpctl.base import bounds, posix
from mcpctl.base.errors import WrongUsage, warn
from mcpctl.base.paths import Paths, cannot_write
from mcpctl.config.config import load
from mcpctl.metatools.offers import Offer
from mcpctl.over_http.front import Front
from mcpctl.over_http.listening import Address
from mcpctl.policy.tokens import own_token
from mcpctl.proxy.gateway import Gateway
from mcpctl.proxy.process import gateway_for, not_waited_for, tell
from mcpctl.store.run import Run
from mcpctl.wire import http_server
from mcpctl.wire.http_connection import HttpConnection

_OPENING_S = 5.0
_CONNECTIONS = 0.7  # of the files that it may have open; the rest is for servers and journals
_END_S = 2.0


def run(
    paths: Paths, where: Address, *, project: str | None, toolset: str | None = None, token_file: Path | None = None,
    split: bool = False, annotate: bool = False, verbose: bool = False, locked: Path | None = None,
    direct: Sequence[str] = (),
) -> None:  # fmt: skip
    """Serve until a signal, then end the process with status 0. Raises `McpctlError` before it begins."""
    with not_waited_for() as stderr:
        check(paths, where, token_file)
        token = own_token(token_file) if token_file else None
        posix.raise_descriptors()
        made = gateway_for(
            paths, project, toolset, token, split=split, verbose=verbose, locked=locked, direct=direct,
            is_for_many=True,
        )  # fmt: skip
        sockets = where.listen()
        port = sockets[0].getsockname()[1]
        try:
            held = Run(paths)
        except OSError as error:
            raise cannot_write(paths.runs, error) from error
        if not where.is_loopback:
            held.listens(f"{where.host}:{port}")
        gateway = partial(made, most_processes=bounds.PROCESSES, run=held)
        HttpConnection.most = max(50, int(posix.most_descriptors() * _CONNECTIONS) - 4 * bounds.ACCEPTED)
        sys.setswitchinterval(0.001)
        gc.freeze()
        gc.set_threshold(5000)  # hundreds of requests that are in flight are no garbage

        async def served() -> None:
            loop, ending, at_once = asyncio.get_running_loop(), asyncio.Event(), asyncio.Event()
            loop.set_exception_handler(tell)

            def end() -> None:
                (at_once if ending.is_set() else ending).set()

            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                loop.add_signal_handler(number, end)
            ours = where.hosts(port)

            def listening(front: Front) -> "asyncio.Task[None]":
                server = http_server.HttpServer(http_server.settings(front, HttpConnection, idle_s=bounds.IDLE_S))
                return asyncio.create_task(server.serve(sockets))

            await serve(gateway, Offer(split, annotate), ours, listening, ending, at_once, token=token,
                        is_open=not where.is_loopback,
                        on_listening=lambda path: warn(f"serving on {where.url(path, port)}"))  # fmt: skip
            held.close()
            stderr.drain()
            os._exit(0)  # threads that still run would be waited for

        asyncio.run(served())


def check(paths: Paths, where: Address, token_file: Path | None) -> None:
    """Raises `WrongUsage` for what is only safe on this machine."""
    if where.is_loopback:
        return
    settings = load(paths.config).http
    if not settings.require_token:
        message = f"[http] require_token = false is for this machine alone, and {where.host} is not"
        raise WrongUsage(message, "remove it, and make a token for each person: mcpctl tokens create --name NAME")
    if token_file:
        message = f"--token-file gives its token to everybody who asks, and {where.host} is not this machine alone"
        raise WrongUsage(message, "give each person a token of their own: mcpctl tokens create --name NAME")


async def serve(
    made: Callable[[], Gateway], offer: Offer, hosts: Sequence[str], listen: "Callable[[Front], asyncio.Task[None]]",
    ending: asyncio.Event, at_once: asyncio.Event, *, token: str | None = None, is_open: bool = False,
    on_listening: Callable[[str], None] = lambda path: None,
) -> None:  # fmt: skip
    """Serve until `ending` is set, and what is in flight for as long as `[http] drain_s` says, or until `at_once`."""
    gateway = made()
    loop = asyncio.get_running_loop()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_OPENING_S):
            await gateway.current()
    front = Front(gateway, offer, hosts, token, is_open=is_open)
    keeping = asyncio.create_task(front.keep())
    listening = listen(front)
    on_listening(gateway.config.http.path)
    await ending.wait()
    draining = asyncio.create_task(front.drain(gateway.config.http.drain_s))
    hurried = asyncio.create_task(at_once.wait())
    await asyncio.wait({draining, hurried}, return_when=asyncio.FIRST_COMPLETED)
    if not draining.done():
        draining.cancel()
        await front.drain(0)
    hurried.cancel()
    keeping.cancel()
    last = loop.time() + _END_S
    await gateway.stop(front.close(last), last)
    listening.cancel()
    await asyncio.wait({listening}, timeout=_END_S)
