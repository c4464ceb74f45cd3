"""Upstreams by their holders: each client, or each token, has processes of its own, but for servers that all share.

A holder is a text: empty in a process that has one client, `SHARED` for all clients, else what tells one from others.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager

from mcpctl.base.callers import SHARED
from mcpctl.base.failure import Failed, Failure
from mcpctl.config.server_settings import STDIO
from mcpctl.upstreams.upstream import Upstream
from mcpctl.wire.writer import Readers, Turn

_STARTS_AT_ONCE = 4  # of one holder, where they are only asked for lists


class HeldServers(dict[str, Upstream]):
    """The servers of one holder by name, each from when it is first used; raises `KeyError` for one not enabled."""

    def __init__(self, holder: str, readers: Readers, make: Callable[["HeldServers", str], Upstream]) -> None:
        super().__init__()
        self.holder = holder
        self.readers = readers  # those who read for its clients
        self.starts = asyncio.Semaphore(_STARTS_AT_ONCE)  # one that starts slowly keeps no other holder's waiting
        self._make = make

    def __missing__(self, name: str) -> Upstream:
        self[name] = upstream = self._make(self, name)
        return upstream


class Holders(dict[str, HeldServers]):
    """The servers of each holder, from when it first uses one."""

    def __init__(self, turn: Turn, make: Callable[[HeldServers, str], Upstream], most: int) -> None:
        """At most so many processes run at once; any number where that is 0."""
        super().__init__()
        self._turn = turn
        self._make = make
        self._most = most
        self._starting = self._resting = 0

    def __missing__(self, holder: str) -> HeldServers:
        readers = self._turn.readers if holder == SHARED else Readers(self._turn)
        self[holder] = held = HeldServers(holder, readers, self._make)
        if holder != SHARED:
            held.update(self[SHARED])
        return held

    def share(self, upstream: Upstream) -> None:
        """Have all holders use it."""
        for held in self.values():
            held[upstream.name] = upstream

    def every(self) -> Iterator[Upstream]:
        return (each for held in list(self.values()) for each in list(held.values()) if each.holder == held.holder)

    @asynccontextmanager
    async def room(self, server: str, kind: str) -> AsyncIterator[None]:
        """Room for one more process: for it the one ends that has been idle longest. Raises `Failed` where none is."""
        if not self._most or kind != STDIO:
            yield
            return
        self._starting += 1
        try:
            while sum(each.processes for each in self.every()) - self._resting + self._starting > self._most:
                idle = [each for each in self.every() if each.is_idle]
                if not idle:
                    reason = f"{self._most} servers run already, and each has a call; this was not sent"
                    raise Failed(Failure("server_busy", {"server": server, "reason": reason}))
                await self._rest(min(idle, key=lambda each: each.idle_since))
            yield
        finally:
            self._starting -= 1

    async def _rest(self, upstream: Upstream) -> None:
        self._resting += 1
        try:
            await upstream.rest()
        finally:
            self._resting -= 1
