"""How much is kept: sessions of the dead are closed on record, the stalest closed ones make room."""

import contextlib
import sqlite3
from pathlib import Path

from mcpctl.config import RecordSettings
from mcpctl.errors import warn
from mcpctl.models import Progress, Row, unseen
from mcpctl.paths import Paths, cannot_write, private_dir
from mcpctl.store import index, journal

_MIB = 1 << 20
_DAY_S = 86_400
_TABLES = ("journals", "sessions", "calls", "discoveries")


def tidy(paths: Paths, *, keep_sessions: int, max_mb: int, on_progress: Progress = unseen) -> None:
    """Close what died, then evict closed sessions, stalest first, down to both limits. Only serve and rebuild do."""
    with index.opened(paths, on_progress) as db:
        _close_the_dead(db, paths)
        index.catch_up(db, paths.sessions)
        _evict(db, paths, keep_sessions, max_mb * _MIB)
        index.catch_up(db, paths.sessions)
    index.remove_older(paths, _DAY_S)
    for beside in paths.sessions.glob("*.new"):
        # Left by a process that was killed while it created its journal: who creates one holds its lock.
        _removed(beside)


def rebuild(paths: Paths, settings: RecordSettings, on_progress: Progress = unseen) -> Row:
    """Make the index anew, tidy, and say what there is: `{sessions, calls, discoveries, journals, bytes}`."""
    if not paths.data.exists():
        private_dir(paths.data)
    try:
        index.remove(paths)
        index.remove_older(paths)
        tidy(paths, keep_sessions=settings.keep_sessions, max_mb=settings.max_mb, on_progress=on_progress)
    except OSError as error:
        raise cannot_write(paths.data, error) from error
    index.on_disk(paths)
    with index.opened(paths) as db:
        counts = {name: db.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in _TABLES}
    size = sum(index.sizes(paths.sessions).values())
    return {**counts, "bytes": size, "index": str(paths.index)}


def _close_the_dead(db: sqlite3.Connection, paths: Paths) -> None:
    rows = db.execute(
        "SELECT id, journal, last_activity FROM sessions"
        " WHERE status = 'active' AND id IN (SELECT session_id FROM dead)"
        " AND NOT (via = 'cli' AND date(start_time) = date('now'))"
    ).fetchall()
    for session, name, last_activity in rows:
        path = paths.sessions / name
        try:
            journal.close_for_the_dead(path, session, last_activity)
        except OSError as error:
            warn(f"{path} cannot be written: {error.strerror}; its session stays open on record")


def _evict(db: sqlite3.Connection, paths: Paths, keep_sessions: int, max_bytes: int) -> None:
    rows = db.execute("SELECT journal, via, status FROM sessions ORDER BY last_activity DESC, id").fetchall()
    counted = used = 0
    full = False
    for name, via, status in rows:
        path = paths.sessions / name
        with contextlib.suppress(OSError):  # evicted by another meanwhile, or it cannot be looked at
            used += path.stat().st_size
        counted += via != "cli"
        # Once the newest fill the room, everything staler goes, however small.
        full = full or used > max_bytes
        if status == "closed" and (full or (via != "cli" and counted > keep_sessions)):
            _removed(path)


def _removed(path: Path) -> bool:
    try:
        return journal.evict(path)
    except OSError as error:
        warn(f"{path} cannot be removed: {error.strerror}")
        return False
