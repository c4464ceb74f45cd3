"""What is on record, read for a glance: as it lies there, nothing made, caught up, migrated or repaired."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from mcpctl.paths import Paths

NEWEST = 50
_LAST = "\U0010ffff"
_PATIENCE_S = 0.5


@contextmanager
def opened(path: Path, patience_s: float = _PATIENCE_S) -> Iterator[sqlite3.Connection]:
    """A database for reading; raises sqlite3.Error where there is none that can be read in time."""
    beside = (path.with_name(path.name + suffix) for suffix in ("-wal", "-shm"))
    # Without both files of its log, opening it would make them; then nobody is writing, and it stays as it is.
    how = "mode=ro" if all(file.exists() for file in beside) else "mode=ro&immutable=1"
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?{how}", uri=True, timeout=patience_s)) as db:
        yield db


def calls(paths: Paths, prefix: str) -> list[tuple[str, str, str, str, str]]:
    """The newest calls whose id begins so: id, server, tool, status, when."""
    with opened(paths.index) as db:
        return db.execute(
            f"SELECT id, server, tool, status, started_at FROM calls {_beginning(prefix)}"
            " ORDER BY started_at DESC, session_id DESC, position DESC LIMIT ?3",
            (prefix, prefix + _LAST, NEWEST),
        ).fetchall()


def sessions(paths: Paths, prefix: str) -> list[tuple[str, str | None, int, str]]:
    """The sessions last active whose id begins so: id, client, number of calls, when."""
    with opened(paths.index) as db:
        return db.execute(
            f"SELECT id, client_name, tool_call_count, last_activity FROM sessions {_beginning(prefix)}"
            " ORDER BY last_activity DESC, id LIMIT ?3",
            (prefix, prefix + _LAST, NEWEST),
        ).fetchall()


def tools(db: sqlite3.Connection, server: str, fingerprint: str, prefix: str) -> list[tuple[str, int]]:
    """The tools a server last listed whose name begins so, by name: name and position."""
    return db.execute(
        "SELECT name, position FROM tools WHERE server = ? AND fingerprint = ? AND name >= ? AND name < ?"
        " ORDER BY name",
        (server, fingerprint, prefix, prefix + _LAST),
    ).fetchall()


def definition(db: sqlite3.Connection, server: str, fingerprint: str, position: int) -> str:
    """One tool's definition."""
    key = (server, fingerprint, position)
    row = db.execute("SELECT definition FROM tools WHERE server = ? AND fingerprint = ? AND position = ?", key)
    return str(row.fetchone()[0])


def _beginning(prefix: str) -> str:
    # Asked of every id, this would be answered by their index, and all rows then sorted by time.
    return "WHERE id >= ?1 AND id < ?2" if prefix else ""
