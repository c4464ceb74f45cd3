"""The SQLite index of the journals: derived from them alone, and the same whenever it is derived again."""

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

import msgspec

from mcpctl import posix
from mcpctl.errors import Unusable, warn
from mcpctl.models import Progress, unseen
from mcpctl.paths import Paths, cannot_write, private_dir
from mcpctl.store import journal, lines, wal

_LOST = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_IOERR)
_CHUNK = 4 << 20
SCHEMA = (
    """CREATE TABLE journals (
        name TEXT PRIMARY KEY, session_id TEXT, offset INTEGER NOT NULL) WITHOUT ROWID""",
    """CREATE TABLE sessions (
        id TEXT PRIMARY KEY, journal TEXT NOT NULL, via TEXT NOT NULL, client_name TEXT, client_version TEXT,
        protocol_version TEXT, status TEXT NOT NULL, start_time TEXT NOT NULL, last_activity TEXT NOT NULL,
        end_time TEXT, tool_call_count INTEGER NOT NULL DEFAULT 0, total_tokens INTEGER NOT NULL DEFAULT 0,
        discovery_count INTEGER NOT NULL DEFAULT 0, discovery_tokens INTEGER NOT NULL DEFAULT 0,
        capabilities TEXT, project TEXT, toolset TEXT)""",
    """CREATE TABLE calls (
        id TEXT PRIMARY KEY, position INTEGER NOT NULL, session_id TEXT NOT NULL, request_id TEXT, parent_id TEXT,
        via TEXT NOT NULL, server TEXT NOT NULL, tool TEXT NOT NULL, arguments TEXT, response TEXT,
        status TEXT NOT NULL, error TEXT, started_at TEXT NOT NULL, duration_ms INTEGER, input_tokens INTEGER,
        output_tokens INTEGER, total_tokens INTEGER, encoding TEXT, annotations TEXT, client_name TEXT,
        client_version TEXT, project TEXT, toolset TEXT, response_bytes INTEGER, response_truncated INTEGER)""",
    """CREATE TABLE discoveries (
        id TEXT PRIMARY KEY, position INTEGER NOT NULL, session_id TEXT NOT NULL, query TEXT, context TEXT,
        provider TEXT, fallback TEXT, results TEXT, started_at TEXT NOT NULL, duration_ms INTEGER, tokens INTEGER,
        project TEXT)""",
    """CREATE TABLE usage (
        server TEXT NOT NULL, tool TEXT NOT NULL, calls INTEGER NOT NULL, last_used TEXT NOT NULL,
        PRIMARY KEY (server, tool)) WITHOUT ROWID""",
    "CREATE INDEX calls_by_time ON calls (started_at, session_id, position)",
    "CREATE INDEX calls_by_session ON calls (session_id, position)",
    "CREATE INDEX calls_by_tool ON calls (server, tool, started_at)",
    "CREATE INDEX discoveries_by_time ON discoveries (started_at, session_id, position)",
    "CREATE INDEX discoveries_by_session ON discoveries (session_id, position)",
    "CREATE INDEX sessions_by_activity ON sessions (last_activity, id)",
)


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
        raise cannot_write(paths.index, OSError(0, str(error))) from error
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
    """Read what the journals have gained since last time. The only code that inserts rows. Progress is in bytes."""
    sizes = _journal_sizes(sessions)
    known = dict(db.execute("SELECT name, offset FROM journals"))
    gone = [name for name in known if name not in sizes]
    if gone:
        _forget(db, gone)
    # An unchanged journal costs no lock, and most are unchanged.
    changed = {name: known.get(name, 0) for name, size in sorted(sizes.items()) if size != known.get(name)}
    total, done = sum(sizes[name] - start for name, start in changed.items()), 0
    for name, start in changed.items():
        for position in _read_on(db, sessions / name, sizes[name]):
            on_progress(done + position - start, total)
        done += sizes[name] - start
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
    db = _prepared(sqlite3.connect(":memory:", isolation_level=None))
    catch_up(db, paths.sessions, on_progress)
    return db


def _on_disk(paths: Paths, on_progress: Progress = unseen) -> sqlite3.Connection:
    db = _connect(paths.index)
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
        before = path.stat().st_ino
        db = _attached(path)
        if path.exists() and path.stat().st_ino == before:
            return db
        db.close()  # made anew meanwhile: its log and ours would be of two databases
    raise sqlite3.OperationalError("it is deleted again and again")


