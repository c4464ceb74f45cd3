"""A session's journal: whole lines, one owner, nothing lost to what came after."""

import errno
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mcpctl.base import posix
from mcpctl.base.paths import Paths
from mcpctl.store import index, journal, journal_lines
from mcpctl.store.journal import Journal
from mcpctl.store.recordable import redaction_key
from mcpctl.store.records import LocalRecords
from tests.recorded import CLAUDE, at, call, call_id, closed, created, opened, session, started


def recorded_ids(paths: Paths) -> list[str]:
    with LocalRecords(paths) as records:
        return [row["id"] for row in records.calls().rows(None, 0)]


def test_a_journal_begins_with_its_session_and_is_its_owners_alone(paths: Paths) -> None:
    owned = Journal.create(paths.sessions, created())
    assert journal_lines.decode(owned.path.read_bytes()) == created()
    assert owned.path.name.endswith(f"_{CLAUDE}.jsonl")
    assert owned.path.stat().st_mode & 0o777 == 0o600
    assert paths.sessions.stat().st_mode & 0o777 == 0o700
    assert [file.name for file in paths.sessions.iterdir()] == [owned.path.name]
    owned.close()


def test_a_journal_is_locked_from_its_first_moment_until_it_is_closed(paths: Paths) -> None:
    owned = Journal.create(paths.sessions, created())
    assert journal.is_alive(owned.path)
    owned.close()
    assert not journal.is_alive(owned.path)


@pytest.mark.process
def test_a_killed_process_gives_up_its_lock(paths: Paths) -> None:
    program = (
        "import os, sys; from mcpctl.base.paths import find; from tests.recorded import created, opened\n"
        "journal = opened(find(), created()); print(journal.path, flush=True); sys.stdin.read()"
    )
    process = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout
    process.stdout.readline()
    (path,) = paths.sessions.glob("*.jsonl")
    assert journal.is_alive(path)
    process.kill()
    process.communicate(timeout=30)
    assert not journal.is_alive(path)


def test_a_line_is_appended_with_one_write(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[bytes] = []
    owned = Journal.create(paths.sessions, created())
    write = os.write

    def seen(fd: int, data: bytes) -> int:
        written.append(bytes(data))
        return write(fd, data)

    monkeypatch.setattr(os, "write", seen)
    text = b"".join(map(journal_lines.encode, call(1, 1)))
    owned.append(text)
    assert written == [text]
    owned.close()


def test_a_torn_last_line_is_skipped_and_the_lines_before_are_kept(paths: Paths) -> None:
    owned = opened(paths, created(), call(1, 1))
    owned.append(journal_lines.encode(started(2, 2))[:-20])
    owned.close()
    assert recorded_ids(paths) == [call_id(1)]


def test_a_line_that_is_none_is_reported_once_by_file_and_place(
    paths: Paths, capsys: pytest.CaptureFixture[str]
) -> None:
    owned = opened(paths, created(), call(1, 1))
    place = owned.path.stat().st_size
    owned.append(b'{"v": 1, "type": "calls.started", "id"\n' + journal_lines.encode(started(2, 2)))
    owned.close()
    assert recorded_ids(paths) == [call_id(2), call_id(1)]
    assert capsys.readouterr().err == f"mcpctl: {owned.path.name}: the line at byte {place} cannot be read; skipped\n"
    recorded_ids(paths)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    "rubbish", [b"\n", b"\xff\xfe\n", b"null\n", b"[1]\n", b'{"type": "later.kind"}\n', b"[" * 9999 + b"\n"]
)
def test_no_line_costs_the_lines_around_it(paths: Paths, rubbish: bytes) -> None:
    owned = opened(paths, created(), call(1, 1))
    owned.append(rubbish + journal_lines.encode(started(2, 2)))
    owned.close()
    assert recorded_ids(paths) == [call_id(2), call_id(1)]


def test_a_member_that_a_newer_version_adds_is_no_hindrance(paths: Paths) -> None:
    owned = opened(paths, created())
    owned.append(journal_lines.encode(started(1, 1))[:-2] + b',"later":{"x":1}}\n')
    owned.close()
    assert recorded_ids(paths) == [call_id(1)]


def test_a_line_that_did_not_fit_is_not_continued_by_the_next(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    owned = opened(paths, created(), call(1, 1))
    write = os.write
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda fd, data: write(fd, bytes(data)[:50]))
        with pytest.raises(OSError):
            owned.append(journal_lines.encode(started(2, 2)))
    owned.append(journal_lines.encode(started(3, 3)))
    owned.close()
    assert recorded_ids(paths) == [call_id(3), call_id(1)]


