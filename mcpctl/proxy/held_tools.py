"""What is held of servers while a process runs, tools, prompts and resources: found out aside, as they list, people
approve and the file changes.
"""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from typing import Any

from mcpctl.catalog.lists import Listed, Lists
from mcpctl.config import Config
from mcpctl.errors import Unusable, warn
from mcpctl.feature_names import kind_of_list
from mcpctl.policy import words
from mcpctl.policy.holding import NOT_LOCKED, SUSPICIOUS, Drift, Holding, Locked
from mcpctl.proxy.policy_memory import PolicyMemory
from mcpctl.store import pins
from mcpctl.store.state import ListKey
from mcpctl.tool_keys import is_plain

_NAMED = 5
_TOGETHER_S = 1.0


class HeldTools:
    """Judges what comes into the `lists`, by the pins in `policy.db` and by a lock file."""

    def __init__(
        self, lists: Lists, policy: PolicyMemory, background: Callable[[Coroutine[Any, Any, None]], object],
        locked: Locked | None = None,
    ) -> None:  # fmt: skip
        self._lists = lists
        self._policy = policy
        self._locked = locked
        self._background = background
        self._is_to_check = False
        self._is_on = False
        self._enforces = False
        self._seen: int | None = None
        self._one_by_one = asyncio.Lock()
        lists.hold_by(Holding(locked=locked))

    @property
    def is_locked(self) -> bool:
        """Whether there is a lock file."""
        return self._locked is not None

    @property
    def has_changed(self) -> bool:
        """Whether somebody has pinned or approved anything since all were judged."""
        return self._policy.pinned not in (None, self._seen)

    @property
    def drifts(self) -> Sequence[Drift]:
        """The tools that are not as they were, or that are held, of the servers that are connected."""
        return [drift for _, listed in self._lists.connected() for drift in listed.drifts]

    async def follow(self, config: Config) -> None:
        """Judge all that is known by what is pinned now, as the configuration says."""
        self._is_on, self._enforces = config.policy.is_on, config.policy.enforces
        async with self._one_by_one:
            self._seen = self._policy.pinned
            if not self._is_on and not self._lists.holding.pins:
                return  # as it was
            holding = await self._read(config) if self._is_on else Holding(locked=self._locked)
            await asyncio.to_thread(self._lists.hold_by, holding)
        self._tell()

    async def _read(self, config: Config) -> Holding:
        for key, listed in self._lists.connected():
            await self._see(key, listed)  # what was listed while it was off is not pinned
        pinned = self._lists.holding.pins
        try:
            pinned = await self._policy.run(pins.read)
        except Unusable as error:
            warn(f"what is pinned cannot be read: {error}")
            self._seen = None  # it is tried again at the next request
        return Holding(config.policy.table.on_change, pinned, self._locked, config.policy.table.checks)

    async def put(self, of: ListKey, listed: Listed) -> None:
        """Have known what a connection has listed, pinned where it is seen for the first time."""
        if kind_of_list(of.capabilities):
            await asyncio.to_thread(self._lists.check_features, of, listed)
        async with self._one_by_one:
            seen = await self._see(of, listed) if self._is_on else None
            await asyncio.to_thread(self._put, of, listed, seen)
        self._tell()
        if not self._is_to_check and not kind_of_list(of.capabilities):
            self._is_to_check = True
            self._background(self._check_together())

    def _put(self, of: ListKey, listed: Listed, seen: pins.ServerPins | None) -> None:
        holding = self._lists.holding
        if seen is not None:
            self._lists.holding = replace(holding, pins={**holding.pins, of[:2]: seen})
        self._lists.put(of, listed, is_in_use=not kind_of_list(of.capabilities))

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
        await asyncio.to_thread(self._lists.check_together)
        self._tell()

    def _tell(self) -> None:
        """Say on stderr, once, which tools are not as they were: no more of them than their keys."""
        found: dict[str, dict[str, list[str]]] = {}
        for drift in self.drifts:
            what = f"{drift.why.replace('_', ' ')}{', held' if drift.is_held and self._holds(drift) else ''}"
            found.setdefault(drift.server, {}).setdefault(what, []).append(drift.key)
        for server, of_server in found.items():
            told = "; ".join(f"{len(keys)} {what}{_named(keys)}" for what, keys in of_server.items())
            is_only_suspicious = all(what.startswith(SUSPICIOUS) for what in of_server)
            look = "check" if is_only_suspicious else f"diff --server {server}"
            warn(f"tools of server '{server}' are not as they were: {told}; see: mcpctl tools {look}")

    def _holds(self, drift: Drift) -> bool:
        return self._enforces or drift.why == NOT_LOCKED


def _named(keys: list[str]) -> str:
    plain = [key if ":" in key else f"the instructions of {key}" for key in keys if is_plain(key)][:_NAMED]
    more = ", …" if plain and len(plain) < len(keys) else ""
    return f" ({', '.join(plain)}{more})" if plain else ""


def ruled(drift: Drift, config: Config) -> tuple[str, str, bool]:
    """For the record: the setting by which a tool is held or told of, where it stands, and whether it is done."""
    is_done = drift.why == NOT_LOCKED or (drift.is_held and config.policy.enforces)
    return *words.hold_rule(drift.why, config), is_done
