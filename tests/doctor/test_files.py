"""The data directory."""

import os
import sqlite3
from contextlib import closing
from typing import Any

import pytest

from mcpctl.base import posix
from mcpctl.base.paths import Paths
from mcpctl.config.settings import RecordSettings
from mcpctl.doctor import files, health
from mcpctl.policy import policy_file
from mcpctl.policy.policy_file import PolicyFile
from mcpctl.store import index, retention, sqlite, state_file
from tests.configured import configure
from tests.doctor.conftest import Found, told
from tests.recorded import CURSOR, call, created, opened, session


@pytest.fixture(autouse=True)
def recorded(paths: Paths) -> None:
    """One session, and its index."""
    configure(paths, {})
    session(paths, rest=call(1, 1))
    index.on_disk(paths)


def test_records_that_are_whole_are_in_order(found: Found) -> None:
    assert found("data") == []


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), OSError(30, "Read-only file system")])
def test_a_folder_that_cannot_be_written_is_named(
    paths: Paths, found: Found, monkeypatch: pytest.MonkeyPatch, error: OSError
) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(posix, "lock", full)
        assert told(found("data")) == [("D141", str(paths.data), f"it cannot be written: {error.strerror}")]
        if error.errno == 28:
            patch.setattr("mcpctl.doctor.health.of_state", lambda _: ("disk I/O error", "remove it"))
            patch.setattr("mcpctl.doctor.health.damage", lambda _: "disk I/O error")
            assert [code for code, *_ in told(found("data"))] == ["D141"]
    assert not list(paths.data.glob(".doctor*"))


def test_a_folder_that_cannot_be_made_is_named(paths: Paths, found: Found, monkeypatch: pytest.MonkeyPatch) -> None:
    file = paths.config.parent / "file"
    file.write_text("", encoding="utf-8")
    monkeypatch.setenv("MCPCTL_DATA_DIR", str(file / "data"))
    ((code, subject, _),) = told(found("data"))
    assert (code, subject) == ("D141", str(file / "data"))


