"""`state.db`: what mcpctl remembers that is not a record."""

import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple, Self

from mcpctl.base.errors import Unusable
from mcpctl.base.paths import Paths
from mcpctl.store import sqlite, state_file


class StateError(Unusable):
    def __init__(self, cause: sqlite3.Error) -> None:
        is_held = sqlite.is_held(cause)
        hint = "another process has it at this moment; try again" if is_held else "see what is wrong: mcpctl doctor"
        super().__init__(str(cause), hint, sqlite.HELD if is_held else "database_failed")
        self.cause = cause

    @property
    def is_passing(self) -> bool:
        return sqlite.is_held(self.cause)


class ListKey(NamedTuple):
    """A list of tools for clients with some capabilities, or of prompts and the like."""

    server: str
    fingerprint: str
    capabilities: str = ""  # from `callers.capability_set`, or from `feature_names.list_of`


class ListedPlace(NamedTuple):
    server: str
    fingerprint: str
    capabilities: str
    position: int


class KeptList(NamedTuple):
    generation: int
    fetched_at: float
    tools: list[tuple[str, str]]  # names and definitions, as listed
    instructions: str = ""


class LastFailure(NamedTuple):
    at: float
    message: str
    code: str


_CLAIMED_S = 60.0
_NAMED = "toolset named: "
_KEPT_S = 300.0
patience = sqlite.patience
_OF_LIST = "server = ? AND fingerprint = ? AND capabilities = ?"


