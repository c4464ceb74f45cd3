"""What `serve` does for its records waits while it serves."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from mcpctl.base.paths import Paths
from mcpctl.config.settings import RecordSettings
from mcpctl.store import index, retention, sqlite
from mcpctl.store.records import LocalRecords
from mcpctl.store.retention import Upkeep
from tests.recorded import CLAUDE, CURSOR, at, call, created, opened, session, started, two_sessions


@pytest.fixture(autouse=True)
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index, "_CHUNK", 1000)


def test_the_index_is_brought_up_to_date(paths: Paths) -> None:
    two_sessions(paths)
    Upkeep(paths, RecordSettings, lambda: False).catch_up()
    assert rows(paths) == 6


def rows(paths: Paths) -> int:
    with closing(sqlite3.connect(paths.index)) as db:
        return int(db.execute("SELECT count(*) FROM calls").fetchone()[0])


def test_it_waits_between_steps_while_calls_are_in_flight(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    index.catch_up_on_disk(paths)
    session(paths, rest=[line for number in range(20) for line in call(f"{number:03}", number)])
    busy = [*[False] * 9, True, *[False] * 10, False, True, *[False] * 10]
    seen: list[int] = []

    def is_busy() -> bool:
        seen.append(rows(paths))
        return busy.pop(0) if busy else False

    monkeypatch.setattr(retention, "_LOOK_EVERY_S", 0)
    Upkeep(paths, RecordSettings, is_busy).catch_up()
    first, then, last = seen[:20], seen[20], seen[21:32]
    # Ten looks in a row without a call in flight are a pause of the client's; then each step needs one more.
    assert first == [seen[0]] * 20
    assert seen[0] < then < last[0] < 20
    assert last == [last[0]] * 11
    assert rows(paths) == 20


def test_nothing_is_locked_while_it_waits(paths: Paths) -> None:
    index.catch_up_on_disk(paths)
    session(paths, rest=[line for number in range(20) for line in call(f"{number:03}", number)])
    others: list[int] = []

    def is_busy() -> bool:
        with closing(sqlite3.connect(paths.index, timeout=0, isolation_level=None)) as db:
            db.execute("BEGIN IMMEDIATE")
            others.append(1)
            db.execute("ROLLBACK")
        return False

    Upkeep(paths, RecordSettings, is_busy).catch_up()
    assert len(others) > 2


def test_where_calls_never_end_it_goes_on_all_the_same(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    two_sessions(paths)
    monkeypatch.setattr(retention, "_LONGEST_PAUSE_S", 0)
    Upkeep(paths, RecordSettings, lambda: True).catch_up()
    assert rows(paths) == 6


def test_tidying_closes_the_dead_and_keeps_to_the_limits(paths: Paths) -> None:
    session(paths, CURSOR, 0)
    opened(paths, created(CLAUDE, 10), [started(1, 11)]).close()
    Upkeep(paths, lambda: RecordSettings(keep_sessions=1), lambda: False).tidy()
    with LocalRecords(paths) as records:
        (only,) = records.sessions().rows(None, 0)
    assert (only["id"], only["status"], only["end_time"]) == (CLAUDE, "closed", at(11))


CODEX = "3c0de000-0000-4000-8000-000000000003"


@contextmanager
def written_by_another(path: Path) -> Iterator[None]:
    """The database, while another process writes it."""
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield


def test_records_that_others_write_are_tidied_later(
    paths: Paths, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    session(paths, CURSOR, 0)
    session(paths, CLAUDE, 10)
    keeper = Upkeep(paths, lambda: RecordSettings(keep_sessions=1), lambda: False)
    keeper.catch_up()
    session(paths, CODEX, 20)
    monkeypatch.setattr(sqlite, "PATIENCE_S", 0)
    monkeypatch.setattr(index, "_READER_PATIENCE_S", 0)
    with written_by_another(paths.index):
        assert not keeper.tidy()
    assert capsys.readouterr().err == ""
    assert keeper.tidy()
    with LocalRecords(paths) as records:
        assert [row["id"] for row in records.sessions().rows(None, 0)] == [CODEX]


def test_a_reader_answers_from_what_the_index_has_while_others_write_it(
    paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    session(paths, CURSOR, 0)
    keeper = Upkeep(paths, RecordSettings, lambda: False)
    keeper.catch_up()
    session(paths, CLAUDE, 10)
    monkeypatch.setattr(index, "_READER_PATIENCE_S", 0)
    with written_by_another(paths.index), LocalRecords(paths) as records:
        assert [row["id"] for row in records.sessions().rows(None, 0)] == [CURSOR]
    with LocalRecords(paths) as records:
        assert [row["id"] for row in records.sessions().rows(None, 0)] == [CLAUDE, CURSOR]


def test_what_keeps_records_from_being_tidied_is_told_and_nothing_is_raised(
    paths: Paths, capsys: pytest.CaptureFixture[str]
) -> None:
    paths.data.parent.mkdir(parents=True, exist_ok=True)
    paths.data.touch()
    keeper = Upkeep(paths, RecordSettings, lambda: False)
    keeper.tidy()
    assert "records are not tidied: " in capsys.readouterr().err
    keeper.catch_up()
    assert capsys.readouterr().err == ""
