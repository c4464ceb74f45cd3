"""A SQLite database's file, from its making to its removal, in WAL mode among several processes; and transactions."""

import contextlib
import errno
import os
import sqlite3
import stat
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from mcpctl.base import posix
from mcpctl.base.errors import Unusable
from mcpctl.base.paths import cannot_write, private_dir

_NO_ROOM = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_SHMSIZE)
HELD = "database_held"
_BETWEEN_S = 0.01
PATIENCE_S = 10
_of_thread = threading.local()


@contextlib.contextmanager
def patience(seconds: float) -> Iterator[None]:
    """Connections that this thread opens in the block wait so long at most for another one that has the database."""
    _of_thread.seconds = seconds
    try:
        yield
    finally:
        del _of_thread.seconds


def _patience_s() -> float:
    return min(PATIENCE_S, getattr(_of_thread, "seconds", PATIENCE_S))


@contextlib.contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    """Write all that the block does, or nothing of it, in autocommit mode (`isolation_level=None`). One within another
    is part of that. The first error is raised: on a full disk SQLite has rolled back itself, and a second ROLLBACK
    would fail and hide why."""
    if db.in_transaction:
        yield
        return
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            with contextlib.suppress(sqlite3.Error):
                db.execute("ROLLBACK")
        raise


@contextlib.contextmanager
def snapshot(db: sqlite3.Connection) -> Iterator[None]:
    """Read everything in the block as it was at one moment, whatever other processes write meanwhile."""
    db.execute("BEGIN")
    try:
        yield
    finally:
        if db.in_transaction:
            db.execute("ROLLBACK")


def unwritable(path: Path, error: sqlite3.Error) -> Unusable:
    """The failure of a database that cannot be written: the disk is full, or another process has it."""
    if is_held(error):
        hint = "another process has it at this moment; try again"
        return Unusable(f"cannot write {path}: {error}", hint, HELD)
    if getattr(error, "sqlite_errorcode", 0) in _NO_ROOM:
        hint = "make room there, or name another place with --data-dir or MCPCTL_DATA_DIR"
        return Unusable(f"cannot write {path}: the disk is full", hint, "disk_full")
    return cannot_write(path, OSError(0, str(error)))


def is_held(error: sqlite3.Error) -> bool:
    """Whether it was only that another connection has the database at this moment."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def create(path: Path) -> None:
    """Make an empty file, its owner's alone, where there is none, for the one who is `alone` there. A log of a deleted
    database is never left beside it: SQLite would cut the one that connections of this process have mapped."""
    if not path.exists():
        _unlink(path)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))


def connect(path: Path, *, any_thread: bool = False) -> sqlite3.Connection:
    """A file that exists, for reading and writing, in WAL mode and in autocommit mode."""
    db = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=rw",
        uri=True,
        timeout=_patience_s(),
        isolation_level=None,
        check_same_thread=not any_thread,
    )
    try:
        switch_on_wal(db)
        db.execute("PRAGMA synchronous = NORMAL")
    except BaseException:
        db.close()
        raise
    return db


def connect_unchanged(path: Path, patience_s: float = PATIENCE_S) -> sqlite3.Connection:
    """For reading, left as it lies; raises sqlite3.Error where none can be read in time."""
    # Without both files of its log, opening it would make them; then nobody is writing, and it stays as it is.
    how = "mode=ro" if all(file.exists() for file in files(path)) else "mode=ro&immutable=1"
    return sqlite3.connect(f"{path.absolute().as_uri()}?{how}", uri=True, timeout=patience_s)


def switch_on_wal(db: sqlite3.Connection) -> None:
    """Put the database into WAL mode. Two who switch at once do not wait for each other, whatever their timeout is:
    SQLite tells one of them that it is locked, so that one tries again. https://www.sqlite.org/wal.html

    Whoever has it to itself is waited for as for any lock, and not once for each try.
    """
    last = time.monotonic() + _patience_s()
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > last:
                raise
            time.sleep(_BETWEEN_S)
        else:
            return


def files(path: Path) -> tuple[Path, ...]:
    """The database's file and those of its log."""
    return path, path.with_name(path.name + "-wal"), path.with_name(path.name + "-shm")


def inode(path: Path) -> int | None:
    try:
        return path.stat().st_ino
    except FileNotFoundError:
        return None


def is_empty(path: Path) -> bool:
    try:
        found = path.stat()
    except OSError as error:
        return error.errno in (errno.ENOENT, errno.ENOTDIR)  # else opening it says what is wrong
    return stat.S_ISREG(found.st_mode) and not found.st_size


def remove(path: Path) -> None:
    """Delete a database and its log. Connections that are open keep the deleted file."""
    with alone(path.parent):
        _unlink(path)


def put(beside: Path, path: Path, *, replace: bool, release: Callable[[], None]) -> None:
    """Give a closed database in `beside` the name `path`, unless there is one that is not to be replaced. A log of a
    deleted one, which others may still have open, is never left beside it. `release` gives up the maker's lock while
    nobody looks for leftovers, and before anybody can open it: to close a descriptor of a file gives up the locks that
    SQLite has on it in this process."""
    with alone(path.parent):
        release()
        if replace or not path.exists():
            _unlink(path)
            beside.rename(path)


@contextlib.contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Nobody else makes or removes a database in the folder meanwhile; the folder is made if need be."""
    private_dir(folder)
    fd = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        posix.lock(fd, wait=True)
        yield
    finally:
        os.close(fd)


def _unlink(path: Path) -> None:
    for file in files(path):
        file.unlink(missing_ok=True)
