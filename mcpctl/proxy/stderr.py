"""What `serve` says on stderr: nothing waits for it, since a client need not read what it says."""

import contextlib
import io
import sys
import threading
from collections import deque
from collections.abc import Iterator
from typing import TextIO

_MAX_WAITING = 1 << 18
"""Characters that wait to be read before more is left out."""
_LAST_S = 0.1


class Stderr(io.TextIOBase):
    """Takes text at once and has a thread write it to `stream`, line by line. What finds no room is only counted."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._changed = threading.Condition()
        self._lines: deque[str] = deque()
        self._begun = ""
        self._waiting = 0
        self._left_out = 0
        self._thread: threading.Thread | None = None

    def write(self, text: str) -> int:
        """Keep whole lines for the thread; a line that has no end yet waits for it."""
        with self._changed:
            *whole, self._begun = (self._begun + text).split("\n")
            if len(self._begun) > _MAX_WAITING:
                whole, self._begun = [*whole, self._begun], ""
            for line in whole:
                self._take(line + "\n")
            if self._lines and self._thread is None:
                self._thread = threading.Thread(target=self._write_all, name="stderr", daemon=True)
                self._thread.start()
            self._changed.notify_all()
        return len(text)

    def drain(self, seconds: float = _LAST_S) -> None:
        """Wait until all is written, that long at most."""
        with self._changed:
            self._changed.wait_for(lambda: not self._waiting, seconds)

    def isatty(self) -> bool:
        """Whether a person reads it."""
        return self._stream.isatty()

    def fileno(self) -> int:
        """The descriptor that is written to in the end."""
        return self._stream.fileno()

    def _take(self, line: str) -> None:
        if self._waiting + len(line) > _MAX_WAITING:
            self._left_out += 1
            return
        self._lines.append(line)
        self._waiting += len(line)

    def _write_all(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._lines)
                text, left_out = "".join(self._lines), self._left_out
                self._lines.clear()
                self._left_out = 0
            taken = len(text)
            if left_out:
                text += f"mcpctl: {left_out} more lines were left out, since nobody read these\n"
            # Nobody is there, or nothing can be written: there is no other place to say so.
            with contextlib.suppress(OSError, ValueError):
                self._stream.write(text)
                self._stream.flush()
            with self._changed:
                self._waiting -= taken
                self._changed.notify_all()


@contextlib.contextmanager
def not_waited_for() -> Iterator[Stderr]:
    """Whatever this process prints goes to stderr, and is not waited for; at the end most briefly."""
    kept = sys.stdout, sys.stderr
    stderr = Stderr(sys.stderr)
    sys.stdout = sys.stderr = stderr
    try:
        yield stderr
    finally:
        stderr.drain()
        sys.stdout, sys.stderr = kept
