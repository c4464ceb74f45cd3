"""What every SQLite database here needs: whole transactions, and a write-ahead log that several processes switch on."""

import contextlib
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

from mcpctl.errors import Unusable
from mcpctl.paths import cannot_write

_NO_ROOM = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_SHMSIZE)
_TRIES = 500
_BETWEEN_S = 0.01


@contextlib.contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    """Write all that the block does, or nothing of it. The connection is in autocommit mode (`isolation_level=None`).

    What is raised is always the first error: where the disk is full SQLite has rolled back itself, and a second
    ROLLBACK would fail and hide why.
    """
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            with contextlib.suppress(sqlite3.Error):
                db.execute("ROLLBACK")
        raise


def unwritable(path: Path, error: sqlite3.Error) -> Unusable:
    """The failure to say when the database at `path` cannot be written: on a full disk, that it is full."""
    if getattr(error, "sqlite_errorcode", 0) in _NO_ROOM:
        hint = "make room there, or name another place with --data-dir or MCPCTL_DATA_DIR"
        return Unusable(f"cannot write {path}: the disk is full", hint, "disk_full")
    return cannot_write(path, OSError(0, str(error)))


def switch_on_wal(db: sqlite3.Connection) -> None:
    """Put the database into WAL mode. Two who switch at once do not wait for each other, whatever their timeout is:
    SQLite tells one of them that it is locked, so that one tries again. https://www.sqlite.org/wal.html
    """
    for attempt in range(_TRIES):
        try:
            db.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or attempt == _TRIES - 1:
                raise
            time.sleep(_BETWEEN_S)
        else:
            return
