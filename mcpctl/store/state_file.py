"""The file of `state.db`: made, opened, and grown by named steps, never rewritten."""

import sqlite3

from mcpctl.base.errors import Unusable, warn
from mcpctl.base.paths import Paths, cannot_write
from mcpctl.store import sqlite
from mcpctl.store.sqlite import HELD, DatabaseKind

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
    # A server's lists depend on its client's capabilities: they are kept per set of those.
    ("catalogs without capabilities", "DROP TABLE catalogs"),
    ("tools without capabilities", "DROP TABLE tools"),
    (
        "lists",
        "CREATE TABLE lists (server TEXT NOT NULL, fingerprint TEXT NOT NULL, capabilities TEXT NOT NULL,"
        " generation INTEGER NOT NULL, fetched_at REAL NOT NULL, instructions TEXT NOT NULL,"
        " PRIMARY KEY (server, fingerprint, capabilities)) WITHOUT ROWID",
    ),
    (
        "listed",
        "CREATE TABLE listed (server TEXT NOT NULL, fingerprint TEXT NOT NULL, capabilities TEXT NOT NULL,"
        " position INTEGER NOT NULL, name TEXT NOT NULL, definition TEXT NOT NULL,"
        " PRIMARY KEY (server, fingerprint, capabilities, position)) WITHOUT ROWID",
    ),
    ("codes of failures", "ALTER TABLE failures ADD COLUMN code TEXT NOT NULL DEFAULT ''"),
    # Vectors are of other texts now, and of 16-bit numbers.
    ("vectors in 16 bits", "DELETE FROM vectors"),
)
KIND = DatabaseKind("state", STEPS, "remove it; it is a cache and fills again")


def connect(paths: Paths) -> sqlite3.Connection:
    """The database, brought up to date; raises `Unusable` when it is newer, broken or cannot be opened."""
    if paths.state.exists():
        return sqlite.connect_grown(paths.state, KIND)
    try:
        with sqlite.alone(paths.data):
            return sqlite.connect_grown(paths.state, KIND)
    except OSError as error:
        raise cannot_write(paths.state, error) from error


def opened(paths: Paths, *, create: bool = False, waits: bool = False) -> sqlite3.Connection:
    """The database, or one in memory where there is none (and none is to be made) or it cannot be used. Raises
    `Unusable` for a newer one, which must not be taken for nothing; where it `waits`, for a held one."""
    if not create and not paths.state.exists():
        return in_memory(paths)
    try:
        return connect(paths)
    except Unusable as error:
        if error.code == "state_newer" or (waits and error.code == HELD):
            raise
        warn(f"{error.message}; the catalog is kept in memory ({error.hint})")
        return in_memory(paths)


def in_memory(paths: Paths) -> sqlite3.Connection:
    """Connections of this process share the database, wait for each other, and it ends with the last of them."""
    # Unlike a shared cache, whose tables are locked with no regard to any timeout (https://sqlite.org/src/file/src/memdb.c).
    shared = f"{paths.state.absolute().as_uri()}?vfs=memdb"
    db = sqlite3.connect(shared, uri=True, timeout=sqlite.patience_s(), isolation_level=None, check_same_thread=False)
    with sqlite.closed_on_error(db):
        sqlite.migrate(db, KIND)
    return db
