"""The SQLite index of the journals: derived from them alone, and the same whenever it is derived again."""

import errno
import math
import os
import sqlite3
import stat
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from mcpctl.base import files
from mcpctl.base.errors import Unusable, warn
from mcpctl.base.models import Progress, unseen
from mcpctl.base.paths import Paths, cannot_write, private_dir
from mcpctl.store import journal, schema, sqlite
from mcpctl.store.sqlite import SqliteDatabase

DEAD = (  # the sessions that `mark_the_dead` has marked, but for that of today's commands
    "SELECT id, journal, last_activity FROM sessions"
    " WHERE status = 'active' AND id IN (SELECT session_id FROM dead)"
    " AND NOT (via = 'cli' AND date(start_time, 'localtime') = date('now', 'localtime'))"
)
_LOST = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_IOERR)
_CHUNK = 1 << 20
_READER_PATIENCE_S = 1.0  # a reader waits so long for those who write the index: then it answers from what that has
# A new index has no readers and may be thrown away: nothing is kept to roll back, and its file reaches the disk before
# it has its name. Pages are large since each call touches several, one of them anywhere in the file.
_BUILDING = """PRAGMA page_size = 16384; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;
PRAGMA locking_mode = EXCLUSIVE; PRAGMA cache_size = -16000"""


@contextmanager
def opened(paths: Paths, on_progress: Progress = unseen) -> Iterator[SqliteDatabase]:
    """An index that is caught up, in memory if need be; `dead(session_id)` has the sessions of ended processes."""
    with closing(_caught_up(paths, on_progress)) as db:
        try:
            mark_the_dead(db, paths.sessions)
            yield db
        except sqlite3.DatabaseError as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF not in _LOST:
                raise
            with suppress(OSError):
                sqlite.remove(paths.index)
            hint = "run the command again: the journals are read again"
            raise Unusable(f"{paths.index} was deleted or damaged: {error}", hint, "index_damaged") from error


def on_disk(paths: Paths, on_progress: Progress = unseen) -> Path:
    """The path of the index, caught up, for SQL of others; raises `Unusable` when it cannot be written."""
    with _refused(paths), closing(_on_disk(paths, on_progress)) as db:
        mark_the_dead(db, paths.sessions)
        if db.execute("SELECT session_id FROM dead EXCEPT SELECT session_id FROM gone").fetchone():
            with sqlite.transaction(db):
                db.execute("DELETE FROM gone")
                db.execute("INSERT INTO gone SELECT session_id FROM dead")
    return paths.index


def rebuild(paths: Paths, on_progress: Progress = unseen) -> None:
    """Until that is done, others read the old one. Raises `Unusable` when it cannot be written."""
    with _refused(paths):
        _build(paths, on_progress, replace=True)


def catch_up_on_disk(paths: Paths, on_progress: Progress = unseen) -> None:
    """Raises sqlite3.Error or OSError. Nothing is locked while `on_progress` runs."""
    _on_disk(paths, on_progress).close()


def remove_older(paths: Paths, unused_s: float = 0) -> None:
    """Delete indexes of older versions that nobody has written for so long, and leftovers of killed makers."""
    for path in paths.older_indexes:
        with suppress(FileNotFoundError):  # there was none, or it was removed meanwhile
            written = max(path.stat().st_mtime, *(file.stat().st_mtime for file in sqlite.files(path) if file.exists()))
            if time.time() - written >= unused_s:
                sqlite.remove(path)
    if left := list(paths.data.glob(f"*{paths.index.stem}*.new")):
        with sqlite.alone(paths.data):
            for path in left:
                journal.evict(path)


def catch_up(
    db: sqlite3.Connection, sessions: Path, on_progress: Progress = unseen, patience_s: float = math.inf
) -> None:
    """Read the new lines, with progress in bytes; after so long a wait for other writers it is left to them."""
    present = sizes(sessions)
    known = offsets(db)
    gone = [name for name in known if name not in present and _is_gone(sessions / name)]
    if gone:
        _forget(db, sessions, gone)
    # An unchanged journal costs no lock, and most are unchanged.
    changed = {name: known.get(name, 0) for name, size in sorted(present.items()) if size != known.get(name)}
    total, done = sum(present[name] - start for name, start in changed.items()), 0
    for name, start in changed.items():
        for position, waited_s in _read_on(db, sessions / name, present[name]):
            on_progress(done + position - start, total)
            patience_s -= waited_s
        if patience_s < 0:
            return
        done += present[name] - start
    if changed:
        on_progress(total, total)


