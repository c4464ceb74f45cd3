"""The index: derived from the journals alone, and the same however often it is derived."""

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import Raw
from pytest_snapshot.plugin import Snapshot

from mcpctl.base.callers import Client
from mcpctl.base.errors import Unusable
from mcpctl.base.paths import Paths
from mcpctl.config.settings import RecordSettings
from mcpctl.store import index, journal_lines, sqlite
from mcpctl.store.recorder import Origin, Recorder
from mcpctl.store.records import LocalRecords
from tests.configured import demo_tools
from tests.conftest import MCPCTL, Mcpctl, without_privileges
from tests.recorded import (
    CLAUDE,
    CURSOR,
    call,
    closed,
    created,
    opened,
    searched,
    session,
    started,
    two_sessions,
)

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


ORIGIN = Origin(Client())


def answers(paths: Paths) -> list[Any]:
    """All that the index says."""
    with LocalRecords(paths) as records:
        found = [records.sessions(), records.calls(), records.discoveries()]
        return [list(each.rows(None, 0)) for each in found]


def caught_up(paths: Paths) -> sqlite3.Connection:
    index.catch_up_on_disk(paths)
    return sqlite3.connect(paths.index)


def dump(db: sqlite3.Connection) -> list[str]:
    return list(db.iterdump())


def test_catching_up_twice_changes_nothing(paths: Paths) -> None:
    two_sessions(paths)
    with closing(caught_up(paths)) as db:
        before = dump(db)
        index.catch_up(db, paths.sessions)
        assert dump(db) == before


def test_what_a_journal_gains_is_added_from_where_it_was(paths: Paths) -> None:
    journal = opened(paths, created())
    everything = [*call(1, 1), searched(1, 2), *call(2, 3), closed()]
    for line in everything:
        # Half of the line first: nothing is taken of it until it is whole.
        text = journal_lines.encode(line)
        journal.append(text[:40])
        before = answers(paths)
        assert answers(paths) == before
        journal.append(text[40:])
        assert answers(paths) != before
    journal.close()
    grown = answers(paths)
    sqlite.remove(paths.index)
    assert answers(paths) == grown


def test_lines_that_were_written_twice_count_once(paths: Paths) -> None:
    written = [*call(1, 1), searched(1, 2)]
    opened(paths, created(), written).close(journal_lines.encode(closed()))
    once = answers(paths)
    sqlite.remove(paths.index)
    for file in paths.sessions.iterdir():
        file.unlink()
    opened(paths, created(), [*written, *written, created(), *written]).close(journal_lines.encode(closed()))
    assert answers(paths) == once


def test_a_search_that_was_recorded_without_a_project_had_none(paths: Paths) -> None:
    written = journal_lines.encode(searched(1, 1))
    older = written.replace(b',"project":null', b"")
    assert older != written
    journal = opened(paths, created())
    journal.append(older)
    journal.close()
    _, _, (search,) = answers(paths)
    assert search["project"] is None


def test_an_evicted_journal_takes_its_rows_along(paths: Paths) -> None:
    session(paths, CURSOR, 0, [*call(2, 1, CURSOR), searched(2, 2, CURSOR)])
    alone = answers(paths)
    path = session(paths, CLAUDE, 1, [*call(1, 1), searched(1, 2)]).path
    assert answers(paths) != alone
    path.unlink()
    assert answers(paths) == alone


def test_other_files_in_the_folder_are_no_journals(paths: Paths) -> None:
    two_sessions(paths)
    before = answers(paths)
    for name in ("x.new", "notes.txt", ".jsonl.swp"):
        (paths.sessions / name).write_bytes(journal_lines.encode(created(CURSOR[:-1] + "9")))
    assert answers(paths) == before


