"""What a request is seen from: made once for each, passed down, and never changed."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from mcpctl.base.callers import ASKED, Caller, Client, capability_set
from mcpctl.config.config import Config
from mcpctl.policy.access import UNBOUND, Access
from mcpctl.policy.rules import Rules, rules_of
from mcpctl.policy.standing import NOTHING, Standing
from mcpctl.toolsets.toolset import Toolset
from mcpctl.toolsets.toolset_files import ToolsetPlace

if TYPE_CHECKING:
    from mcpctl.store.recorder import Origin


@dataclass(frozen=True)
class View:
    """The configuration, the project and the toolset in force at the moment of one request, and who makes it."""

    config: Config
    toolset: Toolset | None = None
    caller: Caller | None = None
    """None for a person at the command line."""
    generation: int = 0
    """Grows whenever a running `serve` follows a change of the configuration."""
    standing: Standing = NOTHING
    """What people have decided beside the configuration."""
    access: Access = UNBOUND
    """The token that the request has, or lacks."""
    is_locked: bool = False
    """Whether nothing may be found or called but what a lock file has."""
    toolset_place: ToolsetPlace | None = None
    """Where the toolset is."""
    verdicts: dict[Any, Any] = field(default_factory=dict, init=False, repr=False, compare=False)
    """What was decided on it: it is another one as soon as anything has changed that decides."""

    @cached_property
    def origin(self) -> "Origin":
        """Where what comes of the request is from, for the record."""
        from mcpctl.store.recorder import Origin

        client = self.caller.client if self.caller else Client()
        return Origin(client, self.project, self.toolset.name if self.toolset else None)

    @cached_property
    def project(self) -> str | None:
        """The project in force; without one, all servers are seen."""
        return self.config.project

    @cached_property
    def capability_sets(self) -> Sequence[str]:
        """What the client can do, as servers may have been told it: the newer kind all of it, the older at least what
        they may ask; nothing for a person at the command line."""
        if self.caller is None:
            return ("",)
        declared = self.caller.capabilities
        return tuple(dict.fromkeys((capability_set(declared), capability_set(declared, ASKED))))

    @cached_property
    def token_id(self) -> str:
        """The id of the token that the request has; empty where it has none."""
        return self.access.token.id if self.access.token else ""

    @cached_property
    def rules(self) -> Rules:
        """The rules in force."""
        return rules_of(self.config, self.toolset)
