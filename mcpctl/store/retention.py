"""How much is kept: the stalest closed sessions make room, noted in `evicted.jsonl`; upkeep of a running `serve`."""

import contextlib
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

from mcpctl.base import files
from mcpctl.base.errors import McpctlError, Unusable, warn
from mcpctl.base.models import Progress, Row, unseen
from mcpctl.base.paths import Paths, cannot_write
from mcpctl.config.settings import RecordSettings
from mcpctl.store import clock, index, journal, run, shipped
from mcpctl.store.sqlite import is_held

_MIB = 1 << 20
_DAY_S = 86_400
_TABLES = ("journals", "sessions", "calls", "discoveries")
_KEPT = 100  # lines of removals; the oldest are left out
_MOST_BYTES = 1 << 20
_LONGEST_PAUSE_S = 2.0
_LOOK_EVERY_S = 0.02
_QUIET_LOOKS = 10  # between the calls of a busy client there are moments in which none is in flight


class Eviction(msgspec.Struct, frozen=True, kw_only=True):
    timestamp: str
    limit: str  # `keep_sessions`, `keep_days` or `max_mb`
    value: int
    sessions: int
    calls: int
    oldest: str  # the start of the oldest session
    newest: str  # the last activity of the newest


_decoder = msgspec.json.Decoder(Eviction)


class Upkeep:
    """Work on the records for a thread beside the event loop. It takes a step, some thousand lines, whenever nobody is
    served, and one every two seconds while somebody always is. Both share one interpreter: a call waits for a part of a
    step at that moment. Nothing is lost by being late, since the journals have it all, and readers catch up first."""

    def __init__(self, paths: Paths, settings: Callable[[], RecordSettings], is_busy: Callable[[], bool]) -> None:
        self._paths = paths
        self._settings = settings
        self._is_busy = is_busy
        self.hurries = False  # nobody is served any more
        self._quiet = 0  # how often in a row nobody was served when it was looked at

    def tidy(self) -> bool:
        """Close dead sessions and evict what exceeds the limits; False where it is to be done later. It never fails."""
        try:
            tidy(self._paths, self._settings(), self._pause)
        except (OSError, sqlite3.Error, Unusable) as error:
            if isinstance(error, sqlite3.Error) and is_held(error):
                return False
            warn(f"records are not tidied: {error}")
        return True

    def catch_up(self) -> None:
        try:
            index.catch_up_on_disk(self._paths, self._pause)
        except (OSError, sqlite3.Error, Unusable):
            return  # the journals have it all; the next reader catches up

    def _pause(self, done: int, total: int) -> None:
        """Wait after a step, with nothing locked, until nobody has been served for a moment, but not for ever."""
        last = time.monotonic() + _LONGEST_PAUSE_S
        while done < total and not self.hurries and self._look() < _QUIET_LOOKS and time.monotonic() < last:
            time.sleep(_LOOK_EVERY_S)

    def _look(self) -> int:
        self._quiet = 0 if self._is_busy() else self._quiet + 1
        return self._quiet


def tidy(paths: Paths, settings: RecordSettings, on_progress: Progress = unseen) -> None:
    """Close what died, then evict closed sessions, stalest first, down to the limits; reported and kept."""
    from mcpctl.store import responses  # 1 ms, and this is done after the first answer

    with index.opened(paths, on_progress) as db:
        _close_the_dead(db, paths)
        index.catch_up(db, paths.sessions)
        _evict(db, paths, settings)
        index.catch_up(db, paths.sessions)
    responses.sweep(paths)
    index.remove_older(paths, _DAY_S)
    run.sweep(paths.runs)
    for beside in paths.sessions.glob("*.new"):
        _is_removed(beside)  # left by a process that was killed while it created its journal, for which it had the lock


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


