"""A SQLite database's file, from its making to its removal, in WAL mode among several processes; growth by steps."""

import contextlib
import errno
import os
import re
import sqlite3
import stat
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from mcpctl.base import posix
from mcpctl.base.errors import Unusable
from mcpctl.base.models import RawJson
from mcpctl.base.paths import cannot_write, private_dir

_NO_ROOM = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_SHMSIZE)
HELD = "database_held"
_BETWEEN_S = 0.01
_BEGINNING = b"SQLite format 3\0"  # https://www.sqlite.org/fileformat.html#magic_header_string
PATIENCE_S = 10
LAST = "\U0010ffff"  # sorted behind every text that begins with the text before it
_of_thread = threading.local()
_TABLE = re.compile(r"(CREATE|DROP) TABLE (\w+)")
Steps = tuple[tuple[str, str], ...]  # names and statements
Connected = TypeVar("Connected", bound=sqlite3.Connection)


class Dialect:
    """The SQL of this database, where databases differ; the rest of what is asked of records is the same for all."""

    number = "rowid"  # the number of a row
    every: int | None = -1  # the limit of a list that has none
    also: Mapping[str, str] = {}  # columns of every list beside its fields
    p50 = "CAST(substr(percentiles({}) FILTER (WHERE {}), 1, 20) AS INTEGER)"
    p95 = "CAST(substr(percentiles({}) FILTER (WHERE {}), 21) AS INTEGER)"
    error_code = "CASE WHEN json_valid({0}) THEN json_extract({0}, '$.code') END"
    size = "length(CAST({} AS BLOB))"  # of a text in bytes
    after = "strftime('%Y-%m-%dT%H:%M:%fZ', {}, '+{} seconds')"
    day = "strftime('%Y-%m-%d', {}, 'localtime')"
    hour = "strftime('%Y-%m-%d %H:00', {}, 'localtime')"
    has = "instr({}, {}) > 0"
    like = "{} LIKE ? ESCAPE '!'"  # in any case of ASCII
    as_json: Callable[[str], RawJson] = RawJson  # of a column that has JSON

    def by_order(self, expression: str) -> str:
        """The expression, of which no index is asked: rows are to come in the order of another."""
        return f"+{expression}"

    def some(self, table: str, chosen: str, order: str) -> str:
        """Few rows. Where all that meets the conditions has to be sorted, it is sorted without its responses."""
        return f" WHERE rowid IN (SELECT rowid FROM {table}{chosen}) ORDER BY {order}"

    def fits(self, column: str, glob: str) -> tuple[str, str]:
        """The condition that a text fits a glob with * and ?, and what it is asked with."""
        return f"{column} GLOB ?", glob.replace("[", "[[]")

    def said(self, lowered: str) -> str:
        """The text that the function `says` is asked with."""
        return lowered

    def among(self, column: str, values: Sequence[Any]) -> tuple[str, Any]:
        """The condition on a column to be one of many values, and what it is asked with."""
        import json

        return f"{column} IN (SELECT value FROM json_each(?))", json.dumps(values)


SQLITE = Dialect()


class SqliteDatabase(sqlite3.Connection):
    dialect = SQLITE
    stream = sqlite3.Connection.execute


@contextlib.contextmanager
def patience(seconds: float) -> Iterator[None]:
    """Connections that this thread opens in the block wait so long at most for another one that has the database."""
    _of_thread.seconds = seconds
    try:
        yield
    finally:
        del _of_thread.seconds


def patience_s() -> float:
    return min(PATIENCE_S, getattr(_of_thread, "seconds", PATIENCE_S))


@contextlib.contextmanager
def closed_on_error(db: Connected) -> Iterator[Connected]:
    try:
        yield db
    except BaseException:
        db.close()
        raise


@contextlib.contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    """Write all that the block does, or nothing, in autocommit mode (`isolation_level=None`); one within another is
    part of it. The first error is raised: SQLite may have rolled back, and a second ROLLBACK would hide why."""
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
    """Read the database as it was at one moment, whatever other processes write meanwhile."""
    db.execute("BEGIN")
    try:
        yield
    finally:
        if db.in_transaction:
            db.execute("ROLLBACK")


def unwritable(path: Path, error: sqlite3.Error) -> Unusable:
    if is_held(error):
        hint = "another process has it at this moment; try again"
        return Unusable(f"cannot write {path}: {error}", hint, HELD)
    if getattr(error, "sqlite_errorcode", 0) in _NO_ROOM:
        hint = "make room there, or name another place with --data-dir or MCPCTL_DATA_DIR"
        return Unusable(f"cannot write {path}: the disk is full", hint, "disk_full")
    return cannot_write(path, OSError(0, str(error)))


def is_held(error: sqlite3.Error) -> bool:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def create(path: Path) -> None:
    """Make an empty file, its owner's, for one who is `alone` there; no deleted database's log stays beside it."""
    if not path.exists():
        _unlink(path)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))


def connect(path: Path, *, any_thread: bool = False) -> SqliteDatabase:
    """A database for reading and writing, in WAL mode and in autocommit mode."""
    db = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=rw", uri=True, timeout=patience_s(), isolation_level=None,
        check_same_thread=not any_thread, factory=SqliteDatabase,
    )  # fmt: skip
    with closed_on_error(db):
        switch_on_wal(db)
        db.execute("PRAGMA synchronous = NORMAL")
    return db


