"""What servers list of prompts, resources and templates: held where it is to be, and made known to sessions."""

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING

from mcpctl.catalog.lists import Listed
from mcpctl.config import Config
from mcpctl.store.state import ListKey

if TYPE_CHECKING:
    from mcpctl.proxy.gateway import Gateway

_LOAD_S = 0.25
"""How long requests wait at the start for what is kept: for all of it, but where there are many thousands."""


class ServerFeatures:
    """Takes lists of features from connections, and from what is kept of earlier ones."""

    def __init__(self, gateway: "Gateway") -> None:
        self._gateway = gateway
        self._loading: asyncio.Task[None] | None = None

    async def follow(self, config: Config) -> None:
        """Have what is kept of these servers known, and what can be seen since now listed where one is connected."""
        self._loading = self._gateway.background(self._load(config))
        await asyncio.wait({self._loading}, timeout=_LOAD_S)

    async def loaded(self) -> None:
        """Return once what is kept is known."""
        if self._loading:
            await asyncio.wait({self._loading})

    async def _load(self, config: Config) -> None:
        await self._gateway.memory.load_features(config.fingerprints)
        await self._tell(config.fingerprints.items())
        for name in {server for server, _ in self._gateway.known_features.unknown(config)}:
            if upstream := self._gateway.upstreams.get(name):
                upstream.list_features()

    async def put(self, of: ListKey, kept: Listed) -> None:
        """Have known what a connection has listed just now."""
        gateway = self._gateway
        await gateway.held.put(of, gateway.known_features.as_known(of, kept))
        await self._tell([of[:2]])

    async def _tell(self, pairs: Iterable[tuple[str, str]]) -> None:
        # What requests see of it is made aside: there may be thousands.
        gateway = self._gateway
        await asyncio.to_thread(gateway.known_features.make_ready, [*pairs], gateway.config)
        features = gateway.features(gateway.view(None))
        await asyncio.to_thread(lambda: (features.prompts, features.resources, features.templates))
        for session in gateway.sessions:
            session.lists_changed()