def close_the_dead(paths: Paths) -> None:
    """Put the end of sessions on record whose process was killed. It never fails."""
    try:
        with index.opened(paths) as db:
            _close_the_dead(db, paths)
    except (OSError, sqlite3.Error, Unusable) as error:
        warn(f"sessions of killed processes stay open on record: {error}")


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
    of_runs = run.in_runs(paths.runs)
    oldest = clock.iso(time.time() - settings.keep_days * _DAY_S) if settings.keep_days else ""
    counted = used = 0
    evicted: dict[str, list[tuple[str, str, int]]] = {}
    positions = shipped.read(paths).positions if settings.ship else {}
    lost: list[int] = []  # the bytes of each journal that is not in PostgreSQL
    for name, via, status, last_activity, start_time, calls in rows:
        path = paths.sessions / name
        size = 0
        with contextlib.suppress(OSError):  # evicted by another meanwhile, or it cannot be looked at
            size = path.stat().st_size
        used += size
        waiting = max(0, size - positions.get(name, 0)) if settings.ship else 0
        is_counted = via != "cli" and name not in of_runs  # no client of a run is pushed out by others while it lasts
        counted += is_counted
        exceeded = {
            # Once the newest fill the room, everything staler goes, however small.
            "max_mb": 0 < settings.max_mb * _MIB < used,
            "keep_days": last_activity < oldest,
            "keep_sessions": is_counted and 0 < settings.keep_sessions < counted,
        }
        if waiting and not 0 < 2 * settings.max_mb * _MIB < used:
            continue
        limit = next((limit for limit, is_exceeded in exceeded.items() if is_exceeded), None)
        if limit and status == "closed" and _is_removed(path):
            evicted.setdefault(limit, []).append((start_time, last_activity, calls))
            lost += [waiting] * bool(waiting)
    for limit, sessions in evicted.items():
        removed = "1 session was" if len(sessions) == 1 else f"{len(sessions)} sessions were"
        warn(f"{removed} removed from the record, the oldest first: {limit} is {getattr(settings, limit)} in [records]")
    if lost:
        shipped.note_lost(paths, len(lost), sum(lost))
        warn(
            f"{len(lost)} of them were not in PostgreSQL: max_mb was exceeded twice over; see what waits with: mcpctl"
            " records ship --status"
        )
    if evicted:
        note(paths, [_eviction(limit, settings, sessions) for limit, sessions in evicted.items()])


def _eviction(limit: str, settings: RecordSettings, sessions: list[tuple[str, str, int]]) -> Eviction:
    starts, ends, calls = zip(*sessions, strict=True)
    return Eviction(
        timestamp=clock.now(), limit=limit, value=getattr(settings, limit), sessions=len(sessions), calls=sum(calls),
        oldest=min(starts), newest=max(ends),
    )  # fmt: skip


def _is_removed(path: Path) -> bool:
    try:
        return journal.evict(path)
    except OSError as error:
        warn(f"{path} cannot be removed: {error.strerror}")
        return False


def note(paths: Paths, evictions: Sequence[Eviction]) -> None:

    def added(before: bytes | None) -> bytes:
        kept = [*_lines(before or b""), *evictions][-_KEPT:]
        return msgspec.json.Encoder().encode_lines(kept)

    files.edit(paths.evictions, added, "what is removed from the record is not noted there")


def evictions(paths: Paths) -> Sequence[Row]:
    try:
        removed = _lines(files.read(paths.evictions, _MOST_BYTES))
    except McpctlError:
        return []
    return [msgspec.structs.asdict(each) for each in reversed(removed)]


def remarks(evictions: Sequence[Row]) -> Iterator[str]:
    for limit in dict.fromkeys(each["limit"] for each in evictions):
        of_limit = [each for each in evictions if each["limit"] == limit]
        sessions = sum(each["sessions"] for each in of_limit)
        removed = "1 older session was" if sessions == 1 else f"{sessions:,} older sessions were"
        when = " on" if len(of_limit) == 1 else ", the last on"
        why = f"{limit} = {of_limit[0]['value']} in [records]"
        yield f"{removed} removed{when} {of_limit[0]['timestamp'][:10]}: {why}"


def _lines(text: bytes) -> list[Eviction]:
    evictions: list[Eviction] = []
    for line in text.splitlines():
        with contextlib.suppress(msgspec.DecodeError):
            evictions.append(_decoder.decode(line))
    return evictions
