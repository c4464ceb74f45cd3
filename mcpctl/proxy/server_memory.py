"""What `state.db` remembers of servers: what they list, their era, why they failed. The event loop never waits."""

import asyncio
import gc
import random
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, TypeVar

from mcpctl.catalog import cache
from mcpctl.catalog.lists import Listed, Lists
from mcpctl.errors import Unusable, warn
from mcpctl.feature_names import KINDS, list_of
from mcpctl.paths import Paths
from mcpctl.server_settings import Server
from mcpctl.store.state import ListKey, State, is_passing, trouble

T = TypeVar("T")
_THREADS = 4
_FIRST_WAIT_S, _LAST_WAIT_S = 2.0, 60.0
"""How long what another process kept from being kept waits, at first and at most."""
_MANY = 1000
"""Definitions in a list that the garbage collector is to look at no more."""


class ServerMemory:
    """Remembers in threads, since another process may hold the database for as long as it likes."""

    def __init__(self, paths: Paths, lists: Lists, on_loaded: Callable[[str], None]) -> None:
        """`on_loaded` is called with the name of a server whose kept tools are known just now."""
        self._paths = paths
        self._lists = lists
        self._on_loaded = on_loaded
        self._threads = ThreadPoolExecutor(_THREADS, "keep")
        self._loads: dict[ListKey, asyncio.Task[None]] = {}
        self._unkept: dict[ListKey, tuple[list[bytes], str, bool]] = {}
        """Lists that were not kept yet, since another process had the database."""
        self._keeping: asyncio.Task[None] | None = None
        self._outcomes: dict[str, tuple[str, str | None, str]] = {}
        """By server, its fingerprint, failure and that one's code, until a thread has taken them."""
        self._remembering = threading.Lock()
        self._state: State | None = None
        self._is_closed = False
        self._closing = threading.Lock()

    def close(self) -> None:
        """Remember nothing more, and let the database go; what a thread is at, it ends with."""
        self._threads.shutdown(wait=False)
        if self._keeping:
            self._keeping.cancel()
        with self._closing:
            self._is_closed = True
            if self._state:
                self._state.close()

    async def opened(self) -> State:
        """The database, for the event loop until `close`; reading never waits, but fails if another holds it."""
        return await self._aside(self._open)

    def _open(self) -> State:
        state = State.opened_for_others(self._paths)
        with self._closing:
            if self._is_closed:
                state.close()  # nobody waits for it any more
            self._state = state
        return state

    async def keep(self, of: ListKey, definitions: list[bytes], instructions: str, *, asked: bool) -> Listed:
        """Keep what a server has listed just now; what is known of it from now on. Where another process has the
        database, it is kept later."""
        kept, is_kept = await self._aside(self._keep, of, definitions, instructions, asked)
        if is_kept:
            self._unkept.pop(of, None)
        else:
            self._unkept[of] = definitions, instructions, asked
            if self._keeping is None:
                self._keeping = asyncio.create_task(self._keep_later())
        return kept

    async def _keep_later(self) -> None:
        wait = _FIRST_WAIT_S
        while self._unkept:
            await asyncio.sleep(wait * random.uniform(0.5, 1))  # many may have been started at once
            wait = min(2 * wait, _LAST_WAIT_S)
            for of, listed in list(self._unkept.items()):
                _, is_kept = await self._aside(self._keep, of, *listed)
                if is_kept and self._unkept.get(of) is listed:
                    del self._unkept[of]
        self._keeping = None

    async def load(self, name: str, server: Server, capability_sets: Iterable[str]) -> None:
        """Have what is kept of a server's tools for clients that can do this, each once; without it where the database
        cannot be read."""
        for capabilities in capability_sets:
            key = ListKey(name, server.fingerprint, capabilities)
            if self._lists.get(key) is None and key not in self._loads:
                self._loads[key] = asyncio.create_task(self._load(key))
            if key in self._loads:
                await asyncio.shield(self._loads[key])

    async def load_features(self, fingerprints: Mapping[str, str]) -> None:
        """Have what is kept of these servers' prompts, resources and templates, and of their tools, by which it is
        decided who sees those; without it where the database cannot be read."""
        await self._aside(self._read, lambda state: self._load_missing(state, fingerprints), True)

    def _load_missing(self, state: State, fingerprints: Mapping[str, str]) -> None:
        for pair in fingerprints.items():
            sets = [] if self._lists.all(*pair) else state.capability_sets(*pair)[:1]
            for each in (*sets, *map(list_of, KINDS)):
                key = ListKey(*pair, each)
                listed = _loaded(state, key) if self._lists.get(key) is None else None
                if listed and self._lists.get(key) is None:
                    self._lists.put(key, listed)

    async def _load(self, of: ListKey) -> None:
        if await self._aside(self._loaded, of):
            self._on_loaded(of.server)

    def _loaded(self, of: ListKey) -> bool:
        """Whether a list is known just now that was not."""
        listed = self._read(lambda state: _loaded(state, of), True)
        if listed is None or self._lists.get(of):
            return False
        self._lists.put(of, listed)
        return True

    async def era(self, name: str, server: Server) -> bool | None:
        """Whether a server is known to speak 2026-07-28."""
        return await self._aside(self._read, lambda state: state.known_era(name, server.fingerprint), False)

    def remember_era(self, name: str, server: Server, modern: bool) -> None:
        """Remember which era a server speaks; where it cannot be kept, it is asked again next time."""
        self._threads.submit(self._write, lambda state: state.remember_era(name, server.fingerprint, modern))

    def remember_harmless(self, hashed: str) -> None:
        """Keep that a check has found nothing in the texts with this hash."""
        self._threads.submit(self._write, lambda state: state.keep_harmless(hashed))

    def remember_outcome(self, name: str, server: Server, failure: str | None, code: str) -> None:
        """Keep why a server failed just now, or None that it works, for people who ask later."""
        self._outcomes[name] = server.fingerprint, failure, code
        self._threads.submit(self._remember_outcomes)

    async def written(self) -> None:
        """Return once why servers failed, and that they work, is kept."""
        await self._aside(self._remember_outcomes)

    def _remember_outcomes(self) -> None:
        # By one thread at a time: what was said first must not be written last. It takes all that there are, since
        # the database would else be opened once for each of a hundred servers that are down.
        with self._remembering:
            if self._outcomes:
                self._write(self._write_outcomes)

    def _write_outcomes(self, state: State) -> None:
        while self._outcomes:
            name, outcome = self._outcomes.popitem()
            cache.remember_failure(state, name, *outcome)

    def _keep(self, of: ListKey, definitions: Sequence[bytes], instructions: str, asked: bool) -> tuple[Listed, bool]:
        """What is known of it, and whether that is all that can be done to keep it."""
        is_done = True
        try:
            with State.opened(self._paths, create=True, waits=True) as state:
                cache.replace(state, of, definitions, instructions, asked=asked)
                if listed := _loaded(state, of):
                    return listed, True
        except Unusable as error:
            is_done = not is_passing(error)
            if is_done:
                warn(f"the tools of '{of.server}' cannot be kept: {trouble(self._paths, error)}")
        return cache.held(of, definitions, instructions), is_done

    def _read(self, read: Callable[[State], T], create: bool) -> T | None:
        try:
            with State.opened(self._paths, create=create) as state:
                return read(state)
        except Unusable:
            return None  # its server is asked instead

    def _write(self, write: Callable[[State], None]) -> None:
        with suppress(Unusable), State.opened(self._paths, create=True) as state:
            write(state)

    async def _aside(self, work: Callable[..., T], *arguments: Any) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work, *arguments)


def _loaded(state: State, of: ListKey) -> Listed | None:
    """What a server last listed. A collection that goes through many thousands of definitions holds everybody up."""
    listed = cache.load(state, of)
    if listed and len(listed.tools) >= _MANY:
        gc.freeze()
    return listed
