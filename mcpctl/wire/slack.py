"""Memory that large messages leave behind, given back to the system."""

import asyncio

from mcpctl.base import posix

_QUIET_S = 4.0
"""By then the last of them are in the index of the records, too."""


class Slack:
    """What the allocator keeps of it until it is told not to."""

    def __init__(self) -> None:
        self._giving_back: asyncio.TimerHandle | None = None

    def has_grown(self) -> None:
        """Have it given back once no large message has come for a while."""
        if self._giving_back:
            self._giving_back.cancel()
        loop = asyncio.get_running_loop()
        # Aside: it may take some milliseconds.
        self._giving_back = loop.call_later(_QUIET_S, loop.run_in_executor, None, posix.give_back_memory)
