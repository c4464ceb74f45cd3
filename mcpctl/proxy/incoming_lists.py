"""Lists that servers send, of tools, prompts and resources: held where the policy says so, pinned, and made known.

They are judged aside, again whenever people approve something or the configuration changes.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import Any

from msgspec.structs import replace

from mcpctl.base.errors import Unusable, warn
from mcpctl.base.feature_names import kind_of_list
from mcpctl.base.tool_keys import is_plain
from mcpctl.catalog.features import Features
from mcpctl.catalog.known_features import KnownFeatures
from mcpctl.catalog.lists_in_memory import Listed, Lists
from mcpctl.config.config import Config
from mcpctl.policy import pins
from mcpctl.policy.holding import NOT_LOCKED, SUSPICIOUS, Drift, Holding, Locked
from mcpctl.policy.pins import Pins
from mcpctl.proxy.memory import PolicyMemory, ServerMemory
from mcpctl.proxy.questions import ServerListener
from mcpctl.store.state import ListKey
from mcpctl.upstreams.upstream import Upstream
from mcpctl.wire.threads import beside

_NAMED = 5
_TOGETHER_S = 1.0
_LOAD_S = 0.25  # how long requests wait at the start for kept lists: for all, but where there are many thousands


class IncomingLists:
    def __init__(
        self, lists: Lists, memory: ServerMemory, policy: PolicyMemory, known: KnownFeatures,
        sessions: Sequence[ServerListener], background: Callable[[Coroutine[Any, Any, None]], "asyncio.Task[None]"],
        seen: Callable[[], Features], locked: Locked | None,
    ) -> None:  # fmt: skip
        """`seen` gives the features that a person sees at this moment."""
        self._lists = lists
        self._memory = memory
        self._policy = policy
        self._known = known
        self._sessions = sessions
        self._background = background
        self._seen = seen
        self._locked = locked
        self._loading: asyncio.Task[None] | None = None
        self._is_to_check = False
        self._is_on = False
        self._enforces = False
        self._one_by_one = asyncio.Lock()
        lists.hold_by(Holding(locked=locked))

    @property
    def drifts(self) -> Sequence[Drift]:
        return [drift for _, listed in self._lists.connected() for drift in listed.drifts]

    async def judge(self, config: Config) -> bool:
        """Judge all known tools by what is pinned now, as the configuration says; whether that could be read."""
        self._is_on, self._enforces = config.policy.is_on, config.policy.enforces
        async with self._one_by_one:
            pinned: Pins | None = self._lists.holding.pins
            if not self._is_on and not pinned:
                return True  # as it was
            holding = Holding(locked=self._locked)
            if self._is_on:
                pinned = await self._read()
                known = self._lists.holding.pins if pinned is None else pinned
                holding = Holding(config.policy.table.on_change, known, self._locked, config.policy.table.checks)
            await beside(self._lists.hold_by, holding)
        self._warn()
        return pinned is not None

    async def _read(self) -> Pins | None:
        for key, listed in self._lists.connected():
            await self._see(key, listed)  # what was listed while it was off is not pinned
        try:
            return await self._policy.run(pins.read)
        except Unusable as error:
            warn(f"what is pinned cannot be read: {error}")
            return None

    async def put(self, of: ListKey, listed: Listed, holder: str) -> None:
        if kind_of_list(of.capabilities):
            await beside(self._lists.check, of, listed)
        async with self._one_by_one:
            seen = await self._see(of, listed) if self._is_on else None
            await beside(self._put, of, listed, seen, holder)
        self._warn()
        if not self._is_to_check and not kind_of_list(of.capabilities):
            self._is_to_check = True
            self._background(self._check_together())

    def _put(self, of: ListKey, listed: Listed, seen: pins.ServerPins | None, holder: str) -> None:
        holding = self._lists.holding
        if seen is not None:
            self._lists.holding = replace(holding, pins={**holding.pins, of[:2]: seen})
        self._lists.put(of, listed, None if kind_of_list(of.capabilities) else holder)

    async def _see(self, of: ListKey, listed: Listed) -> pins.ServerPins | None:
        try:
            return await self._policy.run(lambda file: pins.see(file, of, listed.tools, listed.instructions))
        except Unusable as error:
            if not self._policy.is_closed:  # at its end, a process pins nothing more
                warn(f"the tools of '{of.server}' cannot be pinned: {error}")
            return None

    async def _check_together(self) -> None:
        """Soon after servers have listed, check all tools beside each other; once for many that come together."""
        await asyncio.sleep(_TOGETHER_S)
        self._is_to_check = False
        await beside(self._lists.check_together)
        self._warn()

    def _warn(self) -> None:
        by_server: dict[str, dict[str, list[str]]] = {}
        for drift in self.drifts:
            is_held = drift.is_held and (self._enforces or drift.why == NOT_LOCKED)
            state = f"{drift.why.replace('_', ' ')}{', held' if is_held else ''}"
            by_server.setdefault(drift.server, {}).setdefault(state, []).append(drift.key)
        for server, of_server in by_server.items():
            counts = "; ".join(f"{len(keys)} {state}{_named(keys)}" for state, keys in of_server.items())
            is_only_suspicious = all(state.startswith(SUSPICIOUS) for state in of_server)
            look = "check" if is_only_suspicious else f"diff --server {server}"
            warn(f"tools of server '{server}' are not as they were: {counts}; see: mcpctl tools {look}")

    async def follow(self, config: Config, upstreams: Callable[[], Iterable[Upstream]]) -> None:
        """Load the kept lists of these servers; connected ones list state can be seen since now."""
        self._loading = self._background(self._load(config, upstreams))
        await asyncio.wait({self._loading}, timeout=_LOAD_S)

    async def loaded(self) -> None:
        if self._loading:
            await asyncio.wait({self._loading})

    async def _load(self, config: Config, upstreams: Callable[[], Iterable[Upstream]]) -> None:
        await self._memory.load_features(config.fingerprints)
        await self._make_known(config.fingerprints.items(), config)
        unknown = {server for server, _ in self._known.unknown(config)}
        for upstream in upstreams():
            if upstream.name in unknown:
                upstream.list_features()

    async def put_features(self, of: ListKey, kept: Listed, config: Config, holder: str) -> None:
        await self.put(of, self._known.as_known(of, kept), holder)
        await self._make_known([of[:2]], config)

    async def _make_known(self, pairs: Iterable[tuple[str, str]], config: Config) -> None:
        # The features that requests see are made aside: there may be thousands.
        await beside(self._known.make_ready, [*pairs], config)
        features = self._seen()
        await beside(lambda: (features.prompts, features.resources, features.templates))
        for session in self._sessions:
            session.lists_changed()


def _named(keys: list[str]) -> str:
    plain = [key if ":" in key else f"the instructions of {key}" for key in keys if is_plain(key)][:_NAMED]
    more = ", …" if plain and len(plain) < len(keys) else ""
    return f" ({', '.join(plain)}{more})" if plain else ""