def _attached(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True, timeout=10, isolation_level=None)
    try:
        wal.switch_on(db)
        db.execute("PRAGMA synchronous = NORMAL")
        return _prepared(db)
    except BaseException:
        db.close()
        raise


def _prepared(db: sqlite3.Connection) -> sqlite3.Connection:
    if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'sessions_by_activity'").fetchone():
        db.execute("BEGIN IMMEDIATE")
        if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'sessions_by_activity'").fetchone():
            for statement in SCHEMA:
                db.execute(statement)
        db.execute("COMMIT")
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


def _journal_sizes(sessions: Path) -> dict[str, int]:
    try:
        with os.scandir(sessions) as entries:
            return {entry.name: entry.stat().st_size for entry in entries if entry.name.endswith(".jsonl")}
    except FileNotFoundError:
        return {}


def _forget(db: sqlite3.Connection, names: list[str]) -> None:
    db.execute("BEGIN IMMEDIATE")
    called: set[tuple[str, str]] = set()
    for name in names:
        for (session,) in db.execute("SELECT session_id FROM journals WHERE name = ?", (name,)).fetchall():
            called.update(db.execute("SELECT DISTINCT server, tool FROM calls WHERE session_id = ?", (session,)))
            db.execute("DELETE FROM calls WHERE session_id = ?", (session,))
            db.execute("DELETE FROM discoveries WHERE session_id = ?", (session,))
            db.execute("DELETE FROM sessions WHERE id = ?", (session,))
        db.execute("DELETE FROM journals WHERE name = ?", (name,))
    for key in called:
        _count_again(db, *key)
    db.execute("COMMIT")


def _count_again(db: sqlite3.Connection, server: str, tool: str) -> None:
    """Make a tool's usage what the calls that are left say."""
    db.execute("DELETE FROM usage WHERE server = ? AND tool = ?", (server, tool))
    db.execute(
        "INSERT INTO usage SELECT server, tool, count(*), max(started_at) FROM calls WHERE server = ? AND tool = ?"
        " GROUP BY server, tool",
        (server, tool),
    )


def _read_on(db: sqlite3.Connection, path: Path, size: int) -> Iterator[int]:
    """Take one journal's new lines up to `size`, and how far they went, in one transaction a chunk: where each ends.

    What is written meanwhile is for the next time: a reader must not chase a session that is busy.
    """
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return  # evicted since it was listed
    with file:
        position: int | None = 0
        while position is not None and position < size:
            db.execute("BEGIN IMMEDIATE")
            try:
                position = _read_chunk(db, path.name, file)
            except BaseException:
                db.execute("ROLLBACK")
                raise
            db.execute("COMMIT")
            if position is not None:
                yield position


def _read_chunk(db: sqlite3.Connection, name: str, file: BinaryIO) -> int | None:
    """Take the next whole lines; where they end, or None when there is none."""
    row = db.execute("SELECT offset FROM journals WHERE name = ?", (name,)).fetchone()
    offset = row[0] if row else 0
    file.seek(offset)
    text = file.read(_CHUNK)
    while text and b"\n" not in text and (rest := file.read(_CHUNK)):
        text += rest
    whole = text[: text.rfind(b"\n") + 1]
    if not whole:
        return None
    position = offset
    for line in whole.split(b"\n")[:-1]:
        _insert(db, name, position, line)
        position += len(line) + 1
    db.execute(
        "INSERT INTO journals (name, session_id, offset) VALUES (?1, ?2, ?3)"
        " ON CONFLICT (name) DO UPDATE SET offset = ?3",
        (name, name.removesuffix(".jsonl").partition("_")[2], position),
    )
    return position


def _insert(db: sqlite3.Connection, name: str, position: int, text: bytes) -> None:
    try:
        line = lines.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        if text.strip():
            warn(f"{name}: the line at byte {position} cannot be read; skipped")
        return
    match line:
        case lines.SessionCreated():
            _insert_session(db, name, line)
        case lines.CallStarted():
            _insert_call(db, position, line)
        case lines.CallFinished():
            _finish_call(db, line)
        case lines.DiscoveryFinished():
            _insert_discovery(db, position, line)
        case lines.SessionClosed():
            _close_session(db, line)


