"""The file of `state.db`: made, opened, and grown by named steps, never rewritten."""

import os
import sqlite3
from pathlib import Path

from mcpctl.errors import Unusable, warn
from mcpctl.paths import Paths, cannot_write, private_dir
from mcpctl.store import sqlite

STEPS = (
    ("settings", "CREATE TABLE settings (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID"),
    (
        "catalogs",
        "CREATE TABLE catalogs (server TEXT NOT NULL, fingerprint TEXT NOT NULL, generation INTEGER NOT NULL,"
        " fetched_at REAL NOT NULL, PRIMARY KEY (server, fingerprint)) WITHOUT ROWID",
    ),
    (
        "tools",
        "CREATE TABLE tools (server TEXT NOT NULL, fingerprint TEXT NOT NULL, position INTEGER NOT NULL,"
        " name TEXT NOT NULL, definition TEXT NOT NULL, PRIMARY KEY (server, fingerprint, position)) WITHOUT ROWID",
    ),
    (
        "eras",
        "CREATE TABLE eras (server TEXT NOT NULL, fingerprint TEXT NOT NULL, modern INTEGER NOT NULL,"
        " PRIMARY KEY (server, fingerprint)) WITHOUT ROWID",
    ),
    (
        "vectors",
        "CREATE TABLE vectors (model TEXT NOT NULL, text BLOB NOT NULL, vector BLOB NOT NULL, UNIQUE (model, text))",
    ),
    (
        "failures",
        "CREATE TABLE failures (server TEXT NOT NULL, fingerprint TEXT NOT NULL, at REAL NOT NULL,"
        " message TEXT NOT NULL, PRIMARY KEY (server, fingerprint)) WITHOUT ROWID",
    ),
)
"""Each step's name and statement. A database with a step that is not here was written by a newer mcpctl."""


def connect(paths: Paths) -> sqlite3.Connection:
    """The database, brought up to date; raises `Unusable` when it is newer, broken or cannot be opened."""
    try:
        return _opened(paths.state)
    except OSError as error:
        raise cannot_write(paths.state, error) from error
    except sqlite3.OperationalError as error:
        raise sqlite.unwritable(paths.state, error) from error
    except sqlite3.DatabaseError as error:
        raise Unusable(
            f"{paths.state} is damaged: {error}",
            f"remove it; it is a cache and fills again: rm {paths.state}",
            code="state_damaged",
        ) from error


def opened(paths: Paths, *, create: bool = False) -> sqlite3.Connection:
    """The database, or one in memory where there is none (and none is to be made) or it cannot be used.

    Raises `Unusable` only for a newer one: what it holds must not be taken for nothing.
    """
    if not create and not paths.state.exists():
        return in_memory()
    try:
        return connect(paths)
    except Unusable as error:
        if error.code == "state_newer":
            raise
        warn(f"{error.message}; the catalog is kept in memory ({error.hint})")
        return in_memory()


def in_memory() -> sqlite3.Connection:
    """A database that this process's connections share and that ends with it, where none on disk can be had."""
    shared = "file:mcpctl-state?mode=memory&cache=shared"
    db = sqlite3.connect(shared, uri=True, isolation_level=None, check_same_thread=False)
    try:
        migrate(db)
    except BaseException:
        db.close()
        raise
    return db


def migrate(db: sqlite3.Connection, steps: tuple[tuple[str, str], ...] = STEPS) -> None:
    """Apply the steps that are missing, each in the transaction that notes it."""
    db.execute("CREATE TABLE IF NOT EXISTS steps (name TEXT PRIMARY KEY) WITHOUT ROWID")
    done = {name for (name,) in db.execute("SELECT name FROM steps")}
    refuse_newer(done, steps)
    for name, statement in steps:
        if name not in done:
            with sqlite.transaction(db):
                if not db.execute("SELECT 1 FROM steps WHERE name = ?", (name,)).fetchone():
                    db.execute(statement)
                    db.execute("INSERT INTO steps VALUES (?)", (name,))


def refuse_newer(done: set[str], steps: tuple[tuple[str, str], ...] = STEPS) -> None:
    """Raises `Unusable` where steps are done that are not among these."""
    unknown = done - {name for name, _ in steps}
    if unknown:
        raise Unusable(
            f"state.db was written by a newer mcpctl (step '{min(unknown)}')",
            "upgrade mcpctl, or name another place with MCPCTL_HOME",
            code="state_newer",
        )


def _opened(path: Path) -> sqlite3.Connection:
    if not path.exists():
        private_dir(path.parent)
        sqlite.create(path)
    if not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)):
        # A database in WAL mode whose folder cannot be written is readable only as one that nobody changes.
        uri = f"{path.absolute().as_uri()}?immutable=1"
        return sqlite3.connect(uri, uri=True, timeout=10, isolation_level=None, check_same_thread=False)
    db = sqlite.connect(path, any_thread=True)
    try:
        migrate(db)
        return db
    except BaseException:
        db.close()
        raise