def test_a_journal_longer_than_what_is_read_at_once_is_read_to_its_end(
    paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    two_sessions(paths)
    whole = answers(paths)
    sqlite.remove(paths.index)
    monkeypatch.setattr(index, "_CHUNK", 64)
    assert answers(paths) == whole


def test_a_call_that_never_ended_is_interrupted_when_its_session_is_closed(paths: Paths) -> None:
    session(paths, CLAUDE, 0, [started(1, 1)])
    _, (row,), _ = answers(paths)
    assert (row["status"], row["duration_ms"]) == ("interrupted", None)


def test_failed_and_interrupted_calls_count(paths: Paths) -> None:
    session(paths, CLAUDE, 0, [*call(1, 1, status="failed"), *call(2, 2, status="denied"), started(3, 3)])
    (row,), _, _ = answers(paths)
    assert row["tool_call_count"] == 3


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(arguments=st.dictionaries(st.text(), values, max_size=3), response=values, spaced=st.booleans())
def test_any_json_value_survives_to_the_output(
    mcpctl: Mcpctl, paths: Paths, arguments: dict[str, Any], response: Any, spaced: bool
) -> None:
    separators = (", ", ": ") if spaced else (",", ":")
    texts = [json.dumps(value, separators=separators, ensure_ascii=spaced) for value in (arguments, response)]
    for file in paths.sessions.glob("*"):
        file.unlink()
    session(paths, rest=call(1, 1, arguments=Raw(texts[0].encode()), response=Raw(texts[1].encode())))
    ran = mcpctl("calls", "ls", "--json", "--fields", "arguments,response")
    assert ran.json == [{"arguments": arguments, "response": response}]
    assert texts[0] in ran.out


@pytest.mark.parametrize(
    "text",
    [
        "1.0",
        "1",
        "-0",
        "1e400",
        "1" * 400,
        '"\\u0000"',
        '"\\uD83D\\uDE00"',
        '{"a":1,"a":2}',
        '" \u2028 "',
        '{"":[]}',
    ],
)
def test_json_text_is_kept_as_it_came(mcpctl: Mcpctl, paths: Paths, text: str) -> None:
    recorder = Recorder(paths, RecordSettings())
    arguments = f'{{"value":{text}}}'.encode()
    open_call = recorder.call_started("s", "t", arguments, request_id=b"1", annotations=b"null", origin=ORIGIN)
    recorder.call_finished(open_call, "ok", response=arguments)
    recorder.close()
    out = mcpctl("calls", "ls", "--jsonl", "--fields", "arguments,response").out
    assert f'"arguments":{arguments.decode()}' in out
    assert json.loads(out) == {"arguments": json.loads(arguments), "response": json.loads(arguments)}


@pytest.mark.parametrize("text", [b'{"a":"\\ud800"}', b'{"a":NaN}', b'{"a":"\xff"}', b"{broken", b'{"a":1}}'])
def test_what_is_no_strict_json_is_recorded_so_that_every_reader_can_read_it(
    mcpctl: Mcpctl, paths: Paths, text: bytes
) -> None:
    recorder = Recorder(paths, RecordSettings())
    open_call = recorder.call_started("s", "t", text, request_id=b"1", annotations=b"null", origin=ORIGIN)
    recorder.call_finished(open_call, "ok", response=text)
    recorder.close()
    (row,) = mcpctl("calls", "ls", "--json").json
    assert row["status"] == "ok"
    assert row["arguments"] in (text.decode("utf-8", "replace"), {"a": "\ufffd"})


def nested(depth: int) -> bytes:
    return b'{"a":' + b"[" * depth + b"]" * depth + b"}"


@pytest.mark.parametrize("depth", [100, 400, 990, 5000])
def test_what_is_nested_deeply_breaks_no_command(mcpctl: Mcpctl, paths: Paths, depth: int) -> None:
    recorder = Recorder(paths, RecordSettings())
    open_call = recorder.call_started("s", "t", nested(depth), request_id=b"1", annotations=b"null", origin=ORIGIN)
    recorder.call_finished(open_call, "ok", response=nested(depth))
    recorder.close()
    for words in ("calls ls", "calls ls --json", "calls show last", "calls show last --json", "sessions show last"):
        assert mcpctl(*words.split()).code == 0


# ---- where the index is lost, damaged or cannot be


def test_a_deleted_index_is_made_anew(paths: Paths) -> None:
    two_sessions(paths)
    before = answers(paths)
    for file in paths.data.glob("index-*"):
        file.unlink()
    assert answers(paths) == before
    assert paths.index.exists()


@pytest.mark.parametrize("rubbish", [b"", b"x", b"rubbish" * 2000, b"SQLite format 3\0" + b"\xff" * 5000])
def test_an_index_that_is_none_is_made_anew(paths: Paths, rubbish: bytes) -> None:
    two_sessions(paths)
    before = answers(paths)
    sqlite.remove(paths.index)
    paths.index.write_bytes(rubbish)
    assert answers(paths) == before
    with closing(sqlite3.connect(paths.index)) as db:
        assert db.execute("SELECT count(*) FROM calls").fetchone() == (6,)


def test_an_index_damaged_inside_costs_one_command_at_most(mcpctl: Mcpctl, paths: Paths) -> None:
    session(paths, rest=[line for n in range(400) for line in call(f"{n:04}", n % 60)])
    before = mcpctl("calls", "ls", "--json").out
    with closing(sqlite3.connect(paths.index)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        size = db.execute("PRAGMA page_size").fetchone()[0]
    pages = range(12 * size, paths.index.stat().st_size, size)
    with paths.index.open("r+b") as file:
        for place in pages:
            file.seek(place)
            file.write(b"\xff" * size)
    ran = mcpctl("calls", "ls", "--json", "--fields", "tool,error")
    assert (ran.code, ran.error["code"]) == (5, "index_damaged")
    assert mcpctl("calls", "ls", "--json").out == before


def test_where_no_index_can_be_the_journals_are_read_in_memory(paths: Paths) -> None:
    two_sessions(paths)
    before = answers(paths)
    sqlite.remove(paths.index)
    paths.index.mkdir()
    assert answers(paths) == before


@pytest.mark.process
@pytest.mark.skipif(os.geteuid() == 0 and sys.platform != "linux", reason="root writes everywhere")
@pytest.mark.parametrize(
    ("words", "is_indexed"),
    [
        ("calls ls --json", False),
        ("tools ls --json", True),
        pytest.param("calls ls --json", True, marks=pytest.mark.slow),
        pytest.param("tools ls --json", False, marks=pytest.mark.slow),
    ],
)
def test_a_home_that_cannot_be_written_is_read_all_the_same(
    mcpctl: Mcpctl, paths: Paths, home: Path, words: str, is_indexed: bool
) -> None:
    demo_tools(paths)
    two_sessions(paths)
    before = mcpctl(*words.split()).out
    if not is_indexed:
        sqlite.remove(paths.index)
    folders = (paths.sessions, paths.data, home)
    for folder in folders:
        folder.chmod(0o500)
    try:
        command = [*MCPCTL, *words.split()]
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, preexec_fn=without_privileges)
    finally:
        for folder in folders:
            folder.chmod(0o700)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == before


def test_a_data_directory_that_cannot_be_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(Unusable), index.opened(Paths(tmp_path / "c", tmp_path / "file" / "data")):
        pass


READER = """
import sys
from mcpctl.base.paths import find
from mcpctl.store.records import LocalRecords
wrong = 0
for _ in range(25):
    with LocalRecords(find()) as records:
        found = list(records.calls().rows(None, 0))
        wrong += [row["id"] for row in found] != sorted((row["id"] for row in found), reverse=True)
        wrong += len(found) < int(sys.argv[1])
print(wrong)
"""


@pytest.mark.slow
@pytest.mark.process
def test_readers_and_writers_at_once_and_a_deleted_index_lose_nothing(paths: Paths) -> None:
    journal = opened(paths, created(), [line for n in range(50) for line in call(f"{n:06}", n / 60)])
    readers = [subprocess.Popen([sys.executable, "-c", READER, "50"], stdout=-1, stderr=-1) for _ in range(4)]
    for number in range(50, 250):
        journal.append(b"".join(map(journal_lines.encode, call(f"{number:06}", number / 60))))
        assert len(answers(paths)[1]) == number + 1
        if number % 20 == 0:
            for name in ("", "-wal", "-shm")[: 1 + 2 * (number % 40 == 0)]:
                paths.index.with_name(paths.index.name + name).unlink(missing_ok=True)
    for reader in readers:
        assert reader.communicate(timeout=30) == (b"0\n", b"")
    _, rows, _ = answers(paths)
    assert sorted(row["id"] for row in rows) == [f"{n:06}" for n in range(250)]
    journal.close()


def test_the_schema_is_what_people_write_sql_for(paths: Paths, snapshot: Snapshot) -> None:
    snapshot.snapshot_dir = Path(__file__).parent / "snapshots"
    with closing(caught_up(paths)) as db:
        found = db.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name").fetchall()
    tidy = (" ".join(sql.split()) for (sql,) in found)
    snapshot.assert_match("".join(f"{sql};\n" for sql in tidy), f"{paths.index.stem}.sql")
