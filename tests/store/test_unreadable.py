"""Journals that cannot be read: they cost nothing of the others, and what was read of them before is kept."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mcpctl.base.paths import Paths
from mcpctl.config.settings import RecordSettings
from mcpctl.store import index, journal, journal_lines, retention
from mcpctl.store.records import LocalRecords
from tests.conftest import MCPCTL, Mcpctl, without_privileges
from tests.recorded import CLAUDE, CURSOR, call, call_id, created, opened, session


def ids(paths: Paths) -> list[str]:
    with LocalRecords(paths) as records:
        return [row["id"] for row in records.calls().rows(None, 0)]


def dangling(path: Path) -> None:
    path.symlink_to(path.with_name("nowhere"))


def loop(path: Path) -> None:
    path.symlink_to(path)


Make = Callable[[Path], None]
ODD: dict[str, Make] = {"link": dangling, "loop": loop, "folder": Path.mkdir, "fifo": os.mkfifo}


@pytest.mark.parametrize("make", ODD.values(), ids=ODD)
def test_what_only_has_a_journals_name_costs_no_call_and_is_told(mcpctl: Mcpctl, paths: Paths, make: Make) -> None:
    session(paths, rest=call(1, 1))
    odd = paths.sessions / "0_odd.jsonl"
    make(odd)
    first, second = (mcpctl("calls", "ls", "--count") for _ in range(2))
    assert (first.code, first.out, second.out) == (0, "1\n", "1\n")
    assert f"{odd} cannot be read" in first.err
    assert mcpctl("db", "rebuild", "--json").json["calls"] == 1


@pytest.mark.parametrize("make", ODD.values(), ids=ODD)
def test_a_journal_that_cannot_be_read_any_more_keeps_its_calls(
    paths: Paths, capsys: pytest.CaptureFixture[str], make: Make
) -> None:
    path = session(paths, rest=call(1, 1)).path
    session(paths, CURSOR, 5, call(2, 6, CURSOR))
    assert ids(paths) == [call_id(2), call_id(1)]
    path.rename(path.with_suffix(".moved"))
    make(path)
    assert ids(paths) == [call_id(2), call_id(1)]
    assert f"{path} cannot be read" in capsys.readouterr().err
    path.rmdir() if path.is_dir() else path.unlink()
    assert ids(paths) == [call_id(2)]


def test_a_journal_that_vanishes_while_the_folder_is_read_takes_its_own_calls_alone(
    paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = session(paths, rest=call(1, 1)).path
    session(paths, CURSOR, 5, call(2, 6, CURSOR))
    assert len(ids(paths)) == 2
    scandir = os.scandir

    def then_evicted(folder: Path) -> object:
        with scandir(folder) as entries:
            listed = list(entries)
        path.unlink(missing_ok=True)
        return Entries(listed)

    class Entries(list[os.DirEntry[str]]):
        def __enter__(self) -> "Entries":
            return self

        def __exit__(self, *_: object) -> None: ...

    monkeypatch.setattr(os, "scandir", then_evicted)
    assert ids(paths) == [call_id(2)]


def test_a_journal_that_was_not_listed_but_is_there_is_not_forgotten(
    paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = session(paths, rest=call(1, 1)).path
    assert ids(paths) == [call_id(1)]
    sizes = index.sizes
    monkeypatch.setattr(index, "sizes", lambda folder: {n: s for n, s in sizes(folder).items() if n != path.name})
    assert ids(paths) == [call_id(1)]


def test_another_file_under_the_name_of_one_that_was_read_is_read_from_its_beginning(paths: Paths) -> None:
    path = session(paths, rest=[*call(1, 1), *call(2, 2)]).path
    assert ids(paths) == [call_id(2), call_id(1)]
    path.unlink()
    opened(paths, created(), call(3, 3)).close()
    (new,) = paths.sessions.glob("*.jsonl")
    new.rename(path)
    assert ids(paths) == [call_id(3)]


def test_a_journal_that_was_emptied_has_no_calls(paths: Paths) -> None:
    path = session(paths, rest=call(1, 1)).path
    assert ids(paths) == [call_id(1)]
    path.write_bytes(b"")
    assert ids(paths) == []


@pytest.mark.process
@pytest.mark.skipif(os.geteuid() == 0 and sys.platform != "linux", reason="root reads everything")
def test_a_journal_that_may_not_be_read_costs_only_what_is_in_it(paths: Paths) -> None:
    locked = session(paths, rest=call(1, 1)).path
    session(paths, CURSOR, 5, call(2, 6, CURSOR))
    locked.chmod(0)
    command = [*MCPCTL, "calls", "ls", "--fields", "id"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=30, preexec_fn=without_privileges)
    assert (ran.returncode, ran.stdout) == (0, f"{call_id(2)}\n")
    assert f"{locked} cannot be read: Permission denied" in ran.stderr


@pytest.mark.parametrize("make", [Path.touch, dangling])
def test_a_folder_of_journals_that_cannot_be_read_is_a_failure_and_not_an_empty_record(
    mcpctl: Mcpctl, paths: Paths, make: Make
) -> None:
    paths.data.mkdir(parents=True)
    make(paths.sessions)
    ran = mcpctl("calls", "ls", "--json")
    assert (ran.code, ran.error["code"]) == (5, "not_readable")
    assert str(paths.sessions) in ran.error["message"]


def test_a_fifo_is_no_journal_to_hold_or_to_close(paths: Paths) -> None:
    paths.sessions.mkdir(parents=True)
    fifo = paths.sessions / "0_fifo.jsonl"
    os.mkfifo(fifo)
    assert journal.is_alive(fifo)  # nothing can be told of it
    assert not journal.close_for_the_dead(fifo, CLAUDE, "")
    assert not journal.evict(fifo)


RETAINER = """
import sys
from mcpctl.config.settings import RecordSettings
from mcpctl.base.paths import find
from mcpctl.store import retention
from tests.recorded import created, session
for number in range(120):
    session(find(), f"{number:08}-0000-4000-8000-000000000000", number / 10)
    retention.tidy(find(), RecordSettings(keep_sessions=5))