def test_little_room_is_told(paths: Paths, found: Found, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_LITTLE", 1 << 62)
    ((code, _, message),) = told(found("data"))
    assert code == "D142"
    assert message.endswith(" MB are left")


def test_a_journal_that_cannot_be_read_is_named(paths: Paths, found: Found) -> None:
    fifo, link = paths.sessions / "1_fifo.jsonl", paths.sessions / "0_link.jsonl"
    os.mkfifo(fifo)
    link.symlink_to("nowhere")
    assert told(found("data")) == [
        ("D143", str(fifo), "it is not a regular file"), ("D143", str(link), "No such file or directory"),
    ]  # fmt: skip


def test_lines_that_cannot_be_read_are_named_and_one_that_is_being_written_is_not(paths: Paths, found: Found) -> None:
    (path,) = paths.sessions.iterdir()
    size = path.stat().st_size
    with path.open("ab") as file:
        file.write(b'{"torn": \n\xff\n{"type": "of.a.later.version"}\n{"being wri')
    assert told(found("data")) == [("D144", str(path), f"the line at byte {size} and 1 more cannot be read")]


def test_only_so_much_is_read_and_that_is_said(paths: Paths, found: Found, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "_MOST_READ", 100)
    looked = health.journals(paths.sessions)
    assert (looked.count, looked.read, looked.bad_lines) == (1, 100, {})
    assert looked.bytes > 100


@pytest.mark.parametrize("content", [b"rubbish" * 2000, b"SQLite format 3\0" + b"\1" * 5000])
def test_a_damaged_index_is_made_anew(paths: Paths, found: Found, content: bytes) -> None:
    paths.index.write_bytes(content)
    (finding,) = found("data")
    assert (finding.code, finding.subject) == ("D145", str(paths.index))
    assert finding.repair
    finding.repair()
    assert found("data") == []


def test_a_database_that_is_a_pipe_holds_nobody_up(paths: Paths, found: Found) -> None:
    for path in (paths.index, paths.state, paths.policy):
        path.unlink(missing_ok=True)
        os.mkfifo(path)
    assert told(found("data")) == [
        (code, str(path), "it is not a regular file")
        for code, path in (("D145", paths.index), ("D148", paths.state), ("D149", paths.policy))
    ]


def test_what_is_left_over_is_removed(paths: Paths, found: Found) -> None:
    old, beside = paths.older_indexes[0], paths.sessions / "1_a.0123456789abcdef.new"
    for path in (old, beside):
        path.write_bytes(b"")
    (finding,) = found("data")
    assert (finding.code, finding.message) == ("D146", f"left over: {old.name}, {beside.name}")
    assert finding.repair
    finding.repair()
    assert not old.exists()
    assert not beside.exists()


def test_sessions_of_the_dead_are_closed_and_those_of_the_living_are_not(paths: Paths, found: Found) -> None:
    journal = opened(paths, created(CURSOR, 10), call(2, 11, CURSOR))
    index.on_disk(paths)
    assert found("data") == []
    journal.close()
    (finding,) = found("data")
    assert (finding.code, finding.message) == ("D147", "1 session is open on record, without a process")
    assert finding.repair
    finding.repair()
    assert found("data") == []


@pytest.mark.parametrize(("name", "code"), [("state", "D148"), ("policy", "D149")])
def test_databases_that_are_damaged_or_newer_are_named_and_left_alone(
    paths: Paths, found: Found, name: str, code: str
) -> None:
    kind = {"state": state_file.KIND, "policy": policy_file.KIND}[name]
    path = getattr(paths, name)
    sqlite.connect_grown(path, kind).close()
    assert found("data") == []
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("INSERT INTO steps VALUES ('of a later version')")
    (finding,) = found("data")
    assert (finding.code, finding.fix) == (code, "upgrade mcpctl, or name another place with MCPCTL_HOME")
    path.write_bytes(b"rubbish" * 2000)
    (finding,) = found("data")
    assert (finding.code, finding.message, finding.repair) == (code, "file is not a database", None)
    assert finding.fix.endswith(f"rm {path}" if name == "state" else f"rm -f {path} {paths.state}")


def test_decisions_that_were_lost_are_said(paths: Paths, found: Found) -> None:
    PolicyFile.connect(paths).close()
    assert found("data") == []
    paths.policy.write_bytes(b"")
    for why in ("it is empty", "and with it what was decided"):
        (finding,) = found("data")
        assert (finding.code, finding.repair) == ("D149", None)
        assert why in finding.message
        assert finding.fix.endswith(f"rm -f {paths.policy} {paths.state}")
        paths.policy.unlink(missing_ok=True)


def test_a_database_that_another_process_holds_is_not_damaged(paths: Paths, found: Found) -> None:
    sqlite.connect_grown(paths.state, state_file.KIND).close()
    with closing(sqlite3.connect(paths.state, isolation_level=None)) as db:
        db.execute("BEGIN EXCLUSIVE")
        assert found("data") == []


@pytest.mark.parametrize("mode", ["NORMAL", "EXCLUSIVE"])
def test_decisions_that_another_process_holds_are_said(paths: Paths, found: Found, mode: str) -> None:
    PolicyFile.connect(paths).close()
    with closing(sqlite3.connect(paths.policy, isolation_level=None)) as db:
        db.execute(f"PRAGMA locking_mode = {mode}")
        db.execute("BEGIN EXCLUSIVE")
        db.execute("CREATE TABLE held (a)")
        (finding,) = found("data")
        assert (finding.code, finding.message[:22]) == ("D149", "another process has it")
        db.execute("ROLLBACK")
    assert found("data") == []


def test_what_was_removed_is_told_with_its_limit(paths: Paths, found: Found) -> None:
    session(paths, CURSOR, 10, call(2, 11, CURSOR))
    for number in range(2):
        retention.tidy(paths, RecordSettings(keep_sessions=1))
        session(paths, f"{number}0000000-0000-4000-8000-000000000000", 20 + number)
    (finding,) = found("data")
    assert finding.code == "D150"
    assert finding.message.startswith("2 older sessions were removed, the last on ")
    assert finding.message.endswith(": keep_sessions = 1 in [records]")


def test_a_pipe_in_the_place_of_what_was_removed_holds_nobody_up(paths: Paths, found: Found) -> None:
    os.mkfifo(paths.evictions)
    assert found("data") == []
