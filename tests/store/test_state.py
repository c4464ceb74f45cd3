"""`state.db`: grown by steps, the same from wherever it starts."""

import sqlite3
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from pytest_snapshot.plugin import Snapshot

from mcpctl.base import feature_names
from mcpctl.base.errors import Unusable
from mcpctl.base.paths import Paths
from mcpctl.catalog import cache
from mcpctl.store import sqlite, state_file
from mcpctl.store.state import ListKey, State, StateError
from tests.conftest import Mcpctl
from tests.table import for_each

SCHEMA = "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name"


def memory() -> sqlite3.Connection:
    return sqlite3.connect(":memory:", isolation_level=None)


def schema(db: sqlite3.Connection) -> list[str]:
    return [sql for (sql,) in db.execute(SCHEMA)]


def test_every_step_has_a_name_of_its_own() -> None:
    assert len({name for name, _ in state_file.STEPS}) == len(state_file.STEPS)


@for_each("known", range(len(state_file.STEPS) + 1))
def test_from_any_earlier_step_the_schema_is_the_same(known: int) -> None:
    with closing(memory()) as fresh, closing(memory()) as older:
        sqlite.migrate(fresh, state_file.KIND)
        sqlite.migrate(older, state_file.KIND._replace(steps=state_file.STEPS[:known]))
        sqlite.migrate(older, state_file.KIND)
        assert schema(older) == schema(fresh)
        assert list(older.iterdump()) == list(fresh.iterdump())


def test_twice_changes_nothing(paths: Paths) -> None:
    with closing(state_file.connect(paths)) as db:
        db.execute("INSERT INTO settings VALUES ('x', 'y')")
        before = list(db.iterdump())
    with closing(state_file.connect(paths)) as db:
        assert list(db.iterdump()) == before


def test_a_step_that_fails_leaves_the_steps_before_it() -> None:
    with closing(memory()) as db:
        with pytest.raises(sqlite3.OperationalError):
            broken = (*state_file.STEPS, ("broken", "CREATE TABLE"))
            sqlite.migrate(db, state_file.KIND._replace(steps=broken))
        if db.in_transaction:
            db.execute("ROLLBACK")
        assert {name for (name,) in db.execute("SELECT name FROM steps")} == {name for name, _ in state_file.STEPS}


def newer(paths: Paths) -> None:
    with closing(state_file.connect(paths)) as db:
        db.execute("INSERT INTO steps VALUES ('from_the_future')")


@pytest.mark.parametrize("words", ["tools ls", "tools search x", "tools show a:b", "servers ls"])
def test_one_that_a_newer_version_wrote_is_refused(mcpctl: Mcpctl, paths: Paths, words: str) -> None:
    newer(paths)
    ran = mcpctl(*words.split(), "--json")
    assert (ran.code, ran.error["code"]) == (5, "state_newer")
    assert "from_the_future" in ran.error["message"]
    assert "upgrade" in ran.error["hint"]


@pytest.mark.parametrize("words", ["calls ls", "sessions ls", "db path"])
def test_records_are_read_beside_a_newer_one(mcpctl: Mcpctl, paths: Paths, words: str) -> None:
    newer(paths)
    assert mcpctl(*words.split()).code == 0


def test_one_that_is_no_database_is_done_without_and_what_mends_it_is_said(mcpctl: Mcpctl, paths: Paths) -> None:
    paths.data.mkdir(parents=True)
    paths.state.write_bytes(b"rubbish" * 1000)
    ran = mcpctl("tools", "ls", "--json")
    assert ran.json == []
    assert f"rm {paths.state}" in ran.err


def test_one_that_cannot_be_opened_is_done_without_and_said(mcpctl: Mcpctl, paths: Paths) -> None:
    paths.state.mkdir(parents=True)
    ran = mcpctl("tools", "ls", "--json")
    assert ran.json == []
    assert f"{paths.state} is damaged: it is a folder" in ran.err


def test_whoever_needs_the_one_on_disk_is_told_why_it_cannot_be_had(paths: Paths) -> None:
    paths.data.mkdir(parents=True)
    paths.state.write_bytes(b"rubbish" * 1000)
    with pytest.raises(Unusable) as raised:
        state_file.connect(paths)
    assert raised.value.code == "state_damaged"


def test_a_command_that_reads_makes_none(mcpctl: Mcpctl, paths: Paths) -> None:
    mcpctl("tools", "ls")
    mcpctl("servers", "ls")
    assert not paths.state.exists()


def test_it_is_its_owners_alone(paths: Paths) -> None:
    state_file.connect(paths).close()
    assert paths.state.stat().st_mode & 0o777 == 0o600
    assert paths.data.stat().st_mode & 0o777 == 0o700