print("done", flush=True)
"""


@pytest.mark.slow
@pytest.mark.process
def test_readers_miss_no_call_while_sessions_are_evicted(paths: Paths) -> None:
    kept = opened(paths, created(), call(1, 1))
    process = subprocess.Popen([sys.executable, "-c", RETAINER], stdout=subprocess.PIPE, text=True)
    found = []
    while process.poll() is None:
        found.append(ids(paths))
    out, _ = process.communicate(timeout=30)
    kept.close()
    assert out == "done\n"
    assert len(found) > 5
    assert [each for each in found if each != [call_id(1)]] == []


def test_what_cannot_be_looked_at_keeps_nothing_else_from_being_tidied(paths: Paths) -> None:
    odd = session(paths, CURSOR, 5).path
    assert ids(paths) == []
    odd.unlink()
    dangling(odd)
    for number in range(3):
        session(paths, f"{number:08}-0000-4000-8000-000000000000", number)
    retention.rebuild(paths, RecordSettings(keep_sessions=1))
    assert len([path for path in paths.sessions.glob("*.jsonl") if path.exists()]) == 1


@pytest.mark.parametrize("line", [b'{"type":"later.finished","timestamp":"x","v":1}', b'{"type":"x","id":5}'])
def test_a_line_of_a_type_that_a_later_version_writes_is_skipped_in_silence(
    paths: Paths, capsys: pytest.CaptureFixture[str], line: bytes
) -> None:
    path = session(paths, rest=call(1, 1)).path
    with path.open("ab") as file:
        file.write(line + b"\n" + journal_lines.encode(call(2, 2)[0]))
    assert ids(paths) == [call_id(2), call_id(1)]
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("line", [b'{"type":"calls.started","id":5}', b'{"type":5}', b"{}", b"[]", b'{"v":1}', b"{"])
def test_a_line_that_is_damaged_is_told(paths: Paths, capsys: pytest.CaptureFixture[str], line: bytes) -> None:
    path = session(paths, rest=call(1, 1)).path
    with path.open("ab") as file:
        file.write(line + b"\n")
    assert ids(paths) == [call_id(1)]
    assert "cannot be read; skipped" in capsys.readouterr().err


def test_a_folder_that_is_made_at_this_moment_has_no_journals_yet(
    mcpctl: Mcpctl, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    scandir = os.scandir

    def made_meanwhile(folder: Path) -> Any:
        try:
            return scandir(folder)
        except FileNotFoundError:
            Path(folder).mkdir(parents=True)
            raise

    monkeypatch.setattr(os, "scandir", made_meanwhile)
    ran = mcpctl("calls", "ls", "--json")
    assert (ran.code, ran.json, ran.err) == (0, [], "")
    assert paths.sessions.is_dir()
