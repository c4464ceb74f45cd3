"""What of the journals is in PostgreSQL, as this machine knows it, and that retention waits for it."""

import json

import pytest

from mcpctl.base.errors import Unusable
from mcpctl.base.paths import Paths
from mcpctl.store import shipped
from tests.recorded import session
from tests.store.test_retention import id_of, large, left, tidy

MACHINE = "00000000-0000-4000-8000-000000000001"


def note(paths: Paths, *numbers: int) -> None:
    """These sessions are in the database whole."""
    whole = {
        path.name: path.stat().st_size
        for path in paths.sessions.iterdir()
        if int(path.stem.split("_")[1][0]) in numbers
    }
    shipped.note(paths, MACHINE, whole)


def test_what_is_not_shipped_stays_however_many_sessions_there_are(paths: Paths) -> None:
    for number in range(1, 5):
        session(paths, id_of(number), number)
    tidy(paths, keep_sessions=2, ship=True)
    assert left(paths) == [4, 3, 2, 1]
    note(paths, 1, 3)
    tidy(paths, keep_sessions=2, ship=True)
    assert left(paths) == [4, 3, 2]
    tidy(paths, keep_sessions=2)
    assert left(paths) == [4, 3]


def test_a_part_that_is_shipped_is_not_enough(paths: Paths) -> None:
    for number in (1, 2):
        session(paths, id_of(number), number)
    shipped.note(paths, MACHINE, {path.name: path.stat().st_size - 1 for path in paths.sessions.iterdir()})
    tidy(paths, keep_sessions=1, ship=True)
    assert left(paths) == [2, 1]


def test_beyond_twice_the_room_it_goes_and_that_is_told_and_counted(
    paths: Paths, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(1, 6):
        large(paths, number, 0.6, number)
    tidy(paths, max_mb=1, ship=True)
    assert left(paths) == [5, 4, 3]
    err = capsys.readouterr().err
    assert "2 sessions were removed from the record, the oldest first: max_mb is 1 in [records]" in err
    assert "2 of them were not in PostgreSQL: max_mb was exceeded twice over" in err
    told = shipped.status(paths)
    assert (told["lost_sessions"], told["waiting_journals"]) == (2, 3)
    assert told["lost_bytes"] > 2 * 0.6 * 2**20
    note(paths, 3, 4, 5)
    tidy(paths, max_mb=1, ship=True)
    assert left(paths) == [5]
    assert shipped.status(paths)["lost_sessions"] == 2


def test_without_a_limit_of_room_nothing_is_lost(paths: Paths) -> None:
    for number in range(1, 6):
        large(paths, number, 0.6, number)
    tidy(paths, max_mb=0, keep_sessions=1, ship=True)
    assert left(paths) == [5, 4, 3, 2, 1]


def test_where_nothing_can_be_read_nothing_counts_as_shipped(paths: Paths) -> None:
    session(paths, id_of(1), 1)
    paths.shipped.write_text("no JSON")
    told = shipped.status(paths)
    assert (told["shipped_bytes"], told["waiting_journals"], told["machine"]) == (0, 1, None)
    note(paths, 1)
    assert json.loads(paths.shipped.read_text())["machine"] == MACHINE
    assert shipped.status(paths)["waiting_bytes"] == 0


def test_a_data_directory_has_one_id_for_ever(paths: Paths) -> None:
    first = shipped.machine(paths)
    assert shipped.machine(paths) == first
    shipped.note(paths, first, {})
    paths.redaction_key.unlink()
    assert shipped.machine(paths) == first
    paths.shipped.unlink()
    assert shipped.machine(paths) != first


def test_one_process_ships(paths: Paths) -> None:
    with shipped.alone(paths), pytest.raises(Unusable) as told, shipped.alone(paths):
        pass
    assert told.value.code == "shipping"
    with shipped.alone(paths):
        pass
