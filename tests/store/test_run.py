"""Sessions of a process that has many: they live while their journals are closed, and stay on record while it lasts."""

import contextlib
import os
import resource
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcpctl.base import posix
from mcpctl.base.callers import Client
from mcpctl.base.paths import Paths
from mcpctl.config.settings import RecordSettings
from mcpctl.store import journal, retention
from mcpctl.store.journal import Journal
from mcpctl.store.recorder import Origin, Recorder
from mcpctl.store.records import LocalRecords
from mcpctl.store.run import Run, in_runs
from tests.recorded import created

ORIGIN = Origin(Client("claude-code", "2.0"))


@pytest.fixture
def run(paths: Paths) -> Iterator[Run]:
    """A run that lasts until its test ends, or a test ends it."""
    made = Run(paths)
    yield made
    if any(paths.runs.iterdir()):
        made.close()


def calling(paths: Paths, run: Run | None, calls: int = 1) -> Recorder:
    """A session with so many calls on record."""
    recorder = Recorder(paths, RecordSettings(max_response_kb=1024), run=run)
    for _ in range(calls):
        call(recorder)
    return recorder


def call(recorder: Recorder, response: bytes = b"{}") -> None:
    started = recorder.call_started("files", "read", b"{}", request_id=b"1", annotations=b"{}", origin=ORIGIN)
    recorder.call_finished(started, "ok", response=response)
    recorder.flush()


def place(paths: Paths, recorder: Recorder) -> Path:
    (path,) = paths.sessions.glob(f"*_{recorder.session_id}.jsonl")
    return path


def states(paths: Paths) -> dict[str, tuple[str, int]]:
    with LocalRecords(paths) as records:
        return {row["id"]: (row["status"], row["tool_call_count"]) for row in records.sessions().rows(None, 0)}


def open_journals(paths: Paths) -> int:
    """How many descriptors this process has of journals."""
    return sum(str(place).startswith(str(paths.sessions.resolve())) for place in open_files())


def open_files() -> Iterator[Path]:
    for descriptor in Path("/dev/fd").iterdir():
        with contextlib.suppress(OSError):
            yield descriptor.readlink()


def kill(run: Run) -> None:
    """End it as a process ends that is killed."""
    os.close(run._fd)


def test_a_journal_that_rests_holds_no_descriptor_and_its_session_lives(paths: Paths, run: Run) -> None:
    recorder = calling(paths, run)
    path = place(paths, recorder)
    assert open_journals(paths) == 1
    recorder.rest(60)
    assert open_journals(paths) == 1, "it was written to just now"
    recorder.rest(0)
    assert open_journals(paths) == 0
    assert journal.is_alive(path)
    assert not journal.evict(path)
    assert not journal.close_for_the_dead(path, recorder.session_id, "")
    retention.tidy(paths, RecordSettings(keep_sessions=1, max_mb=1))
    assert states(paths) == {recorder.session_id: ("active", 1)}
    call(recorder)
    assert open_journals(paths) == 1
    assert in_runs(paths.runs) == {path.name: False}
    recorder.rest(0)
    recorder.close()
    assert states(paths) == {recorder.session_id: ("closed", 2)}
    assert open_journals(paths) == 0


def test_a_session_that_rests_is_closed_on_record_once_its_process_was_killed(paths: Paths) -> None:
    run = Run(paths)
    recorder = calling(paths, run)
    recorder.rest(0)
    kill(run)
    assert not journal.is_alive(place(paths, recorder))
    assert states(paths) == {recorder.session_id: ("closed", 1)}
    retention.tidy(paths, RecordSettings())
    assert place(paths, recorder).read_text(encoding="utf-8").count("sessions.closed") == 1
    assert not list(paths.runs.iterdir())


def test_the_sessions_of_a_run_are_kept_while_it_lasts_and_push_out_no_others(paths: Paths, run: Run) -> None:
    other = calling(paths, None)
    other.close()
    of_run = [calling(paths, run) for _ in range(5)]
    for each in of_run:
        each.close()
    retention.tidy(paths, RecordSettings(keep_sessions=2))
    assert set(states(paths)) == {each.session_id for each in (other, *of_run)}
    run.close()
    retention.tidy(paths, RecordSettings(keep_sessions=2))
    assert len(states(paths)) == 2


def test_other_limits_apply_to_the_sessions_of_a_run_as_to_all(paths: Paths, run: Run) -> None:
    for _ in range(3):
        recorder = calling(paths, run)
        call(recorder, b'"%b"' % (b"x" * (700 << 10)))
        recorder.close()
    retention.tidy(paths, RecordSettings(keep_sessions=1, max_mb=1))
    assert len(states(paths)) == 1


def test_a_journal_that_was_removed_while_it_rested_costs_no_call(
    paths: Paths, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    recorder = calling(paths, run)
    recorder.rest(0)
    place(paths, recorder).unlink()
    call(recorder)
    assert "calls go on but are not recorded" in capsys.readouterr().err


def test_a_session_without_a_run_never_rests(paths: Paths) -> None:
    recorder = calling(paths, None)
    recorder.rest(0)
    assert open_journals(paths) == 1
    assert not paths.runs.exists()
    recorder.close()


@pytest.fixture
def limits() -> Iterator[None]:
    """The limits on open files are as before after the test."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_no_more_clients_may_come_from_four_fifths_of_the_files_on_that_may_be_open(limits: None) -> None:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    used = len(list(open_files()))
    resource.setrlimit(resource.RLIMIT_NOFILE, (2 * used + 10, hard))
    assert posix.has_descriptors()
    resource.setrlimit(resource.RLIMIT_NOFILE, (used + 2, hard))
    assert not posix.has_descriptors()
    posix.raise_descriptors()
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == hard
    assert posix.has_descriptors()


def test_a_journal_wakes_behind_those_who_look_at_it(paths: Paths) -> None:
    owned = Journal.create(paths.sessions, created())
    owned.rest()
    owned.wake()
    assert journal.is_alive(owned.path)
    owned.close()
