"""The SQLite index of the journals: derived from them alone, and the same whenever it is derived again."""

import errno
import os
import sqlite3
import stat
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from mcpctl import posix
from mcpctl.errors import Unusable, warn
from mcpctl.models import Progress, unseen
from mcpctl.paths import Paths, cannot_write, private_dir
from mcpctl.store import journal, projection, sqlite

_LOST = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_IOERR)
_CHUNK = 4 << 20


@contextmanager
def opened(paths: Paths, on_progress: Progress = unseen) -> Iterator[sqlite3.Connection]:
    """The index, caught up with the journals: on disk, or in memory where the disk cannot be written.

    Rows of sessions whose process is gone are told apart by the temporary table `dead(session_id)`.
    """
    with closing(_caught_up(paths, on_progress)) as db:
        try:
            _mark_the_dead(db, paths.sessions)
            yield db
        except sqlite3.DatabaseError as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF not in _LOST:
                raise
            with suppress(OSError):
                _remove(paths.index)
            hint = "run the command again: what the journals say is read anew"
            raise Unusable(f"{paths.index} was deleted or damaged: {error}", hint, "index_damaged") from error


def on_disk(paths: Paths, on_progress: Progress = unseen) -> Path:
    """The path of the index, caught up; raises `Unusable` when it cannot be written."""
    try:
        _on_disk(paths, on_progress).close()
    except sqlite3.DatabaseError as error:
        raise sqlite.unwritable(paths.index, error) from error
    except OSError as error:
        raise cannot_write(paths.index, error) from error
    return paths.index


def catch_up_on_disk(paths: Paths) -> None:
    """Bring the index on disk up to date; raises sqlite3.Error or OSError when that cannot be done."""
    _on_disk(paths).close()


def remove(paths: Paths) -> None:
    """Delete the index; the next reader makes it anew."""
    _remove(paths.index)


def remove_older(paths: Paths, unused_s: float = 0) -> None:
    """Delete the indexes of older versions that nobody has written for so long; an old `serve` makes its own anew."""
    for path in paths.older_indexes:
        with suppress(FileNotFoundError):  # there was none, or it was removed meanwhile
            written = max(path.stat().st_mtime, *(file.stat().st_mtime for file in _files(path) if file.exists()))
            if time.time() - written >= unused_s:
                _remove(path)


def catch_up(db: sqlite3.Connection, sessions: Path, on_progress: Progress = unseen) -> None:
    """Read what the journals have gained since last time; progress is in bytes."""
    found = sizes(sessions)
    known = dict(db.execute("SELECT name, offset FROM journals"))
    gone = [name for name in known if name not in found and _is_gone(sessions / name)]
    if gone:
        _forget(db, sessions, gone)
    # An unchanged journal costs no lock, and most are unchanged.
    changed = {name: known.get(name, 0) for name, size in sorted(found.items()) if size != known.get(name)}
    total, done = sum(found[name] - start for name, start in changed.items()), 0
    for name, start in changed.items():
        for position in _read_on(db, sessions / name, found[name]):
            on_progress(done + position - start, total)
        done += found[name] - start
    if changed:
        on_progress(total, total)


def _caught_up(paths: Paths, on_progress: Progress) -> sqlite3.Connection:
    for _ in range(3):
        try:
            return _on_disk(paths, on_progress)
        except (sqlite3.OperationalError, OSError):
            break  # a read-only home, a full disk
        except sqlite3.DatabaseError:
            # Deleted or damaged under us: it holds nothing that the journals do not.
            with suppress(OSError):
                _remove(paths.index)
    return _current(_prepared(sqlite3.connect(":memory:", isolation_level=None)), paths, on_progress)


def _on_disk(paths: Paths, on_progress: Progress = unseen) -> sqlite3.Connection:
    return _current(_connect(paths.index), paths, on_progress)


def _current(db: sqlite3.Connection, paths: Paths, on_progress: Progress) -> sqlite3.Connection:
    """The connection, caught up; it is closed where that fails."""
    try:
        catch_up(db, paths.sessions, on_progress)
    except BaseException:
        db.close()
        raise
    return db


def _connect(path: Path) -> sqlite3.Connection:
    for _ in range(5):
        if not path.exists():
            _create(path)
        before = _inode(path)
        if before is None:
            continue
        db = _attached(path)
        if _inode(path) == before:
            return db
        db.close()  # made anew meanwhile: its log and ours would be of two databases
    raise sqlite3.OperationalError("it is deleted again and again")


def _inode(path: Path) -> int | None:
    try:
        return path.stat().st_ino
    except FileNotFoundError:
        return None


