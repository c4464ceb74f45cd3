"""What servers list of prompts, resources and templates, kept, held where it is to be, and made known to sessions."""

import asyncio
from collections.abc import Iterable, Sequence

from mcpctl.catalog.known_features import KnownFeatures
from mcpctl.catalog.lists import Listed
from mcpctl.config import Config
from mcpctl.proxy.from_servers import Listener
from mcpctl.proxy.held_tools import HeldTools
from mcpctl.proxy.server_memory import ServerMemory
from mcpctl.store.state import ListKey


class ServerFeatures:
    """Takes lists of features from connections, and from what is kept of earlier ones."""

    def __init__(
        self, known: KnownFeatures, memory: ServerMemory, held: HeldTools, sessions: Sequence[Listener]
    ) -> None:
        self._known = known
        self._memory = memory
        self._held = held
        self._sessions = sessions

    async def load(self, config: Config) -> None:
        """Have what is kept of these servers known."""
        await self._memory.load_features(config.fingerprints)
        await self._tell(config.fingerprints.items(), config)

    async def keep(self, of: ListKey, definitions: list[bytes], instructions: str) -> Listed:
        """Keep what a server has listed just now; none is as good a list as any."""
        return self._known.as_known(of, await self._memory.keep(of, definitions, instructions, asked=True))

    async def put(self, of: ListKey, kept: Listed, config: Config) -> None:
        """Have it known, and tell sessions."""
        await self._held.put(of, kept)
        await self._tell([of[:2]], config)

    async def _tell(self, pairs: Iterable[tuple[str, str]], config: Config) -> None:
        # What requests see of it is made aside: there may be thousands.
        await asyncio.to_thread(self._known.make_ready, pairs, config)
        for session in self._sessions:
            session.lists_changed()
