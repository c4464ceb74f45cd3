"""What people have decided, for a process that runs while they do: read as it changes, written aside."""

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from mcpctl.errors import Unusable, warn
from mcpctl.paths import Paths
from mcpctl.policy.standing import NOTHING, Standing
from mcpctl.store import grants, pins, tokens
from mcpctl.store.policy_file import PolicyFile
from mcpctl.store.state import StateError

_T = TypeVar("_T")
_PATIENCE_S = 10.0
"""How long a piece of work may take with all that was there before it, where another process holds the file."""


class PolicyMemory:
    """`policy.db` for the event loop: a look at it costs what asking for its version does, and never waits."""

    def __init__(self, paths: Paths) -> None:
        self._paths = paths
        self._writing = ThreadPoolExecutor(1, "policy")
        self._mine: PolicyFile | None = None
        self._theirs: PolicyFile | None = None
        self.is_closed = False
        self._closing = threading.Lock()
        self._version: object = None
        self._pinned: int | None = None
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
        """Open it, where that has not been done. Where it cannot be had nothing of it holds, but what the policy says
        does: what it denies needs nothing that is kept here."""
        if self._mine is None:
            try:
                await self.run(lambda _: None)
            except Unusable as error:
                warn(f"{error}; until it can be read, nothing holds that was decided there ({error.hint})")

    def standing(self) -> Standing:
        """What people have decided by now; where another process holds it at this moment, what they had.

        Where it is gone or damaged, nothing that they have decided holds.
        """
        self._look_once()
        return self._standing

    @property
    def pinned(self) -> int | None:
        """What grows whenever tools are pinned or approved; None where that was never known."""
        self._look_once()
        return self._pinned

    def _look_once(self) -> None:
        """One look is enough for all that is decided in one turn of the event loop."""
        if self._mine is None or self._was_looked_at:
            return
        self._was_looked_at = True
        asyncio.get_running_loop().call_soon(self._turn_over)
        try:
            if not self._mine.is_there:
                warn(f"{self._paths.policy} was removed or replaced: what was decided in it holds no more")
                self._let_go()
                return
            version, ends = self._mine.version, self._standing.ends
            if version != self._version or (ends is not None and ends <= time.time()):
                given = grants.given(self._mine)
                self._standing = Standing(
                    frozenset(each.grant for each in given),
                    tokens.every(self._mine),
                    min((each.until for each in given if each.until), default=None),
                )
                self._pinned = pins.version(self._mine)
                self._version = version
        except StateError as error:
            if not error.is_passing:
                warn(f"what was decided before holds no more: {error}")
                self._let_go()

    def _let_go(self) -> None:
        """Take nothing for decided until the file that is there now has been opened."""
        mine, self._mine, self._standing, self._version = self._mine, None, NOTHING, None
        if mine:
            with contextlib.suppress(StateError):
                mine.close()

    def _turn_over(self) -> None:
        self._was_looked_at = False

    async def run(self, work: Callable[[PolicyFile], _T]) -> _T:
        """Do something with it in a thread of its own, one after the other; raises what `work` does, `StateError` and
        `Unusable`."""
        if self.is_closed:
            raise self._unusable("is closed")
        try:
            async with asyncio.timeout(_PATIENCE_S):
                return await asyncio.get_running_loop().run_in_executor(self._writing, self._do, work)
        except TimeoutError:
            raise self._unusable("is in use by another process") from None

    def _unusable(self, why: str) -> Unusable:
        return Unusable(f"{self._paths.policy} {why}", "try again", "policy_held")

    def _do(self, work: Callable[[PolicyFile], _T]) -> _T:
        if self._theirs is None or not self._theirs.is_there:
            theirs, self._theirs = self._theirs, None
            if theirs:
                with contextlib.suppress(StateError):
                    theirs.close()
            self._theirs = PolicyFile.connect(self._paths)
        outcome = work(self._theirs)
        if self._mine is None:
            with contextlib.suppress(Unusable):  # the work was done; it is looked at again with the next
                self._look_at_it()
        return outcome

    def _look_at_it(self) -> None:
        mine = PolicyFile.connect(self._paths)
        mine.wait_for_nobody()
        with self._closing:
            if self.is_closed:
                mine.close()  # nobody waits for it any more
            else:
                self._mine = mine

    def close(self) -> None:
        """Let go of it."""
        with self._closing:
            self.is_closed = True
        self._let_go()
        self._writing.submit(self._close)
        self._writing.shutdown(wait=False)

    def _close(self) -> None:
        if self._theirs:
            self._theirs.close()
