"""The key of the hashes in redaction marks: a file of the data directory, made once, that nobody has to wait for."""

import errno
import os
import sqlite3
from contextlib import closing
from pathlib import Path

from mcpctl.base import posix
from mcpctl.base.errors import Unusable, warn
from mcpctl.base.paths import Paths, private_dir
from mcpctl.store import journal, sqlite

_LENGTH = 32


def load(paths: Paths) -> bytes:
    """Made where there is none yet. Where it cannot be had, a key of this process's own: marks are then comparable
    within one session only."""
    try:
        return _kept(paths.redaction_key) or _made(paths)
    except (OSError, Unusable):
        return os.urandom(_LENGTH)


def _kept(path: Path) -> bytes | None:
    try:
        fd = journal.open_file(path, os.O_RDONLY)
    except FileNotFoundError:
        return None
    try:
        key = os.read(fd, _LENGTH + 1)
    finally:
        os.close(fd)
    if len(key) != _LENGTH:
        warn(f"{path} is damaged: redaction marks are comparable within one session only; remove the file")
        raise OSError(errno.EINVAL, "not a key")
    return key


def _made(paths: Paths) -> bytes:
    path = paths.redaction_key
    key = _of_older_versions(paths.state) or os.urandom(_LENGTH)
    private_dir(path.parent)
    fd, beside = journal.created_beside(path)
    try:
        os.write(fd, key)
        os.fsync(fd)
        posix.put(beside, path)
    except FileExistsError:
        return _kept(path) or key  # another process was first
    finally:
        os.close(fd)
        beside.unlink(missing_ok=True)
    return key


def _of_older_versions(state: Path) -> bytes | None:
    """Older versions keep it in state.db; raises OSError while that is locked, rather than make another."""
    if not state.exists():
        return None
    try:
        with closing(sqlite.connect_unchanged(state, patience_s=0)) as db:
            row = db.execute("SELECT value FROM settings WHERE name = 'redaction_key'").fetchone()
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise OSError(errno.EBUSY, str(error)) from error
        return None  # it has no settings, or is damaged
    return bytes(row[0]) if row and isinstance(row[0], bytes) and len(row[0]) == _LENGTH else None
