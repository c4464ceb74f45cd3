"""Scenes whose clients speak over HTTP: `World` and its clients, with what `serve --http` is between the two."""

import asyncio
from collections.abc import Mapping
from typing import Any

from mcpctl.base.callers import MODERN_REVISION, Caller
from mcpctl.metatools.offers import Offer
from mcpctl.over_http.admission import Guest
from mcpctl.over_http.front import Front
from mcpctl.over_http.http_exchange import HttpExchange
from mcpctl.proxy.gateway import Gateway
from mcpctl.proxy.session import ClientSession
from mcpctl.store.run import Run
from tests.proxy.in_memory import MemoryClient, World
from tests.proxy.over_http import HOST, MANY_AT_ONCE, Bridge


class HttpClient(MemoryClient):
    """A client in memory whose messages are posted."""

    def __init__(self, front: Front, address: str, *given: Any) -> None:
        self._front = front
        self._bridge = Bridge(front, self, address)
        super().__init__(*given)

    def _connect(self, gateway: Gateway, offer: Offer, speaker: Caller, of: MemoryClient | None) -> None:
        assert of is None, "each POST is a part of a session anyway"

    @property
    def session(self) -> ClientSession:  # type: ignore[override]
        """Its session on record."""
        if self.revision == MODERN_REVISION:
            return self._front.newer.sessions[-1]
        return self._front.older._sessions[self._bridge.session_id].session

    def write(self, *pieces: bytes | memoryview) -> None:
        """Take what has come."""
        self._queue.append(b"".join(map(bytes, pieces)))
        self.flush()

    def _take(self, line: bytes) -> None:
        self._bridge.take(line)

    async def delivered(self) -> None:
        """Return when what was sent without an answer has come."""
        await asyncio.gather(*self._bridge.unanswered)

    async def open(self) -> None:
        """Begin as a client of its revision does, and listen."""
        await super().open()
        if self.revision != MODERN_REVISION:
            self.send(method="notifications/initialized")
            await self._bridge.is_listening.wait()

    async def end(self) -> None:
        """Wait for what goes on."""
        await self._bridge.end()


class HttpWorld(World):
    """A gateway on a home, with servers in memory, and its clients over HTTP."""

    front: Front
    _run: Run | None = None

    def configure(self, servers: Mapping[str, Mapping[str, Any]] | None = None, **sections: Any) -> None:
        """Write config.toml; a client may have more requests in flight than by default."""
        super().configure(servers, **sections, http=MANY_AT_ONCE)

    def begin(self, *, token: str | None = None, **more: Any) -> None:
        """Start what is configured, as `serve --http` does."""
        self._run = Run(self.paths)
        super().begin(token=token, **{"run": self._run, "most_processes": 100, **more})
        self.front = Front(self.gateway, self.offer, [HOST])
        self._tokens: dict[str, str | None] = {}
        self.front.admission.guest = self._guest  # type: ignore[method-assign]

    def _guest(self, http: HttpExchange, **more: Any) -> Guest:
        """As on stdio, nobody has to have a token, and each client may have one for all of its requests."""
        token = self._tokens[http.address]
        return Guest(token, False, token or http.address)

    def _client(
        self, revision: str, capabilities: Mapping[str, Any] | None, speaker: Caller, of: MemoryClient | None
    ) -> MemoryClient:
        number = len(self._tokens) + 1
        address = f"127.0.0.{number}"
        self._tokens[address] = speaker.claims.token
        client = HttpClient(self.front, address, self.gateway, self.offer, revision, capabilities, speaker, of)
        if number > 1:  # newer clients without a token are one session where they have the same name and version
            client.info = {**client.info, "version": f"0.{number}"}
        return client

    async def end(self) -> None:
        """End all of it."""
        if self._run is None:
            await super().end()
            return
        last = asyncio.get_running_loop().time()
        for client in self.clients:
            await client.delivered()
        await self.front.drain(0)
        for client in self.clients:
            assert isinstance(client, HttpClient)
            await client.end()
        await self.gateway.stop(self.front.close(last), last)
        self._run.close()
