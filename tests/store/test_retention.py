"""How much is kept: the stalest closed sessions go first, the active never."""

import errno
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mcpctl.base.paths import Paths
from mcpctl.config.settings import RecordSettings
from mcpctl.store import clock, index, journal, journal_lines, retention
from mcpctl.store.journal import Journal
from mcpctl.store.records import LocalRecords
from tests.recorded import at, call, closed, created, opened, raw, session

MIB = 1 << 20


def id_of(number: int) -> str:
    return f"{number}e551015-0000-4000-8000-00000000000{number}"


def left(paths: Paths) -> list[int]:
    """The sessions that are on record, last activity first."""
    with LocalRecords(paths) as records:
        return [int(row["id"][0]) for row in records.sessions().rows(None, 0)]


def tidy(paths: Paths, **settings: Any) -> None:
    retention.tidy(paths, RecordSettings(**settings))


def large(paths: Paths, number: int, mib: float, minute: float) -> Journal:
    text = raw("x" * round(mib * MIB))
    return session(paths, id_of(number), minute, call(number, minute, id_of(number), response=text))


def of_days_ago(paths: Paths, number: int, days: float, via: str = "client") -> None:
    first = created(id_of(number), via=via)
    first.timestamp = clock.iso(time.time() - days * 86_400)
    opened(paths, first).close(journal_lines.encode(closed(id_of(number))))


@pytest.fixture
def living() -> Iterator[list[Journal]]:
    journals: list[Journal] = []
    yield journals
    for each in journals:
        each.close()


def test_the_sessions_with_the_latest_activity_are_kept(paths: Paths) -> None:
    for number, minute in ((1, 30), (2, 10), (3, 20), (4, 5)):
        session(paths, id_of(number), 0, call(number, minute, id_of(number)))
    tidy(paths, keep_sessions=2)
    assert left(paths) == [1, 3]
    assert len(list(paths.sessions.iterdir())) == 2


def test_what_is_within_the_limits_stays(paths: Paths) -> None:
    for number in range(3):
        session(paths, id_of(number), number)
    tidy(paths, keep_sessions=3, max_mb=1)
    assert left(paths) == [2, 1, 0]


def test_sessions_are_kept_for_days_where_that_is_asked(paths: Paths, living: list[Journal]) -> None:
    for number, days in ((1, 0.5), (2, 1.9), (3, 2.1), (4, 400)):
        of_days_ago(paths, number, days)
    of_days_ago(paths, 5, 3, via="cli")
    first = created(id_of(6))
    first.timestamp = clock.iso(time.time() - 401 * 86_400)
    living.append(opened(paths, first))
    tidy(paths)
    assert left(paths) == [1, 2, 3, 5, 4, 6]
    tidy(paths, keep_days=2)
    assert left(paths) == [1, 2, 6]


def test_what_is_evicted_is_told_with_the_limit(paths: Paths, capsys: pytest.CaptureFixture[str]) -> None:
    for number in (1, 2, 3):
        session(paths, id_of(number), number)
    of_days_ago(paths, 4, 400)
    tidy(paths, keep_sessions=4)
    assert capsys.readouterr().err == ""
    tidy(paths, keep_sessions=2, keep_days=300)
    assert capsys.readouterr().err.splitlines() == [
        "mcpctl: 1 session was removed from the record, the oldest first: keep_sessions is 2 in [records]",
        "mcpctl: 1 session was removed from the record, the oldest first: keep_days is 300 in [records]",
    ]


def test_a_limit_of_0_is_none(paths: Paths) -> None:
    for number in range(3):
        large(paths, number, 0.5, number)
    of_days_ago(paths, 4, 400)
    tidy(paths, keep_sessions=0, keep_days=0, max_mb=0)
    assert left(paths) == [2, 1, 0, 4]
    tidy(paths, keep_sessions=0, keep_days=90, max_mb=0)
    assert left(paths) == [2, 1, 0]


