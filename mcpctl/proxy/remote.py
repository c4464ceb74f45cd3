"""A server at a URL, spoken to through the MCP SDK's transports: Streamable HTTP, or the older SSE.

The SDK is imported in a thread when the first such server is wanted: that takes a second, in which other servers' calls
go on.
"""

import asyncio
import contextlib
import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from mcpctl.config import Endpoint, Server, credentials
from mcpctl.proxy import jsonrpc
from mcpctl.proxy.connection import Connection, Exchange

if TYPE_CHECKING:
    from mcpctl.proxy import http

_CLOSE_S = 0.4


@dataclass(frozen=True, slots=True)
class Trouble:
    """An HTTP request that brought no message, and what came of it."""

    kind: Literal["unreachable", "no_session", "refused", "failed", "lost"]
    """`unreachable` and `no_session`: the server has not taken it. `refused`: it wants other credentials."""
    words: str
    id: int | None = None
    """The JSON-RPC request that it carried, if it carried one."""


class Remote(Connection):
    """A connection over HTTP. It is made when it is first written to, and ends when the server forgets it."""

    def __init__(
        self,
        server: Server,
        where: Endpoint,
        on_message: Callable[[Connection, jsonrpc.Message], None],
        on_gone: Callable[[Connection], None],
    ) -> None:
        super().__init__(on_message, on_gone)
        self._server = server
        self._where = where
        self._why = ""
        self._has_answered = False
        self._outgoing: asyncio.Queue[tuple[bytes, Exchange | None]] = asyncio.Queue()
        self._closing = asyncio.Event()
        self._task = self._loop.create_task(self._run(), name="remote")

    @property
    def is_over(self) -> bool:
        """Whether its HTTP connections are closed."""
        return self.gone.is_set()

    @property
    def last_words(self) -> str:
        """What went wrong lately."""
        return self._why

    def how_it_ended(self) -> str:
        """Why it is gone."""
        return self._why or "the server closed the connection"

    def write(self, line: bytes, exchange: Exchange | None = None) -> None:
        """Send a message."""
        self._outgoing.put_nowait((line, exchange))

    async def stop(self) -> None:
        """End it: the session is deleted at the server, if it answers soon."""
        self._closing.set()
        done, _ = await asyncio.wait([self._task], timeout=_CLOSE_S)
        if not done:
            self._task.cancel()
            await asyncio.wait([self._task], timeout=_CLOSE_S)

    async def _run(self) -> None:
        try:
            await asyncio.to_thread(importlib.import_module, "mcpctl.proxy.http")
            from mcpctl.proxy import http

            async with http.connected(self._where, self._trouble) as streams:
                await self._exchange_messages(streams)
        except asyncio.CancelledError:
            self._why = self._why or "it was stopped"
        except Exception as error:
            self._why = self._why or http.in_words(error)
        finally:
            self._is_gone(f"{'the connection was lost: ' if self._has_answered else ''}{self.how_it_ended()}")

    async def _exchange_messages(self, streams: "http.Streams") -> None:
        tasks = [
            asyncio.create_task(work)
            for work in (self._send_all(streams), self._receive_all(streams), self._closing.wait())
        ]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _send_all(self, streams: "http.Streams") -> None:
        while True:
            line, exchange = await self._outgoing.get()
            try:
                await streams.send(line, exchange, self.revision, modern=self.modern)
            except ValueError as error:
                if exchange and self.pending.pop(exchange.id, None):
                    exchange.failed("cannot_send", f"this request cannot be sent over HTTP: {error}")

    async def _receive_all(self, streams: "http.Streams") -> None:
        async for message in streams.messages():
            with contextlib.suppress(Exception):  # who waits for it has been told
                if isinstance(message, Trouble):
                    self._trouble(message)
                else:
                    self._has_answered = True
                    self._received(message)

    def _trouble(self, trouble: Trouble) -> None:
        """A request failed below JSON-RPC: whoever waits for it is told, or it is sent on a new connection."""
        exchange = self.pending.pop(trouble.id, None) if trouble.id is not None else None
        words = f"{trouble.words}{credentials(self._server)}" if trouble.kind == "refused" else trouble.words
        if exchange is None:
            self._why = words
        if trouble.kind in ("unreachable", "no_session"):
            self._why = words
            self._hang_up()
            if exchange and exchange.on_not_taken:
                exchange.on_not_taken(exchange)
                return
        if exchange:
            code = {"refused": "unauthorized", "lost": "server_died"}.get(trouble.kind, trouble.kind)
            exchange.failed(code, words)

    def _hang_up(self) -> None:
        if not self.hung_up:
            self.hung_up = True
            self._on_gone(self)
            self._closing.set()
