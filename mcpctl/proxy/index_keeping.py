"""The index of the records kept near their journals while sessions are recorded, in a thread of its own."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from mcpctl.paths import Paths
from mcpctl.proxy.from_servers import Listener
from mcpctl.settings import RecordSettings

if TYPE_CHECKING:
    from mcpctl.store.upkeep import Upkeep

_EVERY_S = 2.0


class IndexKeeping:
    """Tidies the records and catches up, for as long as `keep` runs."""

    def __init__(self, paths: Paths, settings: Callable[[], RecordSettings], sessions: Sequence[Listener]) -> None:
        self._paths = paths
        self._settings = settings
        self._sessions = sessions
        self._thread = ThreadPoolExecutor(1, "index")

    async def keep(self) -> None:
        """Tidy once, then keep the index near the journals, so that commands find little to catch up on."""
        loop = asyncio.get_running_loop()
        tidied_with_session = False
        upkeep = await loop.run_in_executor(self._thread, self._made)
        await loop.run_in_executor(self._thread, upkeep.tidy)
        while True:
            await asyncio.sleep(_EVERY_S)
            if any(session.is_recording for session in self._sessions):
                job = upkeep.catch_up if tidied_with_session else upkeep.tidy
                tidied_with_session = True
                await loop.run_in_executor(self._thread, job)

    def _made(self) -> "Upkeep":
        from mcpctl.store.upkeep import Upkeep  # no part of starting up

        return Upkeep(self._paths, self._settings, self._is_busy)

    def _is_busy(self) -> bool:
        return any(session.is_busy for session in list(self._sessions))

    def close(self) -> None:
        """Keep nothing more; what the thread is at, it ends with."""
        self._thread.shutdown(wait=False)