def test_what_was_evicted_is_kept_with_the_limit(paths: Paths) -> None:
    for number in (1, 2, 3):
        session(paths, id_of(number), number, call(number, number, id_of(number)))
    of_days_ago(paths, 4, 400)
    tidy(paths, keep_sessions=4)
    assert retention.evictions(paths) == []
    tidy(paths, keep_sessions=1)
    tidy(paths, keep_sessions=0, keep_days=0, max_mb=1)
    with LocalRecords(paths) as records:
        (row,) = records.evictions()
    assert (row["limit"], row["value"], row["sessions"], row["calls"]) == ("keep_sessions", 1, 3, 2)
    assert (row["oldest"][:4], row["newest"]) != (row["newest"][:4], at(1))
    assert row["newest"] == at(2.1)
    assert paths.evictions.stat().st_mode & 0o777 == 0o600


def test_evictions_are_kept_up_to_a_number_and_what_cannot_be_read_is_none(paths: Paths) -> None:
    for number in range(130):
        note = retention.Eviction(
            timestamp=at(number), limit="keep_sessions", value=1, sessions=number, calls=0, oldest="", newest=""
        )
        retention.note(paths, [note])
    assert [row["sessions"] for row in retention.evictions(paths)] == list(range(129, 29, -1))
    paths.evictions.write_bytes(b'{"half": \xff\n' + paths.evictions.read_bytes()[:200])
    assert [row["sessions"] for row in retention.evictions(paths)] == [30]


def test_an_active_session_is_never_evicted_however_stale(paths: Paths, living: list[Journal]) -> None:
    living.append(opened(paths, created(id_of(1), 0)))
    for number in (2, 3):
        session(paths, id_of(number), number)
    tidy(paths, keep_sessions=1)
    assert left(paths) == [3, 1]


def test_an_active_session_counts(paths: Paths, living: list[Journal]) -> None:
    session(paths, id_of(1), 1)
    living.append(opened(paths, created(id_of(2), 2)))
    tidy(paths, keep_sessions=1)
    assert left(paths) == [2]


def test_the_days_command_line_sessions_are_outside_the_count(paths: Paths) -> None:
    for number in (1, 2, 3):
        opened(paths, created(id_of(number), number, via="cli")).close(
            journal_lines.encode(closed(id_of(number), number))
        )
    session(paths, id_of(4), 0)
    tidy(paths, keep_sessions=1)
    assert left(paths) == [3, 2, 1, 4]


def test_bytes_are_limited_too_and_the_stalest_make_room(paths: Paths) -> None:
    for number in (1, 2, 3):
        large(paths, number, 0.4, number)
    tidy(paths, max_mb=1)
    assert left(paths) == [3, 2]


def test_the_newest_session_makes_no_room_for_staler_ones(paths: Paths) -> None:
    session(paths, id_of(1), 1)
    large(paths, 2, 0.9, 2)
    large(paths, 3, 0.2, 3)
    tidy(paths, max_mb=1)
    assert left(paths) == [3]


def test_a_session_that_was_killed_is_closed_and_then_counts_as_closed(paths: Paths) -> None:
    opened(paths, created(id_of(1), 1)).close()
    session(paths, id_of(2), 2)
    tidy(paths, keep_sessions=1)
    assert left(paths) == [2]


def test_todays_command_line_session_is_not_closed_on_record(paths: Paths) -> None:
    moment = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime())
    first = created(via="cli")
    first.timestamp = moment
    shared = Journal.of_the_day(paths.sessions, first, b"key")
    with LocalRecords(paths) as records:
        (row,) = records.sessions().rows(None, 0)
    assert (row["status"], row["end_time"]) == ("active", None)
    shared.close()
    before = shared.path.read_bytes()
    tidy(paths, keep_sessions=1)
    assert shared.path.read_bytes() == before
    with LocalRecords(paths) as records:
        (row,) = records.sessions().rows(None, 0)
    assert (row["status"], row["end_time"]) == ("closed", row["last_activity"])  # nothing runs in it at this moment


def test_yesterdays_command_line_session_is_closed(paths: Paths) -> None:
    first = created(via="cli")
    first.timestamp = "2020-01-01T12:00:00.000Z"
    Journal.of_the_day(paths.sessions, first, b"key").close()
    tidy(paths)
    with LocalRecords(paths) as records:
        (row,) = records.sessions().rows(None, 0)
    assert (row["status"], row["end_time"]) == ("closed", "2020-01-01T12:00:00.000Z")


