"""`mcpctl db rebuild`"""

from mcpctl.base.paths import Paths
from mcpctl.store import journal_lines
from tests.configured import configure
from tests.conftest import Mcpctl
from tests.recorded import CLAUDE, at, call, closed, created, opened, session, started, two_sessions


def answers(mcpctl: Mcpctl) -> list[str]:
    commands = ("calls ls", "calls ls --kind discovery", "sessions ls", "sessions show last")
    return [mcpctl(*words.split(), "--json").out for words in commands]


def test_it_says_what_there_is(mcpctl: Mcpctl, paths: Paths) -> None:
    two_sessions(paths)
    row = mcpctl("db", "rebuild", "--json").json
    assert row == {
        "journals": 2,
        "sessions": 2,
        "calls": 6,
        "discoveries": 2,
        "bytes": sum(file.stat().st_size for file in paths.sessions.iterdir()),
        "index": str(paths.index),
    }


def test_the_answers_are_the_same_after(mcpctl: Mcpctl, paths: Paths) -> None:
    two_sessions(paths)
    before = answers(mcpctl)
    mcpctl("db", "rebuild")
    assert answers(mcpctl) == before


def test_the_answers_are_the_same_when_the_index_was_deleted(mcpctl: Mcpctl, paths: Paths) -> None:
    two_sessions(paths)
    before = answers(mcpctl)
    paths.index.unlink()
    assert answers(mcpctl) == before


def test_a_damaged_index_is_made_anew(mcpctl: Mcpctl, paths: Paths) -> None:
    two_sessions(paths)
    before = answers(mcpctl)
    paths.index.write_bytes(b"rubbish" * 2000)
    assert mcpctl("db", "rebuild").code == 0
    assert answers(mcpctl) == before


def test_a_session_that_was_killed_is_closed_on_record(mcpctl: Mcpctl, paths: Paths) -> None:
    opened(paths, created(), [*call(1, 1), started(2, 2)]).close()
    mcpctl("db", "rebuild")
    (journal,) = paths.sessions.iterdir()
    last = journal_lines.decode(journal.read_bytes().splitlines()[-1])
    assert isinstance(last, journal_lines.SessionClosed)
    assert (last.id, last.end_time) == (CLAUDE, at(2))
    assert [row["status"] for row in mcpctl("calls", "ls", "--json").json] == ["interrupted", "ok"]


def test_a_session_that_lives_is_left_alone(mcpctl: Mcpctl, paths: Paths) -> None:
    journal = opened(paths, created(), call(1, 1))
    before = journal.path.read_bytes()
    mcpctl("db", "rebuild")
    assert journal.path.read_bytes() == before
    journal.close(journal_lines.encode(closed()))


def test_the_limits_of_the_configuration_are_kept(mcpctl: Mcpctl, paths: Paths) -> None:
    configure(paths, {}, records={"keep_sessions": 2})
    for number in range(4):
        session(paths, f"{number}e551015-0000-4000-8000-000000000000", number * 10)
    assert mcpctl("db", "rebuild", "--json").json["sessions"] == 2
    ids = mcpctl("sessions", "ls", "--fields", "id").out
    assert [line[0] for line in ids.splitlines()] == ["3", "2"]


def test_with_nothing_on_record_there_is_nothing(mcpctl: Mcpctl) -> None:
    row = mcpctl("db", "rebuild", "--json").json
    assert (row["sessions"], row["calls"], row["bytes"]) == (0, 0, 0)
