"""What is in force for everybody at one moment, and what each request sees of it."""

import time
from dataclasses import dataclass, field

from mcpctl.base.callers import Caller
from mcpctl.catalog.cache import Catalog
from mcpctl.catalog.lists_in_memory import Lists
from mcpctl.config.config import Config
from mcpctl.policy.view import NOTHING_DECIDED, UNBOUND, Standing, View, access_of
from mcpctl.toolsets.in_force import Followed, InForce

_MOST_VIEWS = 256
_NO_TOOLSET = Followed()


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The configuration, the toolsets, what people have decided and what servers have listed, at one moment.

    It is replaced whole as soon as any of that changes, and its views with it.
    """

    config: Config
    lists: Lists
    token: str | None = None
    """That of the process, for requests without one of their own."""
    is_locked: bool = False
    generation: int = 0
    """Grows whenever the configuration changes."""
    standing: Standing = NOTHING_DECIDED
    toolsets: InForce | None = None
    """None until it is known what is equipped."""
    changes: int = 0
    """Those of the lists that came before it."""
    views: dict[int, View] = field(default_factory=dict, init=False)
    """Who has asked, by identity, and what they see: a caller is the same object for all requests that say the same of
    themselves, and each view keeps its own."""
    catalogs: dict[int, Catalog] = field(default_factory=dict, init=False)
    """What is known of servers' tools from each view, by its identity."""

    def view(self, caller: Caller | None) -> View:
        """What a request of this caller sees."""
        config, its_access = self.config, UNBOUND
        if caller is not None:
            config, its_access = access_of(config, caller.claims, self.token, self.standing.tokens, time.time())
        left = self.toolsets.left if self.toolsets else 0
        followed = self.toolsets.of(config) if self.toolsets else _NO_TOOLSET
        view = View(
            config, followed.toolset, caller, self.generation, self.standing, its_access, self.is_locked, followed.place
        )
        if len(self.views) >= _MOST_VIEWS or (self.toolsets and self.toolsets.left != left):
            self.views.clear()
        self.views[id(caller)] = view
        return view

    def catalog(self, view: View) -> Catalog:
        """What is known of servers' tools from this view, which need not be one of its own."""
        catalog = Catalog(view, None, self.lists)
        if len(self.catalogs) >= _MOST_VIEWS:
            self.catalogs.clear()
        self.catalogs[id(view)] = catalog
        return catalog
