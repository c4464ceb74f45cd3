"""How far long work is, for a person at a terminal: one line on stderr, written over itself and taken away again."""

import contextlib
import shutil
import sys
import time

clock = time.monotonic
_FIRST_S = 0.5
"""What is done sooner is not worth a line that flickers."""
_BETWEEN_S = 0.1
_ECHO = len("^C")


class Gauge:
    """The line, while there is one; a `Progress`. It has no escape codes, so it needs no colour to be allowed."""

    def __init__(self, doing: str, unit: str) -> None:
        self._doing = doing
        self._unit = unit
        self._due = clock() + _FIRST_S
        self._width = 0

    def __call__(self, done: int, total: int) -> None:
        """Show how far it is, but not too often; when all is done, nothing any more."""
        if done >= total:
            self.clear()
        elif (now := clock()) >= self._due:
            self._due = now + _BETWEEN_S
            text = f"{self._doing}: {self._far(done, total)}"[: shutil.get_terminal_size().columns - 1 - _ECHO]
            _write(f"\r{text:<{self._width}}")
            self._width = len(text)

    def clear(self) -> None:
        """Take the line away, and what a terminal shows of Ctrl-C beside it."""
        if self._width:
            _write(f"\r{'':<{self._width + _ECHO}}\r")
            self._width = 0

    def _far(self, done: int, total: int) -> str:
        return f"{done:,} of {total:,} {self._unit}" if self._unit else f"{100 * done // total}%"


def _write(text: str) -> None:
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(text)
        sys.stderr.flush()
