"""What people have decided beside the configuration, as `policy.db` has it at one moment: their yeses."""

from collections.abc import Collection
from dataclasses import dataclass

from mcpctl.store.grants import Grant


@dataclass(frozen=True)
class Standing:
    """The yeses that hold."""

    grants: Collection[Grant] = frozenset()


NOTHING = Standing()
