"""Transactions: all or nothing, and what is told is what went wrong first."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest

from mcpctl.base.paths import Paths
from mcpctl.catalog import cache
from mcpctl.store import index, sqlite, state_file
from mcpctl.store.state import ListKey, State, StateError, trouble
from tests.recorded import call, raw, session


@pytest.fixture
def db() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as db:
        db.execute("CREATE TABLE t (x)")
        yield db


def fill(db: sqlite3.Connection) -> None:
    """Leave no room: what a full disk is to SQLite, for one connection."""
    pages = db.execute("PRAGMA page_count").fetchone()[0]
    db.execute(f"PRAGMA max_page_count = {pages}")


def test_what_a_block_writes_is_written_together_or_not_at_all(db: sqlite3.Connection) -> None:
    with sqlite.transaction(db):
        db.execute("INSERT INTO t VALUES (1)")
    with pytest.raises(KeyboardInterrupt), sqlite.transaction(db):
        db.execute("INSERT INTO t VALUES (2)")
        raise KeyboardInterrupt
    assert db.execute("SELECT x FROM t").fetchall() == [(1,)]
    assert not db.in_transaction


def test_what_sqlite_has_rolled_back_itself_hides_nothing(db: sqlite3.Connection) -> None:
    with pytest.raises(ValueError, match="the first"), sqlite.transaction(db):
        db.execute("ROLLBACK")
        raise ValueError("the first")


def test_a_list_that_has_no_room_is_told_so(paths: Paths) -> None:
    with closing(state_file.connect(paths)) as db:
        fill(db)
        definitions = [b'{"name":"t%d","description":"%s"}' % (n, b"x" * 5000) for n in range(2000)]
        with pytest.raises(StateError, match="disk is full") as raised:
            cache.replace(State(db), ListKey("s", "f"), definitions)
        assert trouble(paths, raised.value) == (
            f"cannot write {paths.state}: the disk is full"
            " (make room there, or name another place with --data-dir or MCPCTL_DATA_DIR)"
        )
        assert not db.in_transaction
        assert db.execute("SELECT count(*) FROM listed").fetchone() == (0,)


def test_an_index_that_has_no_room_is_told_so(paths: Paths) -> None:
    index.on_disk(paths)
    session(paths, rest=[line for n in range(40) for line in call(f"{n:04}", n, response=raw("x" * 60_000))])
    with closing(sqlite3.connect(paths.index, isolation_level=None)) as db:
        fill(db)
        with pytest.raises(sqlite3.OperationalError, match="disk is full"):
            index.catch_up(db, paths.sessions)
        assert not db.in_transaction