def _attached(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True, timeout=10, isolation_level=None)
    try:
        sqlite.switch_on_wal(db)
        db.execute("PRAGMA synchronous = NORMAL")
        return _prepared(db)
    except BaseException:
        db.close()
        raise


def _prepared(db: sqlite3.Connection) -> sqlite3.Connection:
    if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'sessions_by_activity'").fetchone():
        with sqlite.transaction(db):
            if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'sessions_by_activity'").fetchone():
                for statement in projection.SCHEMA:
                    db.execute(statement)
    return db


def _create(path: Path) -> None:
    """An empty index, and no log of a deleted one beside it, which others may still have open."""
    with _alone(path):
        if not path.exists():
            _unlink(path)
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))


def _remove(path: Path) -> None:
    with _alone(path):
        _unlink(path)


def _unlink(path: Path) -> None:
    for file in _files(path):
        file.unlink(missing_ok=True)


def _files(path: Path) -> tuple[Path, ...]:
    return path, path.with_name(path.name + "-wal"), path.with_name(path.name + "-shm")


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Nobody else creates or removes an index here meanwhile."""
    private_dir(path.parent)
    fd = os.open(path.parent, os.O_RDONLY | os.O_CLOEXEC)
    try:
        posix.lock(fd, wait=True)
        yield
    finally:
        os.close(fd)


def sizes(sessions: Path) -> dict[str, int]:
    """The journals that can be read, by name: their sizes in bytes. Those that cannot are told on stderr."""
    try:
        with os.scandir(sessions) as entries:
            names = [entry.name for entry in entries if entry.name.endswith(".jsonl")]
    except OSError as error:
        if _is_gone(sessions):
            return {}
        hint = "it must be a folder that you can read"
        raise Unusable(f"cannot read {sessions}: {error.strerror}", hint, "not_readable") from error
    found: dict[str, int] = {}
    for name in names:
        try:
            status = (sessions / name).stat()
        except OSError as error:
            _tell(sessions / name, error)
            continue
        if stat.S_ISREG(status.st_mode):
            found[name] = status.st_size
        else:
            _tell(sessions / name, OSError(errno.EINVAL, journal.NOT_REGULAR))
    return found


def _is_gone(path: Path) -> bool:
    """Whether there is nothing of that name: what merely cannot be looked at is not gone."""
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
    with sqlite.transaction(db):
        # Asked again under the lock: another reader may have taken what was made anew since.
        projection.forget(db, [name for name in names if _is_gone(sessions / name)])


def _read_on(db: sqlite3.Connection, path: Path, size: int) -> Iterator[int]:
    """Take one journal's new lines up to `size`, and how far they went, in one transaction a chunk: where each ends.

    What is written meanwhile is for the next time: a reader must not chase a session that is busy.
    """
    try:
        with os.fdopen(journal.open_file(path, os.O_RDONLY), "rb") as file:
            position: int | None = -1
            while position is not None and position < size:
                with sqlite.transaction(db):
                    position = _read_chunk(db, path.name, file)
                if position is not None:
                    yield position
    except OSError as error:
        _tell(path, error)  # unless it was evicted since it was listed


def _read_chunk(db: sqlite3.Connection, name: str, file: BinaryIO) -> int | None:
    """Take the next whole lines; where they end, or None when there is none."""
    row = db.execute("SELECT offset FROM journals WHERE name = ?", (name,)).fetchone()
    offset = row[0] if row else 0
    if offset and os.pread(file.fileno(), 1, offset - 1) != b"\n":
        projection.forget(db, [name])  # it is not the file any more that was read so far
        offset = 0
    file.seek(offset)
    text = file.read(_CHUNK)
    while text and b"\n" not in text and (rest := file.read(_CHUNK)):
        text += rest
    whole = text[: text.rfind(b"\n") + 1]
    if not whole:
        return None
    position = offset
    for line in whole.split(b"\n")[:-1]:
        projection.insert(db, name, position, line)
        position += len(line) + 1
    db.execute(
        "INSERT INTO journals (name, session_id, offset) VALUES (?1, ?2, ?3)"
        " ON CONFLICT (name) DO UPDATE SET offset = ?3",
        (name, name.removesuffix(".jsonl").partition("_")[2], position),
    )
    return position


def _mark_the_dead(db: sqlite3.Connection, sessions: Path) -> None:
    db.execute("CREATE TEMP TABLE dead (session_id TEXT PRIMARY KEY)")
    for session, name, via in db.execute("SELECT id, journal, via FROM sessions WHERE status = 'active'").fetchall():
        if not journal.is_alive(sessions / name, shared=via == "cli"):
            db.execute("INSERT INTO dead VALUES (?)", (session,))
