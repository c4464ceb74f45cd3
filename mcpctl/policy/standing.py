"""What people have decided beside the configuration, as `policy.db` has it at one moment: their yeses and tokens."""

from collections.abc import Collection

from msgspec import Struct

from mcpctl.policy.grants import Grant
from mcpctl.policy.tokens import Token


class Standing(Struct, frozen=True):
    """The yeses that hold, and the tokens that were made, expired and revoked ones included."""

    grants: Collection[Grant] = frozenset()
    tokens: Collection[Token] = ()
    ends: float | None = None
    """When the first of the yeses and tokens ends, in seconds since the epoch."""


NOTHING = Standing()