def offsets(db: sqlite3.Connection) -> dict[str, int]:
    return dict(db.execute("SELECT name, offset FROM journals"))


def _caught_up(paths: Paths, on_progress: Progress) -> SqliteDatabase:
    for _ in range(3):
        try:
            return _read(paths, on_progress)
        except (sqlite3.OperationalError, OSError):
            break  # a read-only home, a full disk
        except sqlite3.DatabaseError:
            with suppress(OSError):  # deleted or damaged under us: the journals have all that is in it
                sqlite.remove(paths.index)
    memory = sqlite3.connect(":memory:", isolation_level=None, factory=SqliteDatabase)
    return _filled(memory, paths, on_progress)


def _read(paths: Paths, on_progress: Progress) -> SqliteDatabase:
    """The index for a reader: caught up, or as it is where others write it for longer than a moment."""
    with sqlite.closed_on_error(_connect(paths, on_progress)) as db:
        db.execute(f"PRAGMA busy_timeout = {1000 * _READER_PATIENCE_S:.0f}")
        try:
            catch_up(db, paths.sessions, on_progress, _READER_PATIENCE_S)
        except sqlite3.OperationalError as error:
            if not sqlite.is_held(error):
                raise
        db.execute(f"PRAGMA busy_timeout = {1000 * sqlite.PATIENCE_S}")
    return db


def _on_disk(paths: Paths, on_progress: Progress = unseen) -> SqliteDatabase:
    with sqlite.closed_on_error(_connect(paths, on_progress)) as db:
        catch_up(db, paths.sessions, on_progress)
    return db


def _connect(paths: Paths, on_progress: Progress) -> SqliteDatabase:
    path = paths.index
    for _ in range(5):
        if not path.exists():
            _build(paths, on_progress, replace=False)
        before = sqlite.inode(path)
        if before is None:
            continue
        db = _prepared(sqlite.connect(path))
        if sqlite.inode(path) == before:
            return db
        db.close()  # made again meanwhile: its log and ours would be of two databases
    raise sqlite3.OperationalError("it is deleted again and again")


def _build(paths: Paths, on_progress: Progress, *, replace: bool) -> None:
    private_dir(paths.data)
    fd, beside = files.create_beside(paths.index, must_lock=True)
    with ExitStack() as held:
        held.callback(beside.unlink, missing_ok=True)
        maker = held.enter_context(ExitStack())
        maker.callback(os.close, fd)
        db = sqlite3.connect(beside, isolation_level=None, factory=SqliteDatabase)
        db.executescript(_BUILDING)
        _filled(db, paths, on_progress).close()
        os.fsync(fd)
        sqlite.put(beside, paths.index, replace=replace, release=maker.close)


def _filled(db: SqliteDatabase, paths: Paths, on_progress: Progress) -> SqliteDatabase:
    # In one transaction: the end of each writes every page that it has touched, and ids touch pages anywhere.
    with sqlite.closed_on_error(db), sqlite.transaction(db):
        _execute(db, schema.TABLES)
        catch_up(db, paths.sessions, on_progress)
        _execute(db, schema.INDEXES)
    return db


def _prepared(db: SqliteDatabase) -> SqliteDatabase:
    whole = f"SELECT 1 FROM sqlite_master WHERE name = '{schema.LAST}'"
    with sqlite.closed_on_error(db):
        if not db.execute(whole).fetchone():
            with sqlite.transaction(db):
                if not db.execute(whole).fetchone():
                    _execute(db, (*schema.TABLES, *schema.INDEXES))
    return db


def _execute(db: sqlite3.Connection, statements: tuple[str, ...]) -> None:
    for statement in statements:
        db.execute(statement)


@contextmanager
def _refused(paths: Paths) -> Iterator[None]:
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise sqlite.unwritable(paths.index, error) from error
    except OSError as error:
        raise cannot_write(paths.index, error) from error