def test_what_a_killed_process_left_of_a_journal_it_began_is_removed_unless_somebody_holds_it(paths: Paths) -> None:
    session(paths, id_of(1), 1)
    left_behind, held = (paths.sessions / name for name in ("left.new", "held.new"))
    for file in (left_behind, held):
        file.write_bytes(b"{")
    with journal.claimed(held) as fd:
        assert fd is not None
        tidy(paths)
    assert not left_behind.exists()
    assert held.exists()


def test_what_a_killed_process_left_of_an_index_is_removed_and_one_that_is_being_made_is_not(paths: Paths) -> None:
    session(paths, id_of(1), 1)
    index.catch_up_on_disk(paths)
    left_behind = {paths.data / f"{paths.index.name}.ab.new", paths.data / f"{paths.index.stem}.ab.new"}
    for file in left_behind:
        file.write_bytes(b"half")
    seen: list[set[Path]] = []

    def while_it_is_made(*_: int) -> None:
        seen.append(set(paths.data.glob("*.new")))
        tidy(paths)
        seen.append(set(paths.data.glob("*.new")))

    index.rebuild(paths, while_it_is_made)
    assert len(seen[1]) == 1
    assert seen[0] == left_behind | seen[1]
    assert list(paths.data.glob("*.new")) == []
    assert left(paths) == [1]


def test_what_cannot_be_removed_keeps_nothing_else_from_going(
    paths: Paths, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    stubborn = session(paths, id_of(1), 1).path
    for number in (2, 3):
        session(paths, id_of(number), number)
    unlink = Path.unlink

    def refused(path: Path, missing_ok: bool = False) -> None:
        if path == stubborn:
            raise PermissionError(errno.EPERM, "Operation not permitted")
        unlink(path, missing_ok=missing_ok)

    monkeypatch.setattr(Path, "unlink", refused)
    tidy(paths, keep_sessions=1)
    assert left(paths) == [3, 1]
    assert f"{stubborn} cannot be removed: Operation not permitted" in capsys.readouterr().err


def test_tidying_what_is_not_there_is_no_failure(paths: Paths, home: Path) -> None:
    tidy(paths)
    assert left(paths) == []


def test_a_session_without_activity_is_as_stale_as_its_beginning(paths: Paths) -> None:
    session(paths, id_of(1), 3)
    session(paths, id_of(2), 1, call(2, 4, id_of(2)))
    tidy(paths, keep_sessions=1)
    with LocalRecords(paths) as records:
        (row,) = records.sessions().rows(None, 0)
    assert row["last_activity"] > at(4)


def older_index(paths: Paths, age_s: float) -> list[Path]:
    """What a program of an older version left, last written so long ago."""
    files = [paths.data / f"index-v1.db{suffix}" for suffix in ("", "-wal", "-shm")]
    for file in files:
        file.write_bytes(b"x")
        os.utime(file, (time.time() - age_s,) * 2)
    return files


def test_the_index_of_an_older_version_is_removed_when_nobody_has_used_it_for_a_day(paths: Paths) -> None:
    session(paths)
    files = older_index(paths, 86_401)
    tidy(paths)
    assert not any(file.exists() for file in files)
    assert left(paths) == [1]


def test_the_index_that_an_older_program_still_uses_is_left_to_it(paths: Paths) -> None:
    session(paths)
    files = older_index(paths, 86_401)
    os.utime(files[1])
    tidy(paths)
    assert all(file.exists() for file in files)


def test_rebuilding_removes_the_index_of_an_older_version_at_once(paths: Paths) -> None:
    session(paths)
    files = older_index(paths, 0)
    newer = paths.data / "index-v99.db"
    newer.touch()
    retention.rebuild(paths, RecordSettings())
    assert not any(file.exists() for file in files)
    assert newer.exists()


def test_rebuilding_tells_how_far_it_is(paths: Paths) -> None:
    for number in (1, 2, 3):
        session(paths, id_of(number), number)
    told: list[tuple[int, int]] = []
    retention.rebuild(paths, RecordSettings(), lambda done, total: told.append((done, total)))
    size = sum(file.stat().st_size for file in paths.sessions.iterdir())
    assert told == [(size // 3, size), (size // 3 * 2, size), (size, size), (size, size)]
