"""What each request is seen from: the configuration, as far as it may see it, the toolset, what people have decided."""

import time
from dataclasses import replace

from mcpctl import entry_secrets
from mcpctl.callers import NO_CLAIMS, Caller
from mcpctl.config import Config
from mcpctl.paths import Paths
from mcpctl.policy import access
from mcpctl.policy.access import UNBOUND
from mcpctl.policy.view import View
from mcpctl.proxy.policy_memory import PolicyMemory
from mcpctl.store.state import State
from mcpctl.toolsets.in_force import InForce
from mcpctl.toolsets.toolset import Toolset
from mcpctl.toolsets.toolset_files import ToolsetPlace


class Viewing:
    """Makes the view of each request, which is that of the request before where nothing has changed since."""

    def __init__(
        self, paths: Paths, config: Config, *, toolset: str | None, token: str | None, is_locked: bool = False
    ) -> None:
        """`token` is that of the process, for requests without one of their own."""
        self.config = config
        self.policy = PolicyMemory(paths)
        self._paths = paths
        self._toolset = toolset
        self._token = token
        self._in_force: InForce | None = None
        self._is_locked = is_locked
        self._view = View(config, is_locked=is_locked)
        self._generation = 0
        entry_secrets.learn_all(config.servers)
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
        entry_secrets.learn_all(config.servers)
        if self._in_force:
            self._in_force.look_again()

    def now(self, caller: Caller | None) -> View:
        """What a request of this moment is decided on."""
        view = self.at_first(caller)
        return self._with(view, self._in_force.now(view.config) if self._in_force else None)

    def at_first(self, caller: Caller | None) -> View:
        """What a request is seen from before anything can be decided: its toolset is that of the request before, if
        that had the same project."""
        standing, view = self.policy.standing(), self._view
        is_same = view.caller is caller and view.standing is standing
        if is_same and view.config is self.config and self._is_plain(caller):
            return view  # as nearly every request
        seen = self.config, UNBOUND
        if caller is not None:
            seen = access.of_request(self.config, caller.claims, self._token, standing.tokens, time.time())
        if not is_same or view.config is not seen[0] or view.access != seen[1]:
            toolset = view.toolset
            if self._in_force and view.config is not seen[0]:
                toolset = self._in_force.now(seen[0])
            view = self._view = View(seen[0], toolset, caller, self._generation, standing, seen[1], self._is_locked)
        return view

    def _is_plain(self, caller: Caller | None) -> bool:
        """Whether the request claims nothing and nobody claims anything for it, where no policy asks for that."""
        has_claims = caller is not None and caller.claims is not NO_CLAIMS
        return not has_claims and self._token is None and not self.config.policy.is_on

    def _with(self, view: View, toolset: Toolset | None) -> View:
        """The view with this toolset; the same one where nothing has changed."""
        if view.toolset is not toolset:
            view = self._view = replace(view, toolset=toolset)
        return view

    @property
    def toolset_place(self) -> ToolsetPlace | None:
        """Where the toolset is that the latest view of `now` has."""
        return self._in_force.place if self._in_force else None
