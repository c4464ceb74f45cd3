"""One session's journal: an append-only file of JSON lines, owned by the process that has its lock."""

import contextlib
import errno
import os
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from mcpctl.base import files, posix
from mcpctl.base.paths import private_dir
from mcpctl.store import clock

if TYPE_CHECKING:
    from mcpctl.store.journal_lines import SessionCreated

_FLAGS = os.O_RDWR | os.O_APPEND | os.O_CLOEXEC
_TRIES = 100
NOT_REGULAR = "it is not a regular file"


class Journal:
    """A journal is locked for as long as it is open. The lock, never a pid, says that its session lives."""

    def __init__(self, path: Path, fd: int, session_id: str, *, shared: bool = False) -> None:
        self.path = path
        self.session_id = session_id
        self._fd = fd
        self._shared = shared
        self._torn = False
        self._listed = False  # whether the disk has its name, too

    @classmethod
    def create(cls, folder: Path, created: "SessionCreated") -> "Journal":
        """A new session's journal; other processes never see it unlocked or empty."""
        path = folder / f"{time.time_ns()}_{created.id}.jsonl"
        with _written_beside(path, created, shared=False) as (fd, beside):
            beside.rename(path)
        return cls(path, fd, created.id)

    @classmethod
    def of_the_day(cls, folder: Path, created: "SessionCreated", key: bytes) -> "Journal":
        """The journal that today's command-line calls share; the data directory's secret `key` makes its id unique."""
        import hashlib
        import uuid

        midnight = int(time.mktime((*time.localtime()[:3], 0, 0, 0, 0, 0, -1)))
        home = hashlib.sha256(b"mcpctl:cli" + key).hexdigest()
        created.id = str(uuid.uuid5(uuid.NAMESPACE_URL, f"mcpctl:cli:{home}:{midnight}"))
        path = folder / f"{midnight * 1_000_000_000}_{created.id}.jsonl"
        for _ in range(_TRIES):
            with contextlib.suppress(FileNotFoundError):
                fd = open_file(path, _FLAGS)
                posix.lock(fd, shared=True, wait=True)
                if os.fstat(fd).st_nlink:
                    return cls(path, fd, created.id, shared=True)
                os.close(fd)  # evicted between open and lock
            with contextlib.suppress(FileExistsError), _written_beside(path, created, shared=True) as (fd, beside):
                posix.put(beside, path)
                return cls(path, fd, created.id, shared=True)
        raise OSError(errno.EEXIST, "it can neither be opened nor made", str(path))

    def append(self, line: bytes, *, fsync: bool = False) -> None:
        """Write lines at once; raises OSError, without half a line left. Lines may be given again: each has an id."""
        if self._torn or (self._shared and _ends_torn(self._fd)):
            line = b"\n" + line
        written = os.write(self._fd, line)
        if written != len(line):
            # The rest does not fit. The written part is not a line; the next one must not continue it.
            self._torn = True
            raise OSError(errno.ENOSPC, f"only {written} of {len(line)} bytes could be written")
        self._torn = False
        if fsync:
            os.fsync(self._fd)
            if not self._listed:
                posix.sync_folder(self.path.parent)
                self._listed = True

    def rest(self) -> None:
        """Close the file for a while: `wake` comes before the next line, and something else has to say that its session
        lives."""
        fd, self._fd = self._fd, -1
        os.close(fd)

    def wake(self) -> None:
        """Raises OSError where it cannot be opened, or is gone."""
        fd = open_file(self.path, _FLAGS)
        posix.lock(fd, wait=True)  # those who look whether it is alive hold it for a moment
        if not os.fstat(fd).st_nlink:
            os.close(fd)
            raise FileNotFoundError(errno.ENOENT, "it was removed", str(self.path))
        self._fd = fd

    @property
    def rests(self) -> bool:
        return self._fd < 0

    def close(self, last: bytes | None = None) -> None:
        try:
            if last and not self._shared:
                self.append(last)
        finally:
            os.close(self._fd)


def open_file(path: Path, flags: int) -> int:
    """A journal's descriptor; raises OSError for a file that is not regular, without waiting for a FIFO's writer."""
    fd = os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(errno.EINVAL, NOT_REGULAR, str(path))
    return fd


@contextlib.contextmanager
def _written_beside(path: Path, created: "SessionCreated", *, shared: bool) -> Iterator[tuple[int, Path]]:
    """A new file with the first line, to be given its name; nothing is left beside, and on failure it is closed."""
    from mcpctl.store import journal_lines

    private_dir(path.parent)
    fd, beside = files.create_beside(path, shared=shared, must_lock=True)
    try:
        line = journal_lines.encode(created)
        if os.write(fd, line) != len(line):
            raise OSError(errno.ENOSPC, "no space left on device")
        yield fd, beside
    except BaseException:
        os.close(fd)
        raise
    finally:
        beside.unlink(missing_ok=True)


def _ends_torn(fd: int) -> bool:
    size = os.fstat(fd).st_size
    return size > 0 and os.pread(fd, 1, size - 1) != b"\n"


def is_alive(path: Path, *, shared: bool = False) -> bool:
    """Whether a process has locked the journal, or has it rest; `shared` says that command-line calls share it."""
    # Looked at twice: it may be opened again just when its run is read.
    return _is_locked(path, shared) or _rests(path) or (not shared and _is_locked(path, shared))


def _is_locked(path: Path, shared: bool) -> bool:
    try:
        fd = open_file(path, os.O_RDONLY)
    except FileNotFoundError:
        return False
    except OSError:
        return True  # nothing can be told of it but what is on record
    try:
        # A shared lock is enough to see a `serve`, and lets two commands look at the same moment.
        return not posix.lock(fd, shared=not shared)
    finally:
        os.close(fd)


@contextlib.contextmanager
def claimed(path: Path) -> Iterator[int | None]:
    """The journal's descriptor, locked, or None while a session lives in it or it is gone."""
    try:
        fd = open_file(path, _FLAGS)
    except OSError:
        yield None
        return
    try:
        is_free = posix.lock(fd) and os.fstat(fd).st_nlink and not _rests(path)
        yield fd if is_free else None
    finally:
        os.close(fd)


def _rests(path: Path) -> bool:
    """Whether its process has closed it for a while, and goes on."""
    if not path.parent.with_name("runs").exists():
        return False
    from mcpctl.store import run  # few processes have many sessions

    return run.rests(path)


def close_for_the_dead(path: Path, session_id: str, end_time: str) -> bool:
    """Write the end of a session whose process is gone; False while it lives."""
    from mcpctl.store import journal_lines

    with claimed(path) as fd:
        if fd is None:
            return False
        line = journal_lines.encode(
            journal_lines.SessionClosed(timestamp=clock.now(), id=session_id, end_time=end_time)
        )
        os.write(fd, b"\n" + line if _ends_torn(fd) else line)
        return True


def evict(path: Path) -> bool:
    """Remove a journal, or a file that was left beside one; False while its session lives."""
    with claimed(path) as fd:
        if fd is None:
            return False
        path.unlink(missing_ok=True)
        return True
