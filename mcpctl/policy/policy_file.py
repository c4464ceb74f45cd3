"""The file of `policy.db`, with people's decisions. It is not a cache: lost decisions have to be made again."""

import contextlib
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, Self

from mcpctl.base.errors import Unusable
from mcpctl.base.paths import Paths, cannot_write
from mcpctl.config.policy_settings import Policy
from mcpctl.store import sqlite
from mcpctl.store.sqlite import DatabaseKind
from mcpctl.store.state import State, StateError, told

STEPS = (
    (
        "approvals",
        "CREATE TABLE approvals (id TEXT PRIMARY KEY, binding TEXT NOT NULL, state TEXT NOT NULL, scope TEXT,"
        " key TEXT NOT NULL, risk TEXT NOT NULL, hints TEXT NOT NULL, arguments TEXT NOT NULL,"
        " arguments_hash TEXT NOT NULL, pin TEXT NOT NULL, project TEXT NOT NULL, token TEXT NOT NULL,"
        " session TEXT NOT NULL, rule TEXT NOT NULL, rule_place TEXT NOT NULL, created REAL NOT NULL,"
        " expires REAL NOT NULL, answered REAL, channel TEXT) WITHOUT ROWID",
    ),
    ("approvals by binding", "CREATE INDEX approvals_by_binding ON approvals (binding, state)"),
    ("approvals by state", "CREATE INDEX approvals_by_state ON approvals (state, created)"),
    (
        "grants",
        "CREATE TABLE grants (key TEXT NOT NULL, pin TEXT NOT NULL, project TEXT NOT NULL, token TEXT NOT NULL,"
        " session TEXT NOT NULL, created REAL NOT NULL, PRIMARY KEY (key, pin, project, token, session)) WITHOUT ROWID",
    ),
    (
        "pins",
        "CREATE TABLE pins (server TEXT NOT NULL, fingerprint TEXT NOT NULL, capabilities TEXT NOT NULL,"
        " name TEXT NOT NULL, pin TEXT NOT NULL, definition TEXT NOT NULL, seen REAL NOT NULL, approved REAL,"
        " PRIMARY KEY (server, fingerprint, capabilities, name)) WITHOUT ROWID",
    ),
    (
        "instructions",
        "CREATE TABLE instructions (server TEXT NOT NULL, fingerprint TEXT NOT NULL, capabilities TEXT NOT NULL,"
        " hash TEXT NOT NULL, text TEXT NOT NULL, seen REAL NOT NULL, approved REAL,"
        " PRIMARY KEY (server, fingerprint, capabilities)) WITHOUT ROWID",
    ),
    (
        "waiting",
        "CREATE TABLE waiting (server TEXT NOT NULL, fingerprint TEXT NOT NULL, capabilities TEXT NOT NULL,"
        " name TEXT NOT NULL, PRIMARY KEY (server, fingerprint, capabilities, name)) WITHOUT ROWID",
    ),
    (
        "tokens",
        "CREATE TABLE tokens (id TEXT PRIMARY KEY, hash TEXT NOT NULL, projects TEXT NOT NULL, servers TEXT NOT NULL,"
        " read_only INTEGER NOT NULL, created REAL NOT NULL, expires REAL, revoked REAL) WITHOUT ROWID",
    ),
    # All that is shown of a call's arguments, as long as somebody may be shown it.
    ("whole arguments", "ALTER TABLE approvals ADD COLUMN whole TEXT"),
    ("hidden values", "ALTER TABLE approvals ADD COLUMN hidden INTEGER NOT NULL DEFAULT 0"),
    ("arguments left out", "ALTER TABLE approvals ADD COLUMN left_out INTEGER NOT NULL DEFAULT 0"),
    ("whole arguments by end", "CREATE INDEX approvals_whole ON approvals (expires) WHERE whole IS NOT NULL"),
    ("ends of grants", "ALTER TABLE grants ADD COLUMN expires REAL"),
    (
        "counted",
        "CREATE TABLE counted (scope TEXT NOT NULL, pattern TEXT NOT NULL, at REAL NOT NULL, call TEXT NOT NULL,"
        " PRIMARY KEY (scope, pattern, at, call)) WITHOUT ROWID",
    ),
    ("pause", "CREATE TABLE pause (since REAL NOT NULL, until REAL, channel TEXT NOT NULL)"),
    ("clients that ask", "ALTER TABLE approvals ADD COLUMN client TEXT NOT NULL DEFAULT ''"),
    ("titles of tools", "ALTER TABLE approvals ADD COLUMN title TEXT NOT NULL DEFAULT ''"),
    ("effects of tools", "ALTER TABLE approvals ADD COLUMN effect TEXT NOT NULL DEFAULT ''"),
    ("findings in arguments", "ALTER TABLE approvals ADD COLUMN found TEXT NOT NULL DEFAULT ''"),
    (
        "versions",
        "CREATE TABLE versions (server TEXT NOT NULL, capabilities TEXT NOT NULL, name TEXT NOT NULL,"
        " seen REAL NOT NULL, pin TEXT NOT NULL, definition TEXT NOT NULL,"
        " PRIMARY KEY (server, capabilities, name, seen)) WITHOUT ROWID",
    ),
    (
        "versions that are pinned",
        "INSERT OR IGNORE INTO versions SELECT server, capabilities, name, seen, pin, definition FROM pins",
    ),
    ("names of tokens", "ALTER TABLE tokens ADD COLUMN name TEXT NOT NULL DEFAULT ''"),
    ("who answers", "ALTER TABLE approvals ADD COLUMN person TEXT NOT NULL DEFAULT ''"),
)
KIND = DatabaseKind(
    "policy",
    STEPS,
    "put a copy of it back; or accept the loss, and pin, approve, make tokens and equip a toolset again",
    noted_in="state.db",
)


