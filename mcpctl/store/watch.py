"""When to read again what is followed."""

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
