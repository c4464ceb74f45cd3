"""What people have decided, for a process that runs while they do: read as it changes, written aside."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from mcpctl.paths import Paths
from mcpctl.policy.standing import NOTHING, Standing
from mcpctl.store import grants, tokens
from mcpctl.store.policy_file import PolicyFile
from mcpctl.store.state import StateError

_T = TypeVar("_T")


class PolicyMemory:
    """`policy.db` for the event loop: a look at it costs what asking for its version does, and never waits."""

    def __init__(self, paths: Paths) -> None:
        self._paths = paths
        self._writing = ThreadPoolExecutor(1, "policy")
        self._mine: PolicyFile | None = None
        self._theirs: PolicyFile | None = None
        self._version: object = None
        self._was_looked_at = False
        self._standing = NOTHING

    @property
    def is_open(self) -> bool:
        """Whether there is anything to look at."""
        return self._mine is not None

    def look(self) -> None:
        """Open it now, for a process that has nothing else to do yet; raises `Unusable`."""
        self._mine = PolicyFile.connect(self._paths)
        self._mine.wait_for_nobody()

    async def open(self) -> None:
        """Open it, where that has not been done; raises `Unusable`."""
        if self._mine is None:
            self._theirs = await self.run(lambda file: file)
            self._mine = await asyncio.to_thread(PolicyFile.connect, self._paths)
            self._mine.wait_for_nobody()

    def version(self) -> object:
        """What changes whenever anybody has changed it; None where that cannot be told at this moment."""
        try:
            return self._mine.version if self._mine else None
        except StateError:
            return None

    def standing(self) -> Standing:
        """What people have decided by now; where that cannot be read at this moment, what they had."""
        version = self.version()
        if self._mine is None or version is None:
            return self._standing
        try:
            if version != self._version:
                self._standing = Standing(grants.held(self._mine), tokens.every(self._mine))
                self._version = version
        except StateError:
            pass  # somebody holds it: it is looked at again at the next request
        return self._standing

    def _turn_over(self) -> None:
        self._was_looked_at = False

    async def run(self, work: Callable[[PolicyFile], _T]) -> _T:
        """Do something with it in a thread of its own, one after the other; raises what `work` does, and `Unusable`."""
        return await asyncio.get_running_loop().run_in_executor(self._writing, self._do, work)

    def _do(self, work: Callable[[PolicyFile], _T]) -> _T:
        if self._theirs is None:
            self._theirs = PolicyFile.connect(self._paths)
        return work(self._theirs)

    def close(self) -> None:
        """Let go of it."""
        if self._mine:
            self._mine.close()
        self._writing.submit(self._close)
        self._writing.shutdown(wait=False)

    def _close(self) -> None:
        if self._theirs:
            self._theirs.close()
