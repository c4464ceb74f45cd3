"""The index of the records, kept near the journals while clients are served."""

import asyncio
import contextlib
import random
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from mcpctl.base.paths import Paths
from mcpctl.config.settings import RecordSettings
from mcpctl.proxy.questions import ServerListener
from mcpctl.wire.threads import WorkQueue

if TYPE_CHECKING:
    from mcpctl.store.retention import Upkeep

T = TypeVar("T")
_EVERY_S = 2.0
_REST_S = 60.0  # how long nothing was written to a journal before it is closed, in a process with many sessions


class IndexKeeping:
    def __init__(
        self, paths: Paths, settings: Callable[[], RecordSettings], sessions: Sequence[ServerListener]
    ) -> None:
        self._paths = paths
        self._settings = settings
        self._sessions = sessions
        self._line = WorkQueue()
        self._is_begun = False
        self._tidied_with_session = False
        self._upkeep: Upkeep | None = None

    async def keep(self) -> None:
        """Tidy once, then keep the index near the journals, so that commands find little to catch up on: once, for all
        clients, whichever begins it."""
        if self._is_begun:
            return
        self._is_begun = True
        await self._run(lambda upkeep: upkeep.tidy())
        while True:
            # Not all at once, where many processes were started together.
            await asyncio.sleep(_EVERY_S * random.uniform(1, 1.5))
            for session in self._sessions:
                session.recorder.rest(_REST_S)
            if any(session.recorder.is_open for session in self._sessions):
                if self._tidied_with_session:
                    await self._run(lambda upkeep: upkeep.catch_up())
                else:
                    self._tidied_with_session = True  # the end does not wait for it twice
                    self._tidied_with_session = await self._run(lambda upkeep: upkeep.tidy())

    async def end(self, wait_s: float) -> None:
        """Tidy after a short session, for `wait_s` at most: else none of many short sessions would do it."""
        if self._upkeep:
            self._upkeep.hurries = True
        if self._is_begun and not self._tidied_with_session and wait_s > 0:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(wait_s):
                    await self._run(lambda upkeep: upkeep.tidy())

    async def _run(self, job: "Callable[[Upkeep], T]") -> T:
        return await self._line.do(lambda: job(self._made()))

    def _made(self) -> "Upkeep":
        if self._upkeep is None:
            from mcpctl.store.retention import Upkeep  # no part of starting up

            self._upkeep = Upkeep(self._paths, self._settings, self._is_busy)
        return self._upkeep

    def _is_busy(self) -> bool:
        return any(session.is_busy for session in list(self._sessions))