_LAST = 253_402_300_800  # the end of the year 9999


class Pause(NamedTuple):
    """While it lasts nothing is called, whatever the policy says."""

    since: float
    until: float | None  # None where only a person ends it
    channel: str
    is_known: bool = True  # false where the file that may have one cannot be read

    @property
    def told(self) -> str:
        if not self.is_known:
            return "whether it is paused cannot be told, since policy.db cannot be read"
        since, *until = (time.strftime("%Y-%m-%d %H:%MZ", time.gmtime(at)) for at in self[:2] if at is not None)
        return f"paused since {since}, until {until[0] if until else 'it is resumed'}"


def _moment(at: float | None) -> float | None:
    """One that a clock can have; None, as for no end, where it is written otherwise by hand."""
    return at if isinstance(at, int | float) and 0 <= at < _LAST else None


class PolicyFile:
    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self.db = connection
        self._path = path
        self._inode = sqlite.inode(path)

    @classmethod
    def connect(cls, paths: Paths) -> Self:
        """Raises `Unusable` for a newer, broken or lost one. Threads may hand it on, but not share it; it waits."""
        with told():
            db = sqlite.connect_grown(paths.policy, KIND) if cls.is_made(paths) else _made(paths)
            _note(paths)
            return cls(db, paths.policy)

    @staticmethod
    def is_made(paths: Paths) -> bool:
        """Whether there is one; raises `Unusable` where one was lost: without it, held tools would be called."""
        if not sqlite.is_empty(paths.policy):
            return True
        if not paths.data.is_dir():
            return False
        with told(), _alone(paths):  # it is empty for a moment while it is made
            return _is_made(paths)

    @staticmethod
    def is_kept(paths: Paths) -> bool:
        """Whether there is one, that can be read or not."""
        return not sqlite.is_empty(paths.policy)

    @classmethod
    def check(cls, paths: Paths, policy: Policy) -> None:
        """Raises what `connect` does, if a policy needs it."""
        if policy.is_on:
            with cls.connect(paths) as file:
                file.look_through()

    @classmethod
    def as_it_lies(cls, paths: Paths) -> Self:
        """Open it for reading, unchanged; raises `StateError` where it cannot be read soon."""
        with told():
            return cls(sqlite.connect_unchanged(paths.policy, patience_s=0.1), paths.policy)

    def look_through(self) -> None:
        """Raises `Unusable` where a part of it cannot be read: the decisions there would no longer apply."""
        with told():
            sqlite.look_through(self.db, self._path, KIND)

    def wait_for_nobody(self) -> None:
        """Fail from now on while another process holds it."""
        with told():
            self.db.execute("PRAGMA busy_timeout = 0")

    @property
    def is_overwritten(self) -> bool:
        """Whether it is no database any more: while it is made out what is left, it may seem to be in use."""
        return sqlite.is_other(self._path)

    @property
    def is_there(self) -> bool:
        """Whether it still is the file of its name: neither removed nor replaced."""
        try:
            return sqlite.inode(self._path) == self._inode
        except OSError:
            return False

    @property
    def pause(self) -> Pause | None:
        """The pause of this moment."""
        sql = "SELECT since, until, channel FROM pause WHERE until IS NULL OR until > ?"
        try:  # in line, as the version: it is asked with each change
            row = self.db.execute(sql, (time.time(),)).fetchone()
        except sqlite3.Error as error:
            if "no such table" in str(error):
                return None  # of an older mcpctl, in a folder that cannot be written
            raise StateError(error) from error
        return Pause(_moment(row[0]) or 0, _moment(row[1]), row[2]) if row else None

    @property
    def version(self) -> tuple[int, int]:
        """Differs after each change of it: https://www.sqlite.org/pragma.html#pragma_data_version"""
        try:  # in line: it is asked at every call
            (others,) = self.db.execute("PRAGMA data_version").fetchone()
        except sqlite3.Error as error:
            raise StateError(error) from error
        return others, self.db.total_changes

    def close(self) -> None:
        with told():
            self.db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if isinstance(error, StateError) and error.is_passing:  # which file it is, only this one knows
            error.message = sqlite.unwritable(self._path, error.cause).message
            error.args = (error.message,)
        self.close()


def _made(paths: Paths) -> sqlite3.Connection:
    with _alone(paths):
        _is_made(paths)
        return sqlite.connect_grown(paths.policy, KIND)


@contextlib.contextmanager
def _alone(paths: Paths) -> Iterator[None]:
    try:
        with sqlite.alone(paths.data):
            yield
    except OSError as error:
        raise cannot_write(paths.data, error) from error


def _is_made(paths: Paths) -> bool:
    if not sqlite.is_empty(paths.policy):
        return True
    if paths.policy.exists():
        raise sqlite.damaged(paths.policy, KIND, "it is empty")
    if _is_noted(paths):
        raise Unusable(
            f"{paths.policy} is gone, and with it what was decided: pins, approvals and tokens",
            sqlite.removal(paths.policy, KIND),
            "policy_damaged",
        )
    return False


def _is_noted(paths: Paths) -> bool:
    """Whether `state.db` says that one was made. A damaged one says nothing."""
    if sqlite.is_empty(paths.state):
        return False
    try:
        with State.as_it_lies(paths) as state:
            return state.has_policy()
    except StateError as error:
        if error.is_passing:
            raise
        return False


def _note(paths: Paths) -> None:
    with contextlib.suppress(Unusable):  # it is noted when it is opened next
        if not _is_noted(paths):
            with State.connect(paths) as state:
                state.note_policy()
