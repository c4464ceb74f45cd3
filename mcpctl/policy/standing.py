"""What people have decided beside the configuration, as `policy.db` has it at one moment: their yeses and tokens."""

from collections.abc import Collection
from dataclasses import dataclass

from mcpctl.store.grants import Grant
from mcpctl.store.tokens import Token


@dataclass(frozen=True)
class Standing:
    """The yeses that hold, and the tokens that were made, expired and revoked ones included."""

    grants: Collection[Grant] = frozenset()
    tokens: Collection[Token] = ()
    ends: float | None = None
    """When the first of the yeses ends, in seconds since the epoch."""


NOTHING = Standing()