def _insert_session(db: sqlite3.Connection, name: str, line: lines.SessionCreated) -> None:
    db.execute(
        "INSERT OR IGNORE INTO sessions (id, journal, via, client_name, client_version, protocol_version, status,"
        " start_time, last_activity, capabilities, project, toolset) VALUES (?,?,?,?,?,?,'active',?,?,?,?,?)",
        (line.id, name, line.via, line.client_name, line.client_version, line.protocol_version, line.timestamp,
         line.timestamp, _text(line.capabilities), line.project, line.toolset),
    )  # fmt: skip


def _insert_call(db: sqlite3.Connection, position: int, line: lines.CallStarted) -> None:
    new = db.execute(
        "INSERT OR IGNORE INTO calls (id, position, session_id, request_id, parent_id, via, server, tool, arguments,"
        " status, started_at, input_tokens, total_tokens, encoding, annotations, client_name, client_version, project,"
        " toolset) VALUES (?,?,?,?,?,?,?,?,?,'running',?,?,?,?,?,?,?,?,?)",
        (line.id, position, line.session_id, _text(line.request_id), line.parent_id, line.via, line.server, line.tool,
         _text(line.arguments), line.timestamp, line.input_tokens, line.input_tokens, line.encoding,
         _text(line.annotations), line.client_name, line.client_version, line.project, line.toolset),
    ).rowcount  # fmt: skip
    if new:
        db.execute(
            "INSERT INTO usage VALUES (?1, ?2, 1, ?3)"
            " ON CONFLICT DO UPDATE SET calls = calls + 1, last_used = max(last_used, ?3)",
            (line.server, line.tool, line.timestamp),
        )
    db.execute(
        "UPDATE sessions SET tool_call_count = tool_call_count + ?, total_tokens = total_tokens + ?,"
        " last_activity = max(last_activity, ?) WHERE id = ?",
        (new, line.input_tokens * new, line.timestamp, line.session_id),
    )


def _finish_call(db: sqlite3.Connection, line: lines.CallFinished) -> None:
    new = db.execute(
        "UPDATE calls SET status = ?, response = ?, error = ?, duration_ms = ?, output_tokens = ?,"
        " total_tokens = input_tokens + ?, response_bytes = ?, response_truncated = ?"
        " WHERE id = ? AND duration_ms IS NULL",
        (line.status, _text(line.response), _text(line.error), line.duration_ms, line.output_tokens,
         line.output_tokens, line.response_bytes, line.response_truncated, line.id),
    ).rowcount  # fmt: skip
    db.execute(
        "UPDATE sessions SET total_tokens = total_tokens + ?, last_activity = max(last_activity, ?) WHERE id = ?",
        (line.output_tokens * new, line.timestamp, line.session_id),
    )


def _insert_discovery(db: sqlite3.Connection, position: int, line: lines.DiscoveryFinished) -> None:
    new = db.execute(
        "INSERT OR IGNORE INTO discoveries (id, position, session_id, query, context, provider, fallback, results,"
        " started_at, duration_ms, tokens, project) VALUES (?,?,?,?,?,?,?,?,?,?,?,?)",
        (line.id, position, line.session_id, _text(line.query), line.context, line.provider, line.fallback,
         _text(line.results), line.started_at, line.duration_ms, line.tokens, line.project),
    ).rowcount  # fmt: skip
    db.execute(
        "UPDATE sessions SET discovery_count = discovery_count + ?, discovery_tokens = discovery_tokens + ?,"
        " last_activity = max(last_activity, ?) WHERE id = ?",
        (new, line.tokens * new, line.timestamp, line.session_id),
    )


def _close_session(db: sqlite3.Connection, line: lines.SessionClosed) -> None:
    db.execute("UPDATE sessions SET status = 'closed', end_time = ? WHERE id = ?", (line.end_time, line.id))
    db.execute("UPDATE calls SET status = 'interrupted' WHERE session_id = ? AND status = 'running'", (line.id,))


def _text(raw: msgspec.Raw) -> str | None:
    text = bytes(raw).decode()
    return None if text == "null" else text


def _mark_the_dead(db: sqlite3.Connection, sessions: Path) -> None:
    db.execute("CREATE TEMP TABLE dead (session_id TEXT PRIMARY KEY)")
    for session, name, via in db.execute("SELECT id, journal, via FROM sessions WHERE status = 'active'").fetchall():
        if not journal.is_alive(sessions / name, shared=via == "cli"):
            db.execute("INSERT INTO dead VALUES (?)", (session,))
