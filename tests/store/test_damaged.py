"""A database of people's decisions that is damaged is named, with what to do, and nothing is decided without it."""

import os
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest

from mcpctl.base.errors import Unusable
from mcpctl.base.paths import Paths
from mcpctl.policy.policy_file import PolicyFile
from mcpctl.store import sqlite
from mcpctl.store.state import State
from tests.conftest import Mcpctl
from tests.proxy.client import write_config

ON = {"mode": "enforce"}


def no_tables(paths: Paths) -> None:
    with closing(sqlite3.connect(paths.policy)) as db:
        for table in ("pins", "approvals"):
            db.execute(f"DROP TABLE {table}")
        db.commit()


def bad_page(paths: Paths) -> None:
    with closing(sqlite3.connect(paths.policy)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (page,) = db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'pins'").fetchone()
        (size,) = db.execute("PRAGMA page_size").fetchone()
    with paths.policy.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(os.urandom(size))


def garbage(paths: Paths) -> None:
    for file in paths.data.glob("policy.db*"):
        file.unlink()
    paths.policy.write_bytes(b"no database" * 1000)


def emptied(paths: Paths) -> None:
    garbage(paths)
    paths.policy.write_bytes(b"")


def folder(paths: Paths) -> None:
    garbage(paths)
    paths.policy.unlink()
    paths.policy.mkdir()


DAMAGES = [no_tables, bad_page, garbage, emptied, folder]


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_serves_by_it_does_not_begin_and_says_which_file_it_is(
    damage: Callable[[Paths], None], paths: Paths, mcpctl: Mcpctl
) -> None:
    write_config(paths.config.parent, {"none": ["false"]}, policy=ON)
    PolicyFile.connect(paths).close()
    damage(paths)
    for line in (["serve"], ["tools", "call", "none:tool"]):
        ran = mcpctl(*line)
        assert ran.code == 5
        assert f"{paths.policy} is damaged: " in ran.err
        assert f"{'mv' if damage is folder else 'rm -f'} {paths.policy}" in ran.err.replace("'", "")


@pytest.mark.parametrize(
    "line", [["serve"], ["tools", "call", "none:tool"], ["tools", "ls"], ["approvals", "ls"], ["tokens", "ls"]]
)
def test_one_that_is_gone_is_not_taken_for_none_until_the_loss_is_accepted(
    line: list[str], paths: Paths, mcpctl: Mcpctl
) -> None:
    write_config(paths.config.parent, {"none": ["false"]}, policy=ON)
    PolicyFile.connect(paths).close()
    for file in paths.data.glob("policy.db*"):
        file.unlink()
    ran = mcpctl(*line)
    assert ran.code == 5
    assert f"{paths.policy} is gone, and with it what was decided" in ran.err
    assert f"rm -f {paths.policy} {paths.state}" in ran.err.replace("'", "")
    assert not paths.policy.exists()
    paths.state.unlink()
    assert not PolicyFile.is_made(paths)
    PolicyFile.connect(paths).close()


def test_many_that_make_it_at_once_do_not_take_it_for_emptied(paths: Paths) -> None:
    with ThreadPoolExecutor(8) as pool:
        for file in pool.map(lambda _: PolicyFile.connect(paths), range(16)):
            file.close()
    assert PolicyFile.is_made(paths)


def test_a_state_database_that_was_removed_notes_it_again(paths: Paths) -> None:
    PolicyFile.connect(paths).close()
    paths.state.unlink()
    PolicyFile.connect(paths).close()
    paths.policy.unlink()
    with pytest.raises(Unusable, match="is gone"):
        PolicyFile.connect(paths)


def test_a_table_that_is_gone_is_damage_wherever_it_is_opened(paths: Paths) -> None:
    PolicyFile.connect(paths).close()
    no_tables(paths)
    with pytest.raises(Unusable, match="is damaged: it has no table 'approvals'"):
        PolicyFile.connect(paths)
    with State.connect(paths):
        pass
    with closing(sqlite3.connect(paths.state)) as db:
        db.execute("DROP TABLE lists")
        db.commit()
    with pytest.raises(Unusable, match="is damaged: it has no table 'lists'"):
        State.connect(paths)


def test_one_that_another_process_has_to_itself_is_not_waited_for_again_and_again(
    paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    PolicyFile.connect(paths).close()
    sleeps: list[float] = []
    monkeypatch.setattr(sqlite, "PATIENCE_S", 0)
    monkeypatch.setattr("mcpctl.store.sqlite.time.sleep", sleeps.append)
    with closing(sqlite3.connect(paths.policy, isolation_level=None)) as other:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        other.execute("CREATE TABLE held (a)")
        with pytest.raises(Unusable, match="database is locked") as raised:
            PolicyFile.connect(paths)
        other.execute("ROLLBACK")
    assert (raised.value.code, raised.value.hint) == (
        "database_held",
        "another process has it at this moment; try again",
    )
    assert len(sleeps) < 3


@pytest.mark.parametrize("line", [["approvals", "ls"], ["tokens", "revoke", "x"]])
def test_one_that_somebody_writes_is_named(
    line: list[str], paths: Paths, mcpctl: Mcpctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    PolicyFile.connect(paths).close()
    monkeypatch.setattr(sqlite, "PATIENCE_S", 0)
    with closing(sqlite3.connect(paths.policy, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        ran = mcpctl(*line)
    assert ran.code == 5
    assert f"cannot write {paths.policy}: database is locked" in ran.err
    assert "another process has it at this moment" in ran.err
