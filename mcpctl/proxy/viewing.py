"""What each request is seen from: the configuration, as far as it may see it, the toolset, what people have decided."""

import time

from mcpctl.callers import Caller
from mcpctl.config import Config
from mcpctl.paths import Paths
from mcpctl.policy import access
from mcpctl.policy.access import UNBOUND, Access
from mcpctl.policy.view import View
from mcpctl.proxy.policy_memory import PolicyMemory
from mcpctl.store.state import State
from mcpctl.toolsets.in_force import InForce
from mcpctl.toolsets.toolset import Toolset
from mcpctl.toolsets.toolset_files import ToolsetPlace


class Viewing:
    """Makes the view of each request, which is that of the request before where nothing has changed since."""

    def __init__(self, paths: Paths, config: Config, *, toolset: str | None, token: str | None) -> None:
        """`token` is that of the process, for requests without one of their own."""
        self.config = config
        self.policy = PolicyMemory(paths)
        self._paths = paths
        self._toolset = toolset
        self._token = token
        self._in_force: InForce | None = None
        self._view = View(config)
        self._generation = 0
        if config.policy.is_on and (token or config.policy.table.require_token):
            self.policy.look()  # the first answers name servers, or must not

    async def open(self, state: State) -> None:
        """Have toolsets and what people have decided count from now on."""
        self._in_force = InForce(self._paths, self._toolset, state)
        await self.open_policy(self.config)

    async def open_policy(self, config: Config) -> None:
        """Have what people have decided be at hand, where this configuration asks for it."""
        if config.has_policy:
            await self.policy.open()

    def follow(self, config: Config) -> None:
        """Have this configuration count from now on."""
        self.config = config
        self._generation += 1
        if self._in_force:
            self._in_force.look_again()

    def now(self, caller: Caller | None) -> View:
        """What a request of this moment is decided on."""
        seen = self._seen(caller)
        return self._viewed(caller, seen, self._in_force.now(seen[0]) if self._in_force else None)

    def at_first(self, caller: Caller) -> View:
        """What a request is seen from before anything can be decided."""
        return self._viewed(caller, self._seen(caller), self._view.toolset)

    def _seen(self, caller: Caller | None) -> tuple[Config, Access]:
        if caller is None:
            return self.config, UNBOUND
        tokens = self.policy.standing().tokens
        return access.of_request(self.config, caller.claims, self._token, tokens, time.time())

    def _viewed(self, caller: Caller | None, seen: tuple[Config, Access], toolset: Toolset | None) -> View:
        """A view, which is that of the request before where nothing has changed since."""
        view, standing = self._view, self.policy.standing()
        is_same = view.toolset is toolset and view.caller is caller and view.standing is standing
        if not is_same or view.config is not seen[0] or view.access != seen[1]:
            view = self._view = View(seen[0], toolset, caller, self._generation, standing, seen[1])
        return view

    @property
    def toolset_place(self) -> ToolsetPlace | None:
        """Where the toolset is that the latest view of `now` has."""
        return self._in_force.place if self._in_force else None
