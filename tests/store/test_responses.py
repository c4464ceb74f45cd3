"""Whole answers are kept as they came, for their owner alone, while there is room and their session is on record."""

import os
import stat
from pathlib import Path

import pytest

from mcpctl.base.paths import Paths
from mcpctl.config.settings import RecordSettings
from mcpctl.store import responses, retention
from mcpctl.store.responses import ResponseOwner
from tests.recorded import CLAUDE, call_id, created, opened, session

RESULT = b'{"content":[{"type":"text","text":"x"}],\n"odd": "\xff"}'
OWNER = ResponseOwner(session_id=CLAUDE, server="weather", tool="get_forecast")


def keep(paths: Paths, number: int, result: bytes = RESULT, keep_mb: int = 1, when: int | None = None) -> Path:
    """Keep the answer of a call; its file."""
    responses.keep(paths, call_id(number), OWNER, result, keep_mb=keep_mb)
    path = paths.responses / CLAUDE / f"{call_id(number)}.json"
    os.utime(path, (when or number, when or number))
    return path


def test_an_answer_comes_back_as_it_was(paths: Paths) -> None:
    keep(paths, 1)
    assert responses.find(paths, call_id(1)) == (OWNER, RESULT)
    assert responses.find(paths, call_id(1), CLAUDE) == (OWNER, RESULT)
    assert responses.find(paths, call_id(2)) is None


@pytest.mark.parametrize("id_", ["", "..", "../state", call_id(1).upper() + "\n", "*", call_id(1)[:-1]])
def test_what_is_not_an_id_is_not_looked_for(id_: str, paths: Paths) -> None:
    keep(paths, 1)
    assert responses.find(paths, id_) is None


def test_only_its_owner_can_read_a_file(paths: Paths) -> None:
    before = os.umask(0)
    try:
        path = keep(paths, 1)
    finally:
        os.umask(before)
    assert [stat.S_IMODE(each.stat().st_mode) for each in (path, path.parent, paths.responses)] == [0o600, 0o700, 0o700]


def test_the_oldest_make_room(paths: Paths) -> None:
    first, second, third = (keep(paths, number, b"x" * 400_000) for number in (1, 2, 3))
    assert [path.exists() for path in (first, second, third)] == [False, True, True]


def test_without_a_limit_all_are_kept(paths: Paths) -> None:
    assert all([keep(paths, number, b"x" * 700_000, keep_mb=0).exists() for number in (1, 2, 3)])  # noqa: C419 - in this order


def test_what_is_larger_than_all_room_removes_nothing(paths: Paths) -> None:
    path = keep(paths, 1)
    with pytest.raises(OSError, match="keep_mb"):
        keep(paths, 2, b"x" * (1 << 20))
    assert path.exists()
    assert len(list(paths.responses.rglob("*.*"))) == 1


def test_a_disk_that_is_full_leaves_nothing(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("mcpctl.store.responses.os.write", full)
    with pytest.raises(OSError, match="No space"):
        responses.keep(paths, call_id(1), OWNER, RESULT, keep_mb=1)
    assert not list(paths.responses.rglob("*.*"))


def test_a_file_that_is_not_whole_is_not_an_answer(paths: Paths) -> None:
    keep(paths, 1).write_bytes(b'{"session_id"')
    assert responses.find(paths, call_id(1)) is None


def test_answers_go_with_their_session_and_what_belongs_to_none_goes_too(paths: Paths) -> None:
    session(paths)
    path = keep(paths, 1)
    orphan = paths.responses / call_id(9)
    orphan.mkdir()
    (orphan / f"{call_id(2)}.new").write_bytes(b"half")
    strange = paths.responses / "notes"
    strange.mkdir()
    retention.tidy(paths, RecordSettings())
    assert (path.exists(), orphan.exists(), strange.exists()) == (True, False, True)
    opened(paths, created(call_id(8), 120)).close()
    retention.tidy(paths, RecordSettings(keep_sessions=1))
    assert not path.parent.exists()


def test_what_is_kept_of_a_session_that_lives_stays(paths: Paths) -> None:
    journal = opened(paths, created())
    path = keep(paths, 1)
    retention.tidy(paths, RecordSettings(keep_sessions=1))
    assert path.exists()
    journal.close()
