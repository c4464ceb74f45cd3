"""Keeps the records of a running `serve` tidy, and their index near the journals, without costing its calls."""

import sqlite3
import time
from collections.abc import Callable

from mcpctl.base.errors import Unusable, warn
from mcpctl.base.paths import Paths
from mcpctl.config.settings import RecordSettings
from mcpctl.store import index, retention
from mcpctl.store.sqlite import is_held

_LONGEST_PAUSE_S = 2.0
_LOOK_EVERY_S = 0.02
_QUIET_LOOKS = 10
"""Between the calls of a busy client there are moments in which none is in flight."""


class Upkeep:
    """Work on the records for a thread beside the event loop. It takes a step, some thousand lines, whenever nobody is
    served, and one every two seconds while somebody always is. Both share one interpreter: a call waits for a part of a
    step at that moment. Nothing is lost by being late, since the journals have it all, and readers catch up first."""

    def __init__(self, paths: Paths, settings: Callable[[], RecordSettings], is_busy: Callable[[], bool]) -> None:
        self._paths = paths
        self._settings = settings
        self._is_busy = is_busy
        self.hurries = False
        """Whether nobody is served any more."""
        self._quiet = 0
        """How often in a row nobody was served when it was looked at."""

    def tidy(self) -> bool:
        """Close the sessions of the dead and evict those that exceed the limits; failures are warnings. False where
        other processes write the index: then it is to be done later."""
        try:
            retention.tidy(self._paths, self._settings(), self._pause)
        except (OSError, sqlite3.Error, Unusable) as error:
            if isinstance(error, sqlite3.Error) and is_held(error):
                return False
            warn(f"records are not tidied: {error}")
        return True

    def catch_up(self) -> None:
        """So that commands find little to catch up on."""
        try:
            index.catch_up_on_disk(self._paths, self._pause)
        except (OSError, sqlite3.Error, Unusable):
            return  # the journals have it all; whoever reads next catches up

    def _pause(self, done: int, total: int) -> None:
        """After each step, with nothing locked: wait until nobody has been served for a moment, but not for ever."""
        last = time.monotonic() + _LONGEST_PAUSE_S
        while done < total and not self.hurries and self._look() < _QUIET_LOOKS and time.monotonic() < last:
            time.sleep(_LOOK_EVERY_S)

    def _look(self) -> int:
        self._quiet = 0 if self._is_busy() else self._quiet + 1
        return self._quiet
