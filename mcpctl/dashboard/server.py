"""The dashboard as a process: its socket, and its end."""

import asyncio
import gc
import os
import signal
from collections.abc import Callable

from mcpctl.base.paths import Paths
from mcpctl.dashboard.app import guarded
from mcpctl.dashboard.dashboard import Dashboard
from mcpctl.dashboard.running import Claim, Logins, Running
from mcpctl.store.records import Records
from mcpctl.wire import http_server
from mcpctl.wire.http_connection import HttpConnection


def serve(
    paths: Paths, claim: Claim, port: int | None, *, read_only: bool, store: Records | None,
    on_listening: Callable[[Running], None],
) -> None:  # fmt: skip
    """Serve until a signal ends it, with status 0, at the last port or any; raises `Unusable` if it is taken."""
    listening = http_server.loopback((claim.last_port, 0) if port is None else (port,))
    here = claim.publish(listening[0].getsockname()[1], read_only=read_only)
    dashboard = Dashboard(paths, here.port, read_only, Logins(here.secret), store=store)
    settings = http_server.settings(guarded(dashboard), HttpConnection)

    gc.set_threshold(700)  # it goes on for days

    def end() -> None:
        claim.end(here.port)
        os._exit(0)  # a stream that is open, or a query in a thread, would be waited for

    async def served() -> None:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            asyncio.get_running_loop().add_signal_handler(number, end)
        on_listening(here)
        await http_server.HttpServer(settings).serve(listening)

    asyncio.run(served())
