"""A shell at a terminal of its own, driven by keys."""

import os
import pty
import re
import select
import signal
import time
from collections.abc import Mapping, Sequence
from typing import Self

PATIENCE_S = 60


class Terminal:
    """A program on a pseudo-terminal; ended with its own process group when the block ends."""

    def __init__(self, argv: Sequence[str], env: Mapping[str, str]) -> None:
        self.shown = ""
        self._pid, self._fd = pty.fork()
        if not self._pid:
            signal.signal(signal.SIGINT, signal.SIG_DFL)  # which a job in the background ignores, with all it starts
            os.execvpe(argv[0], list(argv), dict(env))

    def type(self, keys: str) -> None:
        """Press keys."""
        data = keys.encode()
        while data:
            data = data[os.write(self._fd, data) :]

    def wait_for(self, pattern: str) -> re.Match[str]:
        """Read until what was shown since the last match has the pattern."""
        deadline = time.monotonic() + PATIENCE_S
        while not (match := re.search(pattern, self.shown)):
            ready, _, _ = select.select([self._fd], [], [], max(0, deadline - time.monotonic()))
            assert ready, f"no {pattern!r} in {self.shown!r}"
            self.shown += os.read(self._fd, 65536).decode(errors="replace")
        self.shown = self.shown[match.end() :]
        return match

    def wait_for_end(self) -> None:
        """Read until the program has ended."""
        while True:
            ready, _, _ = select.select([self._fd], [], [], PATIENCE_S)
            assert ready, f"it does not end: {self.shown!r}"
            try:
                read = os.read(self._fd, 65536)
            except OSError:  # on Linux the end of the other side is an error
                return
            if not read:
                return
            self.shown += read.decode(errors="replace")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._fd)  # its session loses its terminal, and ends
        os.waitpid(self._pid, 0)
