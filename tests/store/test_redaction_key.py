"""The key of redaction marks: one for a home, had without waiting for anybody."""

import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from mcpctl.base.callers import Client
from mcpctl.base.paths import Paths
from mcpctl.config.settings import RecordSettings
from mcpctl.store import state_file
from mcpctl.store.recordable import redaction_key
from mcpctl.store.recorder import Origin, Recorder
from mcpctl.store.records import LocalRecords

OLD = b"k" * 32


ORIGIN = Origin(Client())


def kept_by_an_older_version(paths: Paths) -> None:
    with closing(state_file.connect(paths)) as db:
        db.execute("INSERT INTO settings VALUES ('redaction_key', ?)", (OLD,))


@contextmanager
def locked(paths: Paths, how: str) -> Iterator[None]:
    """state.db, locked by another connection."""
    with closing(sqlite3.connect(paths.state, isolation_level=None)) as db:
        if how == "whole":
            db.execute("PRAGMA locking_mode = EXCLUSIVE")
            db.execute("PRAGMA journal_mode = DELETE")
            db.execute("BEGIN EXCLUSIVE")
            for suffix in ("-wal", "-shm"):
                paths.state.with_name(paths.state.name + suffix).touch()
        else:
            db.execute("BEGIN IMMEDIATE")
        yield
        db.execute("ROLLBACK")


def test_it_is_made_once_and_is_its_owners_alone(paths: Paths) -> None:
    first = redaction_key(paths)
    assert len(first) == 32
    assert redaction_key(paths) == first
    assert paths.redaction_key.stat().st_mode & 0o777 == 0o600
    assert paths.data.stat().st_mode & 0o777 == 0o700
    assert list(paths.data.iterdir()) == [paths.redaction_key]


def test_the_key_that_an_older_version_kept_stays_the_key(paths: Paths) -> None:
    kept_by_an_older_version(paths)
    assert redaction_key(paths) == OLD
    paths.state.unlink()
    assert redaction_key(paths) == OLD


@pytest.mark.parametrize("how", ["for writing", "whole"])
def test_a_database_that_is_locked_is_not_waited_for(paths: Paths, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made = Recorder(paths, RecordSettings())
    state_file.connect(paths).close()
    asked: list[float] = []
    connect = sqlite3.connect

    def seen(*args: object, timeout: float = 5.0, **options: object) -> sqlite3.Connection:
        asked.append(timeout)
        return connect(*args, timeout=timeout, **options)  # type: ignore[call-overload, no-any-return]

    with locked(paths, how):
        monkeypatch.setattr(sqlite3, "connect", seen)
        made.call_started("s", "t", b'{"token":"hunter2"}', request_id=b"1", annotations=b"null", origin=ORIGIN)
        made.close()
    assert set(asked) <= {0}
    monkeypatch.undo()
    (journal,) = paths.sessions.iterdir()
    assert b"hunter2" not in journal.read_bytes()


def test_while_the_older_key_cannot_be_told_no_other_is_kept(paths: Paths) -> None:
    kept_by_an_older_version(paths)
    with locked(paths, "whole"):
        assert redaction_key(paths) != OLD
        assert not paths.redaction_key.exists()
    assert redaction_key(paths) == OLD


@pytest.mark.parametrize("rubbish", [b"", b"rubbish" * 1000])
def test_a_state_that_cannot_be_read_has_no_key(paths: Paths, rubbish: bytes) -> None:
    paths.data.mkdir(parents=True)
    paths.state.write_bytes(rubbish)
    first = redaction_key(paths)
    assert redaction_key(paths) == first == paths.redaction_key.read_bytes()


@pytest.mark.parametrize("content", [b"", b"short", b"x" * 33])
def test_a_damaged_key_is_told_and_done_without(
    paths: Paths, capsys: pytest.CaptureFixture[str], content: bytes
) -> None:
    paths.data.mkdir(parents=True)
    paths.redaction_key.write_bytes(content)
    assert len(redaction_key(paths)) == 32
    assert f"{paths.redaction_key} is damaged" in capsys.readouterr().err
    assert paths.redaction_key.read_bytes() == content


@pytest.mark.parametrize("make", [os.mkfifo, Path.mkdir])
def test_what_is_no_file_is_not_waited_for(paths: Paths, make: object) -> None:
    assert callable(make)
    paths.data.mkdir(parents=True)
    make(paths.redaction_key)
    assert len(redaction_key(paths)) == 32


def test_where_none_can_be_kept_there_is_one_for_this_process(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert len(redaction_key(Paths(tmp_path / "c", tmp_path / "file" / "data"))) == 32


@pytest.mark.slow
@pytest.mark.process
def test_processes_that_make_it_at_once_agree(paths: Paths) -> None:
    imports = "from mcpctl.base.paths import find; from mcpctl.store.recordable import redaction_key"
    program = f"{imports}; print(redaction_key(find()).hex())"
    processes = [subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) for _ in range(8)]
    keys = {process.communicate(timeout=30)[0] for process in processes}
    assert len(keys) == 1


def test_equal_secrets_have_equal_marks_in_every_session_of_a_home(paths: Paths) -> None:
    for _ in range(2):
        made = Recorder(paths, RecordSettings())
        made.call_started("s", "t", b'{"token":"hunter2"}', request_id=b"1", annotations=b"null", origin=ORIGIN)
        made.close()
    with LocalRecords(paths) as records:
        first, second = (row["arguments"] for row in records.calls().rows(None, 0))
    assert first == second
    assert "hunter2" not in first
