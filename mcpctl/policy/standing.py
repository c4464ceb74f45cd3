"""What people have decided beside the configuration, as `policy.db` has it at one moment: their yeses."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple


class Grant(NamedTuple):
    """A yes that holds for more than one call of a tool, as long as its definition stays as it is."""

    key: str
    pin: str
    """What the definition was: `mcpctl.definitions.pin_of`."""
    project: str
    """Empty where there was none."""
    token: str
    """The id of the token; empty where there was none."""
    session: str
    """The session that it ends with; empty where it holds always."""


@dataclass(frozen=True)
class Standing:
    """The yeses that hold."""

    grants: Collection[Grant] = frozenset()


NOTHING = Standing()
