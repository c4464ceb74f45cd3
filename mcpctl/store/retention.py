"""How much is kept: sessions of the dead are closed on record, the stalest closed ones make room."""

import contextlib
import sqlite3
import time

from mcpctl.config import RecordSettings
from mcpctl.models import Progress, Row, unseen
from mcpctl.paths import Paths, cannot_write, private_dir
from mcpctl.store import index, journal

_MIB = 1 << 20
_YOUNG_S = 60
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
        # Left by a process that was killed while it created its journal; a young one may be about to be locked.
        with contextlib.suppress(FileNotFoundError):  # renamed by its owner meanwhile
            if time.time() - beside.stat().st_mtime > _YOUNG_S:
                journal.evict(beside)


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
    size = sum(file.stat().st_size for file in paths.sessions.glob("*.jsonl"))
    return {**counts, "bytes": size, "index": str(paths.index)}


def _close_the_dead(db: sqlite3.Connection, paths: Paths) -> None:
    rows = db.execute(
        "SELECT id, journal, last_activity FROM sessions"
        " WHERE status = 'active' AND id IN (SELECT session_id FROM dead)"
        " AND NOT (via = 'cli' AND date(start_time) = date('now'))"
    ).fetchall()
    for session, name, last_activity in rows:
        journal.close_for_the_dead(paths.sessions / name, session, last_activity)


def _evict(db: sqlite3.Connection, paths: Paths, keep_sessions: int, max_bytes: int) -> None:
    rows = db.execute("SELECT journal, via, status FROM sessions ORDER BY last_activity DESC, id").fetchall()
    counted = used = 0
    full = False
    for name, via, status in rows:
        path = paths.sessions / name
        with contextlib.suppress(FileNotFoundError):  # evicted by another meanwhile
            used += path.stat().st_size
        counted += via != "cli"
        # Once the newest fill the room, everything staler goes, however small.
        full = full or used > max_bytes
        if status == "closed" and (full or (via != "cli" and counted > keep_sessions)):
            journal.evict(path)
