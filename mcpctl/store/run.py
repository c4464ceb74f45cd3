"""A run: the sessions of one process that has many, in a file that is locked for as long as it lasts.

A journal that nothing was written to for a while is closed, and with it its lock: then its run says that its session
lives. And `keep_sessions` removes no session of a run that lasts.
"""

import os
import uuid
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from mcpctl.base import files, posix
from mcpctl.base.paths import Paths, private_dir

BOUNDS_S = (0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300)  # of the durations that are counted
_OPEN, _RESTING, _LISTENS = b"open", b"rests", b"listens"


class Run:
    def __init__(self, paths: Paths) -> None:
        """Raises OSError where it cannot be kept."""
        private_dir(paths.runs)
        path = paths.runs / str(uuid.uuid4())
        # Other processes never see it unlocked.
        self._fd, beside = files.create_beside(path, must_lock=True)
        beside.rename(path)
        self._path = path
        self.started = 0
        self.statuses: Counter[str] = Counter()  # of the calls that ended
        self.durations = [0] * (len(BOUNDS_S) + 1)  # by the first bound that is not exceeded
        self.seconds = 0.0

    def finished(self, status: str, seconds: float) -> None:
        """A call ended."""
        self.statuses[status] += 1
        self.durations[bisect_left(BOUNDS_S, seconds)] += 1
        self.seconds += seconds

    def listens(self, address: str) -> None:
        """At an address that other machines reach."""
        self._say(_LISTENS, address)

    def opened(self, journal: str) -> None:
        self._say(_OPEN, journal)

    def rests(self, journal: str) -> None:
        """Before it is closed: another process that can lock it is to know."""
        self._say(_RESTING, journal)

    def close(self) -> None:
        self._path.unlink(missing_ok=True)
        os.close(self._fd)

    def _say(self, state: bytes, journal: str) -> None:
        posix.write(self._fd, b"%b %b\n" % (state, journal.encode()))


def in_runs(folder: Path) -> Mapping[str, bool]:
    """The names of the journals of all runs that last, each with whether it rests."""
    return {name: state == _RESTING for state, name in _lines(folder) if state != _LISTENS}


def addresses(folder: Path) -> list[str]:
    """The addresses that other machines reach, of all runs that last."""
    return [name for state, name in _lines(folder) if state == _LISTENS]


def _lines(folder: Path) -> Iterator[tuple[bytes, str]]:
    for path in _files(folder):
        # A shared lock is enough to see its owner, and lets two commands look at the same moment.
        with suppress(OSError), posix.opened(path, os.O_RDONLY) as fd:
            if not posix.lock(fd, shared=True):
                for line in path.read_bytes().split(b"\n")[:-1]:
                    state, _, name = line.partition(b" ")
                    yield state, name.decode("utf-8", "replace")


def rests(journal: Path) -> bool:
    return in_runs(journal.parent.with_name("runs")).get(journal.name, False)


def sweep(folder: Path) -> None:
    """Remove the files of runs that were killed."""
    for path in _files(folder):
        with suppress(OSError), posix.opened(path, os.O_RDONLY) as fd:
            if posix.lock(fd):
                path.unlink(missing_ok=True)


def _files(folder: Path) -> Iterator[Path]:
    with suppress(FileNotFoundError):
        yield from folder.iterdir()
