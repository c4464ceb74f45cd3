"""What servers list of prompts, resources and templates: held where it is to be, and made known to sessions."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from typing import Any

from mcpctl.catalog.features import Features
from mcpctl.catalog.known_features import KnownFeatures
from mcpctl.catalog.lists_in_memory import Listed
from mcpctl.config.config import Config
from mcpctl.proxy.from_servers import Listener
from mcpctl.proxy.held_tools import HeldTools
from mcpctl.proxy.memory import ServerMemory
from mcpctl.store.state import ListKey
from mcpctl.upstreams.upstream import Upstream
from mcpctl.wire.threads import beside

_LOAD_S = 0.25
"""How long requests wait at the start for what is kept: for all of it, but where there are many thousands."""


class ServerFeatures:
    """Takes lists of features from connections, and from what is kept of earlier ones."""

    def __init__(
        self, memory: ServerMemory, held: HeldTools, known: KnownFeatures, sessions: Sequence[Listener],
        background: Callable[[Coroutine[Any, Any, Any]], "asyncio.Task[Any]"], seen: Callable[[], Features],
    ) -> None:  # fmt: skip
        """`seen` gives what a person sees of them at this moment."""
        self._memory = memory
        self._held = held
        self._known = known
        self._sessions = sessions
        self._background = background
        self._seen = seen
        self._loading: asyncio.Task[None] | None = None

    async def follow(self, config: Config, upstreams: Mapping[str, Upstream]) -> None:
        """Have what is kept of these servers known, and what can be seen since now listed where one is connected."""
        self._loading = self._background(self._load(config, upstreams))
        await asyncio.wait({self._loading}, timeout=_LOAD_S)

    async def loaded(self) -> None:
        """Return once what is kept is known."""
        if self._loading:
            await asyncio.wait({self._loading})

    async def _load(self, config: Config, upstreams: Mapping[str, Upstream]) -> None:
        await self._memory.load_features(config.fingerprints)
        await self._tell(config.fingerprints.items(), config)
        for name in {server for server, _ in self._known.unknown(config)}:
            if upstream := upstreams.get(name):
                upstream.list_features()

    async def put(self, of: ListKey, kept: Listed, config: Config) -> None:
        """Have known what a connection has listed just now."""
        await self._held.put(of, self._known.as_known(of, kept))
        await self._tell([of[:2]], config)

    async def _tell(self, pairs: Iterable[tuple[str, str]], config: Config) -> None:
        # What requests see of it is made aside: there may be thousands.
        await beside(self._known.make_ready, [*pairs], config)
        features = self._seen()
        await beside(lambda: (features.prompts, features.resources, features.templates))
        for session in self._sessions:
            session.lists_changed()
