"""What is made ready before it is needed: what servers list, where that is unknown or stale, and the search."""

import asyncio
import contextlib

from mcpctl.base.callers import Caller
from mcpctl.base.failure import Failed
from mcpctl.proxy.gateway import Gateway

_AT_ONCE = 4


class Warming:
    """Makes it ready for one client in the background, once there is one who will need it."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._first_look: asyncio.Task[None] | None = None
        self._connecting = asyncio.Semaphore(_AT_ONCE)

    def warm_up(self, caller: Caller) -> None:
        """In the background: have the servers that it sees list what is unknown or stale, and make search ready."""
        self._gateway.background(self._warmed_up(caller))

    async def _warmed_up(self, caller: Caller) -> None:
        gateway = self._gateway
        await gateway.current()
        view = gateway.view(caller)
        ready = gateway.background(gateway.searching.make_ready(view))
        await self.first_look()
        await gateway.server_features.loaded()
        due = gateway.catalog(view).due()
        if due:
            gateway.background(gateway.refresh(due, caller))
        unknown = {server for server, _ in gateway.known_features.unknown(view.config)}
        for name in sorted(unknown.difference(due)):
            gateway.background(self._connect(name, caller))
        await ready

    async def _connect(self, name: str, caller: Caller) -> None:
        """Have a server connected: it then lists all that it has, once, and its tools are known as it is."""
        async with self._connecting:
            if upstream := self._gateway.upstreams.get(name):
                with contextlib.suppress(Failed):  # which is on record for those who ask for it
                    await upstream.connected(caller)

    async def first_look(self) -> None:
        """Once, before a server is asked for its list: where none is known, a first search waits for each."""
        if self._first_look is None:
            self._first_look = self._gateway.background(self._note_unlisted())
        await asyncio.shield(self._first_look)

    async def _note_unlisted(self) -> None:
        gateway = self._gateway
        unlisted = await gateway.searching.unlisted(gateway.view(None))
        if len(unlisted) == len(gateway.upstreams):
            gateway.added.update(unlisted)