def test_a_session_of_the_dead_is_closed_after_a_torn_line(paths: Paths) -> None:
    owned = opened(paths, created(), call(1, 1))
    owned.append(journal_lines.encode(started(2, 2))[:-20])
    owned.close()
    assert journal.close_for_the_dead(owned.path, CLAUDE, at(1))
    last = journal_lines.decode(owned.path.read_bytes().splitlines()[-1])
    assert isinstance(last, journal_lines.SessionClosed)
    assert (last.id, last.end_time) == (CLAUDE, at(1))
    assert recorded_ids(paths) == [call_id(1)]


def test_a_session_that_lives_is_neither_closed_nor_evicted(paths: Paths) -> None:
    owned = opened(paths, created())
    before = owned.path.read_bytes()
    assert not journal.close_for_the_dead(owned.path, CLAUDE, at(1))
    assert not journal.evict(owned.path)
    assert owned.path.read_bytes() == before
    owned.close()


def test_a_session_that_is_gone_can_be_evicted_once(paths: Paths) -> None:
    path = session(paths).path
    assert journal.evict(path)
    assert not path.exists()
    assert not journal.evict(path)


# ---- the day's command-line session


def of_the_day(paths: Paths) -> Journal:
    return Journal.of_the_day(paths.sessions, created(via="cli"), redaction_key(paths))


def test_commands_of_one_day_share_a_journal_and_hold_it_together(paths: Paths) -> None:
    first, second = of_the_day(paths), of_the_day(paths)
    assert (first.path, first.session_id) == (second.path, second.session_id)
    first.close()
    assert journal.is_alive(second.path, shared=True)
    second.close()
    assert not journal.is_alive(second.path, shared=True)
    assert len(list(paths.sessions.iterdir())) == 1


def test_the_days_session_of_another_data_directory_has_another_id(paths: Paths, tmp_path: Path) -> None:
    shared, other = of_the_day(paths), of_the_day(Paths(paths.config, tmp_path / "other"))
    assert shared.session_id != other.session_id
    shared.close()
    other.close()
    index.rebuild(paths)
    again = of_the_day(paths)
    assert again.session_id == shared.session_id
    again.close()


