"""Serving HTTP: sockets, connections that have to keep to time, and the checks of Host and Origin. With uvicorn, which
only the commands that serve HTTP load."""

import asyncio
import contextlib
import os
import socket
from collections.abc import Collection, Iterator, Sequence
from typing import Any, ClassVar

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from mcpctl.base.errors import Unusable

LOOPBACK = ("127.0.0.1", "localhost", "::1")
_HEAD_S = 10  # seconds in which a connection has to send the head of a request
_MOST_HEAD = 1 << 15


def loopback(ports: Sequence[int]) -> list[socket.socket]:
    """Sockets on this machine alone, at the first of these ports that is free; raises `Unusable`."""
    for port in ports:
        try:
            four = listening("127.0.0.1", port)
        except OSError as error:
            problem = os.strerror(error.errno or 0)
            continue
        with contextlib.suppress(OSError):
            return [four, listening("::1", four.getsockname()[1])]
        return [four]
    hint = "choose another with --port, or leave it out: any free one is taken then"
    raise Unusable(f"cannot listen on {f'port {ports[0]}' if ports[0] else 'any port'}: {problem}", hint, "port_taken")


def listening(address: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    made = socket.create_server((address, port), family=family, backlog=1024)
    # With its protocol given, asyncio sends answers without waiting for an acknowledgement, 40 ms each.
    return socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP, fileno=made.detach())


def settings(app: Any, connection: "type[HttpConnection]", *, idle_s: int = 5) -> uvicorn.Config:
    """Settings for a server of `app`, whose connections may be idle between two requests for so long."""
    return uvicorn.Config(
        app, http=connection, loop="asyncio", ws="none", log_config=None, log_level="critical",
        access_log=False, proxy_headers=False, server_header=False, date_header=False,
        h11_max_incomplete_event_size=_MOST_HEAD, timeout_keep_alive=idle_s,
    )  # fmt: skip


class HttpServer(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield  # our own handlers wait for nothing


_waiting: "dict[HttpConnection, None]" = {}  # those of which no request has come yet


class HttpConnection(H11Protocol):
    """A connection that has to send each request, and to read each answer, in time."""

    most: ClassVar[int] = 100  # connections; beyond, the one ends that has waited longest without a request
    unread_s: ClassVar[float] = 300  # seconds for which an answer waits for a client that does not read it
    _late: asyncio.TimerHandle | None = None
    _unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._await_head()
        _waiting[self] = None
        if len(self.connections) > self.most:
            next(iter(_waiting)).transport.abort()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        is_served = self.cycle is not None and not self.cycle.response_complete
        if is_served:
            _waiting.pop(self, None)
        if is_served or (self.conn.their_state is not h11.SEND_BODY and not self.conn.trailing_data[0]):
            self._late = _cancelled(self._late)
        elif self._late is None:
            self._await_head()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._late = _cancelled(self._late)
        if self.conn.their_state is h11.SEND_BODY:  # a body that nobody wants any more
            self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        _waiting.pop(self, None)
        self._late, self._unread = _cancelled(self._late), _cancelled(self._unread)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._unread = self.loop.call_later(self.unread_s, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._unread = _cancelled(self._unread)

    def _await_head(self) -> None:
        self._late = self.loop.call_later(_HEAD_S, self.transport.abort)


def _cancelled(timer: asyncio.TimerHandle | None) -> asyncio.TimerHandle | None:
    if timer:
        timer.cancel()
    return None


def is_for(hosts: Sequence[str], ours: Collection[str]) -> bool:
    """Whether a request is for one of our hosts, by its only Host."""
    return len(hosts) == 1 and hosts[0] in ours


def is_from(origins: Sequence[str], allowed: Collection[str]) -> bool:
    """Whether no page of another origin has caused it."""
    return all(origin in allowed for origin in origins)
