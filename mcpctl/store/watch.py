"""When to read again what is followed."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcpctl.store.events import Event, JournalEvents
    from mcpctl.store.records import Records

_PAUSES = 20  # after so many everything is looked at again: not every file system shows that a folder has changed


class Watch:
    """When to read what is followed: where a look at it differs from the last one, and now and then in any case."""

    def __init__(self) -> None:
        self._seen: object = None
        self._pauses = 0

    def is_due(self, look: object) -> bool:
        is_due = look != self._seen or self._pauses >= _PAUSES
        if is_due:
            self._seen, self._pauses = look, 0
        self._pauses += 1
        return is_due

    def forget(self) -> None:
        """Have it read the next time, however it looks then."""
        self._seen = None


def follow(records: "Records", events: "JournalEvents", pause: Callable[[], object]) -> "Iterator[Event]":
    """The events without end; `pause` is called after all that was new, and ends it by raising."""
    watch = Watch()
    while True:
        if watch.is_due(events.look()):
            if not records.refreshed():
                watch.forget()
            yield from events.read()
        pause()
