"""What is made ready before it is needed: what servers list, where that is unknown or stale, and the search."""

import asyncio
from typing import TYPE_CHECKING

from mcpctl.callers import Caller

if TYPE_CHECKING:
    from mcpctl.proxy.gateway import Gateway


class Warming:
    """Makes it ready in the background, once somebody is there who will need it."""

    def __init__(self, gateway: "Gateway") -> None:
        self._gateway = gateway
        self._first_look: asyncio.Task[None] | None = None

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
        unknown = (server for server, _ in gateway.known_features.unknown(view.config))
        if due := list(dict.fromkeys((*gateway.catalog(view).due(), *unknown))):
            gateway.background(gateway.refresh(due, caller))
        await ready

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