def sizes(sessions: Path) -> dict[str, int]:
    """The sizes of the journals in bytes, by name. Those that cannot be read are named on stderr."""
    try:
        with os.scandir(sessions) as entries:
            names = [entry.name for entry in entries if entry.name.endswith(".jsonl")]
    except OSError as error:
        # It may have been made since, so it is not looked for. A link that leads nowhere is reported.
        if isinstance(error, FileNotFoundError) and not sessions.is_symlink():
            return {}
        hint = "it must be a folder that you can read"
        raise Unusable(f"cannot read {sessions}: {error.strerror}", hint, "not_readable") from error
    readable: dict[str, int] = {}
    for name in names:
        try:
            status = (sessions / name).stat()
        except OSError as error:
            _tell(sessions / name, error)
            continue
        if stat.S_ISREG(status.st_mode):
            readable[name] = status.st_size
        else:
            _tell(sessions / name, OSError(errno.EINVAL, journal.NOT_REGULAR))
    return readable


def _is_gone(path: Path) -> bool:
    """Whether there is nothing of that name: a file that merely cannot be looked at is not gone."""
    try:
        os.lstat(path)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return False


def _tell(path: Path, error: OSError) -> None:
    if not _is_gone(path):
        warn(f"{path} cannot be read: {error.strerror}; what was read of it before is kept")


def _forget(db: sqlite3.Connection, sessions: Path, names: list[str]) -> None:
    from mcpctl.store import tables

    with sqlite.transaction(db):
        # Asked again under the lock: another reader may have taken a journal that was made again since.
        tables.forget(db, [name for name in names if _is_gone(sessions / name)])


def _read_on(db: sqlite3.Connection, path: Path, size: int) -> Iterator[tuple[int, float]]:
    """Take one journal's new lines up to `size`, one transaction a chunk: where each ends, and how long writers were
    waited for. Lines that come meanwhile are for the next time: a reader must not chase a busy session."""
    try:
        with os.fdopen(journal.open_file(path, os.O_RDONLY), "rb") as file:
            position: int | None = -1
            while position is not None and position < size:
                unreadable: list[int] = []
                began = time.monotonic()
                with sqlite.transaction(db):
                    waited_s = time.monotonic() - began
                    position = _read_chunk(db, path.name, file, unreadable)
                for place in unreadable:
                    warn(f"{path.name}: the line at byte {place} cannot be read; skipped")
                if position is not None:
                    yield position, waited_s
    except OSError as error:
        _tell(path, error)  # unless it was evicted since it was listed


def _read_chunk(db: sqlite3.Connection, name: str, file: BinaryIO, unreadable: list[int]) -> int | None:
    """Returns where the next whole lines end, or None when there is none. `unreadable` gains the begins of bad ones."""
    from mcpctl.store import journal_lines, projection, tables

    row = db.execute("SELECT offset FROM journals WHERE name = ?", (name,)).fetchone()
    offset = row[0] if row else 0
    if offset and os.pread(file.fileno(), 1, offset - 1) != b"\n":
        tables.forget(db, [name])  # it is not the file any more that was read so far
        offset = 0
    file.seek(offset)
    text = file.read(_CHUNK)
    while text and b"\n" not in text and (rest := file.read(_CHUNK)):
        text += rest
    whole = text[: text.rfind(b"\n") + 1]
    if not whole:
        return None
    for changes in projection.batches(journal_lines.decode_all(whole, offset, unreadable.append)):
        tables.apply(db, name, changes)
    tables.mark_read(db, name, offset + len(whole))
    return offset + len(whole)


def mark_the_dead(db: sqlite3.Connection, sessions: Path) -> None:
    """Put the active sessions whose process is gone into the temporary table `dead`."""
    db.execute("CREATE TEMP TABLE IF NOT EXISTS dead (session_id TEXT PRIMARY KEY)")
    db.execute("DELETE FROM dead")
    for session, name, via in db.execute("SELECT id, journal, via FROM sessions WHERE status = 'active'").fetchall():
        if not journal.is_alive(sessions / name, shared=via == "cli"):
            db.execute("INSERT INTO dead VALUES (?)", (session,))