def connect_unchanged(path: Path, patience_s: float = PATIENCE_S) -> SqliteDatabase:
    """A database for reading, left as it lies; raises sqlite3.Error where none can be read in time."""
    # Without both files of its log, opening it would make them; then nobody is writing, and it stays as it is.
    how = "mode=ro" if all(file.exists() for file in files(path)) else "mode=ro&immutable=1"
    uri = f"{path.absolute().as_uri()}?{how}"
    return sqlite3.connect(uri, uri=True, timeout=patience_s, factory=SqliteDatabase)


def switch_on_wal(db: sqlite3.Connection) -> None:
    """Switch to WAL, and try again if SQLite says that it is locked: of two that switch at once, neither waits for the
    other (https://www.sqlite.org/wal.html). One that has it alone is waited for as for any lock."""
    last = time.monotonic() + patience_s()
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
    return path, path.with_name(path.name + "-wal"), path.with_name(path.name + "-shm")


def inode(path: Path) -> int | None:
    try:
        return path.stat().st_ino
    except FileNotFoundError:
        return None


def is_empty(path: Path) -> bool:
    try:
        status = path.stat()
    except OSError as error:
        return error.errno in (errno.ENOENT, errno.ENOTDIR)  # else opening it says what is wrong
    return stat.S_ISREG(status.st_mode) and not status.st_size


def is_other(path: Path) -> bool:
    """Whether a file that can be read begins as no database does."""
    try:
        with path.open("rb") as file:
            return file.read(len(_BEGINNING)) != _BEGINNING
    except OSError:
        return False


def remove(path: Path) -> None:
    """Delete a database and its log; connections that are open keep the deleted file."""
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
    """Keep others from making or removing a database in the folder, which is made if need be."""
    private_dir(folder)
    with posix.opened(folder, os.O_RDONLY) as fd:
        posix.lock(fd, wait=True)
        yield


def _unlink(path: Path) -> None:
    for file in files(path):
        file.unlink(missing_ok=True)


class DatabaseKind(NamedTuple):
    code: str  # `state` or `policy`: the codes of its failures begin so
    steps: Steps
    if_damaged: str
    noted_in: str = ""  # the database beside it that notes that it was made, so that it is not made again


def connect_grown(path: Path, kind: DatabaseKind) -> sqlite3.Connection:
    """Raises `Unusable` for a database that is newer, broken or cannot be opened. To make one, be `alone` there."""
    try:
        return _grown(path, kind)
    except OSError as error:
        raise cannot_write(path, error) from error
    except sqlite3.OperationalError as error:
        if path.is_dir():
            raise damaged(path, kind, "it is a folder") from error
        raise unwritable(path, error) from error
    except sqlite3.DatabaseError as error:
        raise damaged(path, kind, error) from error


def damaged(path: Path, kind: DatabaseKind, why: object) -> Unusable:
    from shlex import quote

    hint = removal(path, kind)
    if path.is_dir():
        hint = f"move it away: mv {quote(str(path))} {quote(f'{path}.away')}"
    return Unusable(f"{path} is damaged: {why}", hint, code=f"{kind.code}_damaged")


def removal(path: Path, kind: DatabaseKind) -> str:
    from shlex import quote

    if not kind.noted_in:
        return f"{kind.if_damaged}: rm {quote(str(path))}"
    return f"{kind.if_damaged}: rm -f {quote(str(path))} {quote(str(path.with_name(kind.noted_in)))}"


def look_through(db: sqlite3.Connection, path: Path, kind: DatabaseKind) -> None:
    """Raises `Unusable` where a page of the database cannot be read, which else shows when that is needed."""
    try:
        (result,) = db.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.DatabaseError as error:
        if is_held(error):
            return  # it is written at this moment, and so is read
        result = str(error)
    if result != "ok":
        raise damaged(path, kind, result.replace("\n", " "))


def _tables(kind: DatabaseKind) -> set[str]:
    tables: set[str] = set()
    for _, statement in kind.steps:
        if made := _TABLE.match(statement):
            (tables.add if made[1] == "CREATE" else tables.discard)(made[2])
    return tables


def migrate(db: sqlite3.Connection, kind: DatabaseKind) -> None:
    db.execute("CREATE TABLE IF NOT EXISTS steps (name TEXT PRIMARY KEY) WITHOUT ROWID")
    done = {name for (name,) in db.execute("SELECT name FROM steps")}
    refuse_newer(done, kind)
    for name, statement in kind.steps:
        # Looked at before it is locked, too: of many who start at once, one has done it meanwhile.
        if name not in done and not _is_done(db, name):
            with transaction(db):
                if not _is_done(db, name):
                    db.execute(statement)
                    db.execute("INSERT INTO steps VALUES (?)", (name,))


def _is_done(db: sqlite3.Connection, name: str) -> bool:
    return db.execute("SELECT 1 FROM steps WHERE name = ?", (name,)).fetchone() is not None


def refuse_newer(done: set[str], kind: DatabaseKind) -> None:
    unknown = done - {name for name, _ in kind.steps}
    if unknown:
        raise Unusable(
            f"{kind.code}.db was written by a newer mcpctl (step '{min(unknown)}')",
            "upgrade mcpctl, or name another place with MCPCTL_HOME",
            code=f"{kind.code}_newer",
        )


def _grown(path: Path, kind: DatabaseKind) -> sqlite3.Connection:
    create(path)
    if not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)):
        # A database in WAL mode whose folder cannot be written is readable only as one that nobody changes.
        uri = f"{path.absolute().as_uri()}?immutable=1"
        return sqlite3.connect(uri, uri=True, timeout=10, isolation_level=None, check_same_thread=False)
    with closed_on_error(connect(path, any_thread=True)) as db:
        migrate(db, kind)
        there = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if gone := _tables(kind) - there:
            raise sqlite3.DatabaseError(f"it has no table {min(gone)!r}")
    return db
