"""The progress of long work on a terminal: one line on stderr, written over itself and cleared at the end."""

import contextlib
import shutil
import sys
import time

from mcpctl.base.errors import inert
from mcpctl.output.text import line_of

clock = time.monotonic
_FIRST_S = 0.5  # shorter work shows no line, which would only flicker
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
        if done >= total:
            self.clear()
        else:
            self.tell(f"{done:,} of {total:,} {self._unit}" if self._unit else f"{100 * done // total}%")

    def tell(self, said: str) -> None:
        if (now := clock()) >= self._due:
            self._due = now + _BETWEEN_S
            text = _cut(inert(line_of(f"{self._task}: {said}")), shutil.get_terminal_size().columns - 1 - _ECHO)
            width = _width(text)
            _write(f"\r{text}{' ' * (self._width - width)}")
            self._width = width

    def clear(self) -> None:
        """Clear the line, and the `^C` that a terminal shows beside it."""
        if self._width:
            _write(f"\r{'':<{self._width + _ECHO}}\r")
            self._width = 0


def _width(text: str) -> int:
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _cut(text: str, width: int) -> str:
    if _width(text) <= width:
        return text
    from rich.cells import set_cell_size

    return set_cell_size(text, width)


def _write(text: str) -> None:
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(text)
        sys.stderr.flush()
