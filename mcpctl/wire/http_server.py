"""Serving HTTP: sockets, the server on them, and the checks of Host and Origin. With uvicorn, which only the commands
that serve HTTP load."""

import asyncio
import contextlib
import os
import socket
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import uvicorn

from mcpctl.base import bounds
from mcpctl.base.errors import Unusable
from mcpctl.wire import http_connection
from mcpctl.wire.http_connection import HttpConnection

LOOPBACK = ("127.0.0.1", "localhost", "::1")
_WAITING = 1024  # connections that wait in the kernel until they are accepted


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
    made = socket.create_server((address, port), family=family, backlog=_WAITING)
    # With its protocol given, asyncio sends answers without waiting for an acknowledgement, 40 ms each.
    return socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP, fileno=made.detach())


def settings(app: Any, connection: type[HttpConnection], *, idle_s: int = 5) -> uvicorn.Config:
    """Settings for a server of `app`, whose connections may be idle between two requests for so long."""
    return uvicorn.Config(
        app, http=connection, loop="asyncio", ws="none", log_config=None, log_level="critical",
        access_log=False, proxy_headers=False, server_header=False, date_header=False,
        timeout_keep_alive=idle_s, backlog=bounds.ACCEPTED,
    )  # fmt: skip


class HttpServer(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield  # our own handlers wait for nothing

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for each in sockets or ():
            each.listen(_WAITING)  # which was as few as are accepted at once

    async def on_tick(self, counter: int) -> bool:
        http_connection.look(asyncio.get_running_loop().time())
        return await super().on_tick(counter)


def is_for(hosts: Sequence[str], ours: Collection[str]) -> bool:
    """Whether a request is for one of our hosts, by its only Host."""
    return len(hosts) == 1 and hosts[0] in ours


def is_from(origins: Sequence[str], allowed: Collection[str]) -> bool:
    """Whether no page of another origin has caused it."""
    return all(origin in allowed for origin in origins)