def test_what_another_one_holds_is_told_as_an_error_of_the_state(paths: Paths) -> None:
    with closing(state_file.connect(paths)) as db, State.opened_for_others(paths) as state:
        db.execute("BEGIN IMMEDIATE")
        with pytest.raises(StateError, match="database is locked") as raised:
            state.equip("triage")
        assert isinstance(raised.value.cause, sqlite3.OperationalError)
        assert state.equipped() is None


def test_where_there_is_none_one_in_memory_is_waited_for_as_one_on_disk_is(paths: Paths, tmp_path: Path) -> None:
    with closing(state_file.opened(paths)) as db, ThreadPoolExecutor(1) as aside:
        db.execute("BEGIN IMMEDIATE")
        with State.opened(replace(paths, data=tmp_path / "other")) as other:
            other.equip("triage")  # nobody has that one
        with sqlite.patience(0), pytest.raises(Unusable, match="is locked"):
            State.opened(paths)
        later = aside.submit(State.opened, paths)
        db.execute("COMMIT")
        with later.result() as state:
            assert state.equipped() is None


@pytest.mark.process
def test_a_list_is_read_as_it_was_at_one_moment(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    paths.data.mkdir(parents=True)
    of, tools = ListKey("files", "f"), State._tools

    def replaced_meanwhile(state: State, key: ListKey) -> list[tuple[str, str]]:
        monkeypatch.undo()
        with State.connect(paths) as other:
            other.replace(of, [("new", "{}")], "")
        return tools(state, key)

    with State.connect(paths) as state:
        state.replace(of, [("old", "{}")], "")
        before = state.listed(of)
        monkeypatch.setattr(State, "_tools", replaced_meanwhile)
        assert state.listed(of) == before
        after = state.listed(of)
    assert before and after
    assert (after.tools, after.generation > before.generation) == ([("new", "{}")], True)


@pytest.mark.slow
def test_processes_that_make_it_at_once_agree(paths: Paths) -> None:
    program = "from mcpctl.base.paths import find; from mcpctl.store.state_file import connect; connect(find()).close()"
    processes = [subprocess.Popen([sys.executable, "-c", program]) for _ in range(8)]
    assert [process.wait(timeout=30) for process in processes] == [0] * 8
    with closing(state_file.connect(paths)) as db, closing(memory()) as fresh:
        sqlite.migrate(fresh, state_file.KIND)
        assert schema(db) == schema(fresh)


def test_one_that_is_deleted_while_it_is_open_takes_nothing_from_who_has_it(paths: Paths) -> None:
    with State.connect(paths) as old:
        old.equip("small")
        logs = {path.name: path.stat().st_ino for path in sqlite.files(paths.state)}
        paths.state.unlink()  # and its log is left
        with State.connect(paths) as new:
            assert new.equipped() is None
            assert not logs.items() & {path.name: path.stat().st_ino for path in sqlite.files(paths.state)}.items()
            assert old.equipped() == "small"


def test_the_schema(snapshot: Snapshot) -> None:
    snapshot.snapshot_dir = Path(__file__).parent / "snapshots"
    with closing(memory()) as db:
        sqlite.migrate(db, state_file.KIND)
        snapshot.assert_match("".join(f"{sql};\n" for sql in schema(db)), "state.sql")


def test_what_has_not_changed_is_not_written_again(paths: Paths) -> None:
    """Of many that start at once, none waits for another that has kept the same."""
    of, tools = ListKey("s", "f", "roots"), [b'{"name":"a"}', b'{"name":"b"}']
    features = of._replace(capabilities=feature_names.list_of(feature_names.PROMPTS))

    def keep(state: State) -> bool:
        state.remember_era("s", "f", False)
        state.remember_failure("s", "f", None)
        state.remember_named("/work/a.json")
        state.keep_harmless("0a1b")
        state.note_policy()
        changes = [cache.replace(state, of, tools, "hello"), cache.replace(state, features, tools)]
        return any(changes)

    with closing(state_file.connect(paths)) as db, State.opened_for_others(paths) as state:
        assert keep(state)
        db.execute("BEGIN IMMEDIATE")
        assert not keep(state)


@pytest.mark.parametrize("change", ["tools", "instructions", "by a person", "later", "another list since"])
def test_a_list_is_kept_again_where_that_tells_anything(
    paths: Paths, change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    of, other, tools = ListKey("s", "f", "roots"), ListKey("s", "f"), [b'{"name":"a"}']
    moment = time.time()
    with State.connect(paths) as state:
        monkeypatch.setattr(time, "time", lambda: moment)
        cache.replace(state, of, tools, "hello")
        moment += 1
        if change == "another list since":
            cache.replace(state, other, tools)
        moment += 24 * 3600 if change == "later" else 1
        cache.replace(
            state, of, [*tools, b'{"name":"b"}'] if change == "tools" else tools,
            "other" if change == "instructions" else "hello", asked=change == "by a person",
        )  # fmt: skip
        kept = state.listed(of)
    assert kept
    assert kept.fetched_at == moment