@pytest.mark.parametrize("zone", ["UTC", "Asia/Kathmandu", "America/St_Johns"])
def test_the_days_session_begins_at_midnight_here(paths: Paths, monkeypatch: pytest.MonkeyPatch, zone: str) -> None:
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        shared = of_the_day(paths)
        shared.close()
        began = time.localtime(int(shared.path.name.partition("_")[0]) // 10**9)
        assert began[:6] == (*time.localtime()[:3], 0, 0, 0)
    finally:
        monkeypatch.undo()
        time.tzset()


def test_the_days_session_has_one_beginning(paths: Paths) -> None:
    for number in range(3):
        shared = of_the_day(paths)
        shared.append(journal_lines.encode(started(number, number)))
        shared.close(journal_lines.encode(closed()))
    kinds = [type(journal_lines.decode(line)) for line in shared.path.read_bytes().splitlines()]
    assert kinds == [
        journal_lines.SessionCreated,
        journal_lines.CallStarted,
        journal_lines.CallStarted,
        journal_lines.CallStarted,
    ]


def test_a_days_session_that_was_evicted_is_begun_anew(paths: Paths) -> None:
    first = of_the_day(paths)
    first.close()
    assert journal.evict(first.path)
    second = of_the_day(paths)
    assert second.path.exists()
    second.close()


def test_a_half_line_of_one_command_costs_no_line_of_the_next(paths: Paths) -> None:
    first = of_the_day(paths)
    first.append(journal_lines.encode(started(1, 1))[:-20])
    first.close()
    second = of_the_day(paths)
    second.append(journal_lines.encode(started(2, 2)))
    second.close()
    assert recorded_ids(paths) == [call_id(2)]


def test_a_lock_that_another_holds_is_not_had(paths: Paths) -> None:
    path = session(paths).path
    first, second = os.open(path, os.O_RDONLY), os.open(path, os.O_RDONLY)
    assert posix.lock(first, shared=True)
    assert posix.lock(second, shared=True)
    assert not posix.lock(second)
    os.close(first)
    assert posix.lock(second)
    os.close(second)


def test_a_leftover_of_a_killed_command_is_in_nobodys_way(paths: Paths) -> None:
    first = of_the_day(paths)
    for name in (f".{os.getpid()}.new", ".new"):
        first.path.with_suffix(name).write_bytes(b"{")
    first.close()
    first.path.unlink()
    second = of_the_day(paths)
    second.append(journal_lines.encode(started(1, 1)))
    second.close()
    assert recorded_ids(paths) == [call_id(1)]


def test_a_journal_that_is_taken_for_a_leftover_before_it_is_locked_is_begun_again(
    paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = posix.lock

    def after_tidying(fd: int, *, shared: bool = False, wait: bool = False) -> bool:
        monkeypatch.setattr(posix, "lock", lock)
        (leftover,) = paths.sessions.glob("*.new")
        assert journal.evict(leftover)
        return lock(fd, shared=shared, wait=wait)

    monkeypatch.setattr(posix, "lock", after_tidying)
    opened(paths, created(), call(1, 1)).close()
    assert recorded_ids(paths) == [call_id(1)]


def no_links(*_: object) -> None:
    raise PermissionError(errno.EPERM, "Operation not permitted")


def test_where_files_cannot_be_linked_the_days_session_is_begun_all_the_same(
    paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "link", no_links)
    for number in (1, 2):
        shared = of_the_day(paths)
        shared.append(journal_lines.encode(started(number, number)))
        shared.close()
    assert [path.name for path in paths.sessions.iterdir()] == [shared.path.name]
    assert recorded_ids(paths) == [call_id(2), call_id(1)]


def test_where_files_cannot_be_linked_another_commands_journal_is_not_overwritten(
    paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    other: list[Journal] = []

    def first_another(*_: object) -> None:
        if not other:
            monkeypatch.setattr(os, "link", no_links)
            other.append(of_the_day(paths))
            other[0].append(journal_lines.encode(started(1, 1)))
        no_links()

    monkeypatch.setattr(os, "link", first_another)
    shared = of_the_day(paths)
    shared.append(journal_lines.encode(started(2, 2)))
    shared.close()
    other[0].close()
    assert recorded_ids(paths) == [call_id(2), call_id(1)]


AT_ONCE = """
import errno, os, sys
from mcpctl.base.paths import find
from mcpctl.store import journal_lines
from mcpctl.store.recordable import redaction_key
from mcpctl.store.journal import Journal
from tests.recorded import created, started
def no_links(*_):
    raise PermissionError(errno.EPERM, "Operation not permitted")
os.link = no_links
sys.stdin.readline()
shared = Journal.of_the_day(find().sessions, created(via="cli"), redaction_key(find()))
shared.append(journal_lines.encode(started(sys.argv[1], 1)))
shared.close()
"""


@pytest.mark.slow
@pytest.mark.process
def test_commands_at_once_where_files_cannot_be_linked_lose_no_call(paths: Paths) -> None:
    processes = [
        subprocess.Popen([sys.executable, "-c", AT_ONCE, f"call-{number}"], stdin=subprocess.PIPE)
        for number in range(6)
    ]
    for process in processes:
        assert process.stdin
        process.stdin.write(b"\n")
        process.stdin.flush()
    for process in processes:
        process.communicate(timeout=30)
    assert sorted(recorded_ids(paths)) == [f"call-{number}" for number in range(6)]
    assert len(list(paths.sessions.iterdir())) == 1


def test_a_name_that_can_neither_be_opened_nor_made_is_a_failure_and_no_loop(paths: Paths) -> None:
    shared = of_the_day(paths)
    shared.close()
    shared.path.unlink()
    shared.path.symlink_to("nowhere")
    with pytest.raises(OSError, match="neither be opened nor made"):
        of_the_day(paths)
    assert list(paths.sessions.glob("*.new")) == []


@pytest.mark.parametrize("fsync", [True, False])
def test_what_is_to_survive_a_power_cut_is_on_the_disk_before_append_returns(
    paths: Paths, monkeypatch: pytest.MonkeyPatch, fsync: bool
) -> None:
    synced: list[tuple[int, int]] = []
    sync = os.fsync

    def seen(fd: int) -> None:
        sync(fd)
        synced.append((os.fstat(fd).st_ino, os.fstat(fd).st_size))

    monkeypatch.setattr(os, "fsync", seen)
    owned = opened(paths, created())
    assert synced == []
    sizes = []
    for number in (1, 2):
        owned.append(journal_lines.encode(started(number, number)), fsync=fsync)
        sizes.append((owned.path.stat().st_ino, owned.path.stat().st_size))
    folder = paths.sessions.stat().st_ino
    assert [each for each in synced if each[0] != folder] == (sizes if fsync else [])
    # A new file can be lost with its name.
    assert [file for file, _ in synced if file == folder] == ([folder] if fsync else [])
    owned.close()
