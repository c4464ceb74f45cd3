"""Databases that grow by named steps and are never rewritten: opened, brought up to date, and refused if newer."""

import os
import re
import shlex
import sqlite3
from pathlib import Path
from typing import NamedTuple

from mcpctl.base.errors import Unusable
from mcpctl.base.paths import cannot_write
from mcpctl.store import sqlite

_TABLE = re.compile(r"(CREATE|DROP) TABLE (\w+)")
Steps = tuple[tuple[str, str], ...]
"""Names and statements. A database with a step that is not here was written by a newer mcpctl."""


class Kind(NamedTuple):
    """A database: its steps, and how to go on when it is damaged."""

    code: str
    """`state` or `policy`: the codes of its failures begin so."""
    steps: Steps
    if_damaged: str
    noted_in: str = ""
    """The database beside it that notes that it was made; as long as that does, it is not made anew."""


def connect(path: Path, kind: Kind) -> sqlite3.Connection:
    """Raises `Unusable` when it is newer, broken or cannot be opened. To make one, be `sqlite.alone` there."""
    try:
        return _opened(path, kind)
    except OSError as error:
        raise cannot_write(path, error) from error
    except sqlite3.OperationalError as error:
        if path.is_dir():
            raise damaged(path, kind, "it is a folder") from error
        raise sqlite.unwritable(path, error) from error
    except sqlite3.DatabaseError as error:
        raise damaged(path, kind, error) from error


def damaged(path: Path, kind: Kind, why: object) -> Unusable:
    hint = removal(path, kind)
    if path.is_dir():
        hint = f"move it away: mv {shlex.quote(str(path))} {shlex.quote(f'{path}.away')}"
    return Unusable(f"{path} is damaged: {why}", hint, code=f"{kind.code}_damaged")


def removal(path: Path, kind: Kind) -> str:
    """How to go on where a database cannot be read, or was lost."""
    if not kind.noted_in:
        return f"{kind.if_damaged}: rm {shlex.quote(str(path))}"
    return f"{kind.if_damaged}: rm -f {shlex.quote(str(path))} {shlex.quote(str(path.with_name(kind.noted_in)))}"


def look_through(db: sqlite3.Connection, path: Path, kind: Kind) -> None:
    """Raises `Unusable` where a page of the database cannot be read, which else shows when that is needed."""
    try:
        (found,) = db.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.DatabaseError as error:
        if sqlite.is_held(error):
            return  # it is written at this moment, and so is read
        found = str(error)
    if found != "ok":
        raise damaged(path, kind, found.replace("\n", " "))


def _tables(kind: Kind) -> set[str]:
    tables: set[str] = set()
    for _, statement in kind.steps:
        if made := _TABLE.match(statement):
            (tables.add if made[1] == "CREATE" else tables.discard)(made[2])
    return tables


def migrate(db: sqlite3.Connection, kind: Kind) -> None:
    """Apply the steps that are missing, each in the transaction that notes it."""
    db.execute("CREATE TABLE IF NOT EXISTS steps (name TEXT PRIMARY KEY) WITHOUT ROWID")
    done = {name for (name,) in db.execute("SELECT name FROM steps")}
    refuse_newer(done, kind)
    for name, statement in kind.steps:
        # Looked at before it is locked, too: of many who start at once, one has done it meanwhile.
        if name not in done and not _is_done(db, name):
            with sqlite.transaction(db):
                if not _is_done(db, name):
                    db.execute(statement)
                    db.execute("INSERT INTO steps VALUES (?)", (name,))


def _is_done(db: sqlite3.Connection, name: str) -> bool:
    return db.execute("SELECT 1 FROM steps WHERE name = ?", (name,)).fetchone() is not None


def refuse_newer(done: set[str], kind: Kind) -> None:
    """Raises `Unusable` where steps are done that are not among these."""
    unknown = done - {name for name, _ in kind.steps}
    if unknown:
        raise Unusable(
            f"{kind.code}.db was written by a newer mcpctl (step '{min(unknown)}')",
            "upgrade mcpctl, or name another place with MCPCTL_HOME",
            code=f"{kind.code}_newer",
        )


def _opened(path: Path, kind: Kind) -> sqlite3.Connection:
    sqlite.create(path)
    if not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)):
        # A database in WAL mode whose folder cannot be written is readable only as one that nobody changes.
        uri = f"{path.absolute().as_uri()}?immutable=1"
        return sqlite3.connect(uri, uri=True, timeout=10, isolation_level=None, check_same_thread=False)
    db = sqlite.connect(path, any_thread=True)
    try:
        migrate(db, kind)
        there = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if gone := _tables(kind) - there:
            raise sqlite3.DatabaseError(f"it has no table {min(gone)!r}")
        return db
    except BaseException:
        db.close()
        raise