class State:
    """The state of servers, toolsets and vectors; open until it is closed, or its `with` block ends.

        with State.opened(paths) as state:
            state.equipped()

    Threads may hand it on, but not share it. Where another process writes, it waits for that one, unless it is
    `opened_for_others`. Its methods raise `StateError`.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._db = connection

    @classmethod
    def connect(cls, paths: Paths) -> Self:
        with told():
            return cls(state_file.connect(paths))

    @classmethod
    def opened(cls, paths: Paths, *, create: bool = False, waits: bool = False) -> Self:
        """State in memory where it cannot be used; raises `Unusable` for a newer one, and if it `waits`, a held one."""
        with told():
            return cls(state_file.opened(paths, create=create, waits=waits))

    @classmethod
    def opened_for_others(cls, paths: Paths) -> Self:
        """`opened`, for another thread than this one; it never waits, but fails where another process holds it."""
        with told():
            db = state_file.opened(paths, create=True)
            db.execute("PRAGMA busy_timeout = 0")
            return cls(db)

    @classmethod
    def as_it_lies(cls, paths: Paths) -> Self:
        """State on disk, for reading, left as it lies; raises `StateError` where none can be read soon."""
        with told():
            return cls(sqlite.connect_unchanged(paths.state, patience_s=0.1))

    @staticmethod
    def check(paths: Paths) -> None:
        """Raises `Unusable` for a file of a newer mcpctl: it must not be taken for an empty one. Never waits."""
        if not paths.state.exists():
            return
        uri = f"{paths.state.absolute().as_uri()}?mode=ro"
        # One that cannot be read now, or has no table yet, is looked at again when it is opened.
        with suppress(sqlite3.Error), closing(sqlite3.connect(uri, uri=True, timeout=0)) as db:
            sqlite.refuse_newer({name for (name,) in db.execute("SELECT name FROM steps")}, state_file.KIND)

    def close(self) -> None:
        with told():
            self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- what servers list

    def replace(
        self, of: ListKey, tools: list[tuple[str, str]], instructions: str = "", *, asked: bool = False
    ) -> bool:
        """Put a server's list in place of the one before; True when that changed anything. An empty list from a server
        that had tools is taken for a blip unless a person `asked` for it. One that was kept a moment ago is not written
        again: of many processes that start at once, each would wait for the others."""
        if not asked and self._is_kept(of, tools, instructions):
            return False
        with told(), sqlite.transaction(self._db):
            before = self._tools(of)
            keep = before == tools or (before and not tools and not asked)
            if not keep:
                self._db.execute(f"DELETE FROM listed WHERE {_OF_LIST}", of)
                self._db.executemany(
                    "INSERT INTO listed VALUES (?, ?, ?, ?, ?, ?)", [(*of, i, *tool) for i, tool in enumerate(tools)]
                )
            self._db.execute(
                "INSERT INTO lists VALUES (?, ?, ?, 1, ?, ?)"
                " ON CONFLICT DO UPDATE SET fetched_at = excluded.fetched_at, instructions = excluded.instructions,"
                " generation = generation + ?",
                (*of, time.time(), instructions, 0 if keep else 1),
            )
        return not keep

    def _is_kept(self, of: ListKey, tools: list[tuple[str, str]], instructions: str) -> bool:
        """Whether the same was kept a moment ago, as the latest list of the server."""
        with told(), sqlite.snapshot(self._db):
            latest = self._db.execute(
                "SELECT capabilities, instructions FROM lists WHERE server = :server AND fingerprint = :fingerprint"
                " AND fetched_at > :since AND (capabilities = :capabilities"
                " OR (:capabilities NOT LIKE '@%' AND capabilities NOT LIKE '@%'))"
                " ORDER BY fetched_at DESC LIMIT 1",
                {**of._asdict(), "since": time.time() - _KEPT_S},
            ).fetchone()
            return latest == (of.capabilities, instructions) and self._tools(of) == tools

    def listed(self, of: ListKey) -> KeptList | None:
        """A server's last list; None when it has never been asked."""
        with told(), sqlite.snapshot(self._db):
            row = self._row(f"SELECT generation, fetched_at, instructions FROM lists WHERE {_OF_LIST}", of)
            return KeptList(row[0], row[1], self._tools(of), row[2]) if row else None

    def capability_sets(self, server: str, fingerprint: str) -> list[str]:
        """The capabilities for which a server has listed its tools, the latest list first."""
        rows = self._rows(
            "SELECT capabilities FROM lists WHERE server = ? AND fingerprint = ? AND capabilities NOT LIKE '@%'"
            " ORDER BY fetched_at DESC",
            (server, fingerprint),
        )
        return [capabilities for (capabilities,) in rows]

    def instructions(self) -> dict[ListKey, str]:
        rows = self._rows("SELECT server, fingerprint, capabilities, instructions FROM lists ORDER BY fetched_at DESC")
        return {ListKey(*key): instructions for *key, instructions in rows}

    def generations(self) -> dict[ListKey, int]:
        """A number per list that grows whenever its tools change."""
        rows = self._rows("SELECT server, fingerprint, capabilities, generation FROM lists")
        return {ListKey(*key): generation for *key, generation in rows}

    def listed_names(self, server: str, fingerprint: str, prefix: str) -> list[tuple[str, ListedPlace]]:
        rows = self._rows(
            # SQLite takes the other columns from the row that has the least.
            "SELECT name, min(capabilities), position FROM listed WHERE server = ? AND fingerprint = ? AND"
            " name >= ? AND name < ? AND capabilities NOT LIKE '@%' GROUP BY name ORDER BY name",
            (server, fingerprint, prefix, prefix + sqlite.LAST),
        )
        return [(name, ListedPlace(server, fingerprint, *place)) for name, *place in rows]

    def definition(self, place: ListedPlace) -> str:
        ((text,),) = self._rows(f"SELECT definition FROM listed WHERE {_OF_LIST} AND position = ?", place)
        return str(text)

    def _tools(self, of: ListKey) -> list[tuple[str, str]]:
        return self._rows(f"SELECT name, definition FROM listed WHERE {_OF_LIST} ORDER BY position", of)

    def _rows(self, sql: str, values: Sequence[object] = ()) -> list[Any]:
        with told():
            return self._db.execute(sql, values).fetchall()

    def _row(self, sql: str, values: Sequence[object] = ()) -> Any:
        with told():
            return self._db.execute(sql, values).fetchone()

    # ---- how servers are

    def known_era(self, server: str, fingerprint: str) -> bool | None:
        """Whether it speaks the 2026-07-28 revision; None when it was never asked."""
        row = self._row("SELECT modern FROM eras WHERE server = ? AND fingerprint = ?", (server, fingerprint))
        return bool(row[0]) if row else None

    def remember_era(self, server: str, fingerprint: str, modern: bool) -> None:
        if self.known_era(server, fingerprint) is not modern:  # to read takes no lock
            self._rows("INSERT OR REPLACE INTO eras VALUES (?, ?, ?)", (server, fingerprint, modern))

    def last_failure(self, server: str, fingerprint: str) -> LastFailure | None:
        """The failure, or None when the server has worked since."""
        with told():
            try:
                row = self._db.execute(
                    "SELECT at, message, code FROM failures WHERE server = ? AND fingerprint = ?", (server, fingerprint)
                ).fetchone()
            except sqlite3.OperationalError:  # of an older mcpctl, in a folder that cannot be written
                return None
        return LastFailure(*row) if row else None

    def remember_failure(self, server: str, fingerprint: str, message: str | None, code: str = "") -> None:
        """A message of None says that the server works."""
        key = (server, fingerprint)
        if message is not None:
            self._rows("INSERT OR REPLACE INTO failures VALUES (?, ?, ?, ?, ?)", (*key, time.time(), message, code))
        elif self.last_failure(*key):
            self._rows("DELETE FROM failures WHERE server = ? AND fingerprint = ?", key)

    # ---- the equipped toolset

    @property
    def log(self) -> Path | None:
        """The file that is written by changes; None for one in memory."""
        (mode,) = self._row("PRAGMA journal_mode")
        _, _, path = self._row("PRAGMA database_list")
        return sqlite.files(Path(path))[1] if mode == "wal" else None

    def equipped(self) -> str | None:
        """The toolset in force where nothing else is named: its name, or the path of its file."""
        try:  # in line: just after it was written it is asked at every call
            row = self._db.execute("SELECT value FROM settings WHERE name = 'toolset'").fetchone()
        except sqlite3.Error as error:
            raise StateError(error) from error
        return bytes(row[0]).decode() if row else None

    def equip(self, reference: str | None) -> None:
        if reference is None:
            self._rows("DELETE FROM settings WHERE name = 'toolset'")
        else:
            self._set("toolset", reference)

    # ---- marks

    def claim_loosening(self, hashed: str) -> bool:
        """Whether nobody else has just put this change on record; nobody else does so for a minute."""
        now = time.time()
        with told(), sqlite.transaction(self._db):
            last, _, at = (self._setting("loosened") or "").partition(" ")
            if last == hashed and float(at or 0) > now - _CLAIMED_S:
                return False
            self._set("loosened", f"{hashed} {now}")
        return True

    def remember_named(self, path: str) -> None:
        """Note that a `serve` was started with this toolset, by the real path of its file."""
        if not self.is_named(path):
            self._set(f"{_NAMED}{path}", "")

    def is_named(self, path: str) -> bool:
        return self._setting(f"{_NAMED}{path}") is not None

    def has_policy(self) -> bool:
        """Whether a `policy.db` was made beside it."""
        return self._setting("policy") is not None

    def note_policy(self, *, again: bool = False) -> None:
        """Note that one was made; written `again`, processes that run without it look whether it is there."""
        if again or not self.has_policy():
            self._set("policy", "")

    def found_harmless(self) -> str:
        """The hash of texts in which a check has found nothing."""
        return self._setting("harmless") or ""

    def keep_harmless(self, hashed: str) -> None:
        if self.found_harmless() != hashed:
            self._set("harmless", hashed)

    def _setting(self, name: str) -> str | None:
        row = self._row("SELECT value FROM settings WHERE name = ?", (name,))
        return bytes(row[0]).decode() if row else None

    def _set(self, name: str, value: str) -> None:
        self._rows("INSERT OR REPLACE INTO settings VALUES (?, ?)", (name, value.encode()))

    # ---- vectors

    def vector(self, model: str, text: bytes) -> bytes | None:
        row = self._row("SELECT vector FROM vectors WHERE model = ? AND text = ?", (model, text))
        return row[0] if row else None

    def keep_vectors(self, model: str, vectors: Mapping[bytes, bytes], at_most: int) -> None:
        """Keep vectors by the hash of their text; with more than `at_most` of all models the oldest go."""
        rows = [(model, text, vector) for text, vector in vectors.items()]
        with told(), sqlite.transaction(self._db):
            self._db.executemany("INSERT OR REPLACE INTO vectors (model, text, vector) VALUES (?, ?, ?)", rows)
            self._db.execute("DELETE FROM vectors WHERE rowid <= (SELECT max(rowid) FROM vectors) - ?", (at_most,))

    def forget_vectors(self, model: str) -> None:
        self._rows("DELETE FROM vectors WHERE model = ?", (model,))


def is_passing(error: Unusable) -> bool:
    """Whether a database cannot be used only because another process has it at this moment."""
    return error.code == sqlite.HELD


def trouble(paths: Paths, error: Unusable) -> str:
    failure = sqlite.unwritable(paths.state, error.cause) if isinstance(error, StateError) else error
    return f"{failure.message} ({failure.hint})"


@contextmanager
def told() -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise StateError(error) from error
