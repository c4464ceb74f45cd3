"""How much is kept: sessions of the dead are closed on record, the stalest closed ones make room."""

import contextlib
import sqlite3
import time
from pathlib import Path

from mcpctl.base.errors import warn
from mcpctl.base.models import Progress, Row, unseen
from mcpctl.base.paths import Paths, cannot_write
from mcpctl.config.settings import RecordSettings
from mcpctl.store import clock, evictions, index, journal

_MIB = 1 << 20
_DAY_S = 86_400
_TABLES = ("journals", "sessions", "calls", "discoveries")


def tidy(paths: Paths, settings: RecordSettings, on_progress: Progress = unseen) -> None:
    """Close what died, then evict closed sessions, stalest first, down to the limits. Only serve and rebuild do.
    Evictions are reported on stderr and kept: `Records.evictions` has them."""
    from mcpctl.store import responses  # 1 ms, and this is done after the first answer

    with index.opened(paths, on_progress) as db:
        _close_the_dead(db, paths)
        index.catch_up(db, paths.sessions)
        _evict(db, paths, settings)
        index.catch_up(db, paths.sessions)
    responses.sweep(paths)
    index.remove_older(paths, _DAY_S)
    for beside in paths.sessions.glob("*.new"):
        # Left by a process that was killed while it created its journal: who creates one holds its lock.
        _is_removed(beside)


def rebuild(paths: Paths, settings: RecordSettings, on_progress: Progress = unseen) -> Row:
    """Make the index again, tidy, and count: `{sessions, calls, discoveries, journals, bytes}`."""
    index.rebuild(paths, on_progress)
    try:
        index.remove_older(paths)
        tidy(paths, settings)
    except OSError as error:
        raise cannot_write(paths.data, error) from error
    index.on_disk(paths)
    with index.opened(paths) as db:
        counts = {name: db.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in _TABLES}
    size = sum(index.sizes(paths.sessions).values())
    return {**counts, "bytes": size, "index": str(paths.index)}


def _close_the_dead(db: sqlite3.Connection, paths: Paths) -> None:
    for session, name, last_activity in db.execute(index.DEAD).fetchall():
        path = paths.sessions / name
        try:
            journal.close_for_the_dead(path, session, last_activity)
        except OSError as error:
            warn(f"{path} cannot be written: {error.strerror}; its session stays open on record")


def _evict(db: sqlite3.Connection, paths: Paths, settings: RecordSettings) -> None:
    rows = db.execute(
        "SELECT journal, via, status, last_activity, start_time, tool_call_count FROM sessions"
        " ORDER BY last_activity DESC, id"
    ).fetchall()
    oldest = clock.iso(time.time() - settings.keep_days * _DAY_S) if settings.keep_days else ""
    counted = used = 0
    evicted: dict[str, list[tuple[str, str, int]]] = {}
    for name, via, status, last_activity, start_time, calls in rows:
        path = paths.sessions / name
        with contextlib.suppress(OSError):  # evicted by another meanwhile, or it cannot be looked at
            used += path.stat().st_size
        counted += via != "cli"
        exceeded = {
            # Once the newest fill the room, everything staler goes, however small.
            "max_mb": 0 < settings.max_mb * _MIB < used,
            "keep_days": last_activity < oldest,
            "keep_sessions": via != "cli" and 0 < settings.keep_sessions < counted,
        }
        limit = next((limit for limit, is_exceeded in exceeded.items() if is_exceeded), None)
        if limit and status == "closed" and _is_removed(path):
            evicted.setdefault(limit, []).append((start_time, last_activity, calls))
    for limit, sessions in evicted.items():
        removed = "1 session was" if len(sessions) == 1 else f"{len(sessions)} sessions were"
        warn(f"{removed} removed from the record, the oldest first: {limit} is {getattr(settings, limit)} in [records]")
    if evicted:
        evictions.note(paths, [_eviction(limit, settings, sessions) for limit, sessions in evicted.items()])


def _eviction(limit: str, settings: RecordSettings, sessions: list[tuple[str, str, int]]) -> evictions.Eviction:
    starts, ends, calls = zip(*sessions, strict=True)
    return evictions.Eviction(
        timestamp=clock.now(), limit=limit, value=getattr(settings, limit), sessions=len(sessions), calls=sum(calls),
        oldest=min(starts), newest=max(ends),
    )  # fmt: skip


def _is_removed(path: Path) -> bool:
    try:
        return journal.evict(path)
    except OSError as error:
        warn(f"{path} cannot be removed: {error.strerror}")
        return False
