"""One session's journal: an append-only file of JSON lines, owned by whoever holds its lock."""

import contextlib
import errno
import os
import time
from collections.abc import Iterator
from pathlib import Path

from mcpctl import posix
from mcpctl.paths import private_dir
from mcpctl.store import clock, lines

_FLAGS = os.O_RDWR | os.O_APPEND | os.O_CLOEXEC
_DAY_S = 86_400


class Journal:
    """An open journal, locked for as long as it is open. The lock, never a pid, says that its session lives."""

    def __init__(self, path: Path, fd: int, session_id: str, *, shared: bool = False) -> None:
        self.path = path
        self.session_id = session_id
        self._fd = fd
        self._shared = shared
        self._torn = False

    @classmethod
    def create(cls, folder: Path, created: lines.SessionCreated) -> "Journal":
        """A new session's journal with its first line; other processes never see it unlocked or empty."""
        path = folder / f"{time.time_ns()}_{created.id}.jsonl"
        fd = _write_beside(path, created, shared=False)
        path.with_suffix(".new").rename(path)
        return cls(path, fd, created.id)

    @classmethod
    def of_the_day(cls, folder: Path, created: lines.SessionCreated) -> "Journal":
        """The journal that today's command-line calls share, created by the first of them."""
        import uuid

        midnight = int(time.time()) // _DAY_S * _DAY_S
        created.id = str(uuid.uuid5(uuid.NAMESPACE_URL, f"mcpctl:cli:{midnight}"))
        path = folder / f"{midnight * 1_000_000_000}_{created.id}.jsonl"
        while True:
            with contextlib.suppress(FileNotFoundError):
                fd = os.open(path, _FLAGS)
                posix.lock(fd, shared=True, wait=True)
                if os.fstat(fd).st_nlink:
                    return cls(path, fd, created.id, shared=True)
                os.close(fd)  # evicted between open and lock
            beside = path.with_suffix(f".{os.getpid()}.new")
            fd = _write_beside(path, created, shared=True, beside=beside)
            try:
                os.link(beside, path)
                return cls(path, fd, created.id, shared=True)
            except FileExistsError:
                os.close(fd)  # another command was first
            finally:
                beside.unlink()

    def append(self, line: bytes, *, fsync: bool = False) -> None:
        """Write whole lines with one write; raises OSError and leaves no half line joined to the next.

        Lines that were written before it failed may be given again: each is told by its id.
        """
        if self._torn or (self._shared and _ends_torn(self._fd)):
            line = b"\n" + line
        written = os.write(self._fd, line)
        if written != len(line):
            # The rest does not fit. What was written is no line; the next one must not continue it.
            self._torn = True
            raise OSError(errno.ENOSPC, f"only {written} of {len(line)} bytes could be written")
        self._torn = False
        if fsync:
            os.fsync(self._fd)

    def close(self, last: bytes | None = None) -> None:
        """Write the session's last line, if it has one, and give up the lock."""
        try:
            if last and not self._shared:
                self.append(last)
        finally:
            os.close(self._fd)


def _write_beside(path: Path, created: lines.SessionCreated, *, shared: bool, beside: Path | None = None) -> int:
    """A locked descriptor of a file beside `path` that holds the first line."""
    private_dir(path.parent.parent)
    private_dir(path.parent)
    beside = beside or path.with_suffix(".new")
    fd = os.open(beside, _FLAGS | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        posix.lock(fd, shared=shared)
        line = lines.encode(created)
        if os.write(fd, line) != len(line):
            raise OSError(errno.ENOSPC, "no space left on device")
    except BaseException:
        os.close(fd)
        beside.unlink(missing_ok=True)
        raise
    return fd


def _ends_torn(fd: int) -> bool:
    """Whether the last line was never finished, by whoever wrote it."""
    size = os.fstat(fd).st_size
    return size > 0 and os.pread(fd, 1, size - 1) != b"\n"


def is_alive(path: Path, *, shared: bool = False) -> bool:
    """Whether some process holds the journal's lock; `shared` says that command-line calls share it."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        # A shared lock is enough to see a `serve`, and lets two commands look at the same moment.
        return not posix.lock(fd, shared=not shared)
    finally:
        os.close(fd)


@contextlib.contextmanager
def claimed(path: Path) -> Iterator[int | None]:
    """The journal's descriptor under its lock, or None while a session lives in it or it is gone."""
    try:
        fd = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
    except OSError:
        yield None
        return
    try:
        yield fd if posix.lock(fd) and os.fstat(fd).st_nlink else None
    finally:
        os.close(fd)


def close_for_the_dead(path: Path, session_id: str, end_time: str) -> bool:
    """Close on record a session whose process is gone; False while it lives."""
    with claimed(path) as fd:
        if fd is None:
            return False
        line = lines.encode(lines.SessionClosed(timestamp=clock.now(), id=session_id, end_time=end_time))
        os.write(fd, b"\n" + line if _ends_torn(fd) else line)
        return True


def evict(path: Path) -> bool:
    """Remove a session's journal; False while it lives."""
    with claimed(path) as fd:
        if fd is None:
            return False
        path.unlink(missing_ok=True)
        return True
