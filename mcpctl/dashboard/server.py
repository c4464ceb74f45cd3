"""The dashboard as a process: its sockets, its connections, its end."""

import asyncio
import contextlib
import gc
import os
import signal
import socket
from collections.abc import Callable, Iterator
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from mcpctl.base.errors import Unusable
from mcpctl.base.paths import Paths
from mcpctl.dashboard.app import guarded
from mcpctl.dashboard.dashboard import Dashboard
from mcpctl.dashboard.running import Claim, Logins, Running

_MOST_CONNECTIONS = 100
_HEAD_S = 10  # seconds in which a connection has to send the head of its next request
_UNREAD_S = 300  # seconds for which an answer waits for a client that does not read it: connections are few
_MOST_HEAD = 1 << 15


def serve(
    paths: Paths, claim: Claim, port: int | None, *, read_only: bool, on_listening: Callable[[Running], None]
) -> None:
    """Serve until a signal ends it, with status 0, at the last port or any; raises `Unusable` if it is taken."""
    listening = _listening(port, claim.last_port)
    here = claim.publish(listening[0].getsockname()[1], read_only=read_only)
    dashboard = Dashboard(paths, here.port, read_only, Logins(here.secret))
    settings = uvicorn.Config(
        guarded(dashboard), http=_Connection, loop="asyncio", ws="none", log_config=None, log_level="critical",
        access_log=False, proxy_headers=False, server_header=False, date_header=False,
        h11_max_incomplete_event_size=_MOST_HEAD,
    )  # fmt: skip

    gc.set_threshold(700)  # it goes on for days

    def end() -> None:
        claim.end(here.port)
        os._exit(0)  # a stream that is open, or a query in a thread, would be waited for

    async def served() -> None:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            asyncio.get_running_loop().add_signal_handler(number, end)
        on_listening(here)
        await _Server(settings).serve(listening)

    asyncio.run(served())


def _listening(port: int | None, last: int) -> list[socket.socket]:
    for candidate in (last, 0) if port is None else (port,):
        try:
            four = _socket(socket.AF_INET, "127.0.0.1", candidate)
        except OSError as error:
            problem = os.strerror(error.errno or 0)
            continue
        with contextlib.suppress(OSError):
            return [four, _socket(socket.AF_INET6, "::1", four.getsockname()[1])]
        return [four]
    hint = "choose another with --port, or leave it out: any free one is taken then"
    raise Unusable(f"cannot listen on {f'port {port}' if port else 'any port'}: {problem}", hint, "port_taken")


def _socket(family: socket.AddressFamily, address: str, port: int) -> socket.socket:
    made = socket.create_server((address, port), family=family)
    # With its protocol given, asyncio sends answers without waiting for an acknowledgement, 40 ms each.
    return socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP, fileno=made.detach())


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield  # our own handlers wait for nothing


class _Connection(H11Protocol):
    """A connection that has to send each request, and to read each answer, in time."""

    _late: asyncio.TimerHandle | None = None
    _unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._await_request()
        if len(self.connections) > _MOST_CONNECTIONS:
            transport.abort()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.cycle and not self.cycle.response_complete:
            _cancel(self._late)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._await_request()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        _cancel(self._late)
        _cancel(self._unread)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._unread = self.loop.call_later(_UNREAD_S, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        _cancel(self._unread)

    def _await_request(self) -> None:
        _cancel(self._late)
        self._late = self.loop.call_later(_HEAD_S, self.transport.abort)


def _cancel(timer: asyncio.TimerHandle | None) -> None:
    if timer:
        timer.cancel()
