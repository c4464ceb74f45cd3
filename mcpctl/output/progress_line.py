"""The progress of long work on a terminal: one line on stderr, written over itself and cleared at the end."""

import contextlib
import shutil
import sys
import time

clock = time.monotonic
_FIRST_S = 0.5
"""Shorter work shows no line, which would only flicker."""
_BETWEEN_S = 0.1
_ECHO = len("^C")


class ProgressLine:
    """A `Progress` that writes the line. It uses no escape codes, so it works without colours."""

    def __init__(self, task: str, unit: str) -> None:
        self._task = task
        self._unit = unit
        self._due = clock() + _FIRST_S
        self._width = 0

    def __call__(self, done: int, total: int) -> None:
        """Show the progress, but not too often; clear the line when all is done."""
        if done >= total:
            self.clear()
        elif (now := clock()) >= self._due:
            self._due = now + _BETWEEN_S
            text = f"{self._task}: {self._amount(done, total)}"[: shutil.get_terminal_size().columns - 1 - _ECHO]
            _write(f"\r{text:<{self._width}}")
            self._width = len(text)

    def clear(self) -> None:
        """Clear the line, and the `^C` that a terminal shows beside it."""
        if self._width:
            _write(f"\r{'':<{self._width + _ECHO}}\r")
            self._width = 0

    def _amount(self, done: int, total: int) -> str:
        return f"{done:,} of {total:,} {self._unit}" if self._unit else f"{100 * done // total}%"


def _write(text: str) -> None:
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(text)
        sys.stderr.flush()
