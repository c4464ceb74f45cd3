"""The last lines of servers' stderr: short, without secrets, and of no harm to anything else."""

import json
import os
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from mcpctl.base import posix
from mcpctl.base.paths import Paths
from mcpctl.config.settings import RecordSettings
from mcpctl.store import server_logs
from mcpctl.store.server_logs import KEPT, ServerLogs
from tests.table import for_each


@pytest.fixture
def logs(paths: Paths) -> Iterator[ServerLogs]:
    """What keeps the lines of servers."""
    logs = ServerLogs(paths, lambda: RecordSettings(redact_keys=["passphrase"]))
    yield logs
    logs.close()


def texts(paths: Paths, server: str = "s") -> list[str]:
    return [row["text"] for row in server_logs.read(paths, server)]


def written(logs: ServerLogs, paths: Paths, *said: bytes, pid: int = 7) -> list[str]:
    """The lines that are kept once a process has said this and ended."""
    for data in (*said, b""):
        logs.take("s", pid, data)
    logs.close()
    assert logs._thread
    logs._thread.join(30)
    return texts(paths)


def test_lines_are_kept_with_the_time_and_the_process(logs: ServerLogs, paths: Paths) -> None:
    assert written(logs, paths, b"one\ntw", b"o\r\n\nthe end") == ["one", "two", "the end"]
    row = server_logs.read(paths, "s")[0]
    assert tuple(row) == server_logs.FIELDS
    assert (row["pid"], row["time"].endswith("Z")) == (7, True)
    path = paths.log("s")
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)


@pytest.mark.parametrize(
    "said",
    [
        (b"token=s3cret-value\n",),
        (b"tok", b"en=s3cret-value\n"),
        (b"passphrase: s3cret-value\n",),
        (b"-----BEGIN PRIVATE KEY-----\ns3cret-value\n-----END PRIVATE KEY-----\n",),
        (b"x" * 950 + b" ghp_s3cretAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n",),
    ],
)
def test_no_secret_is_written(said: tuple[bytes, ...], logs: ServerLogs, paths: Paths) -> None:
    written(logs, paths, *said, b"and more\n")
    text = paths.log("s").read_text(encoding="utf-8")
    assert "s3cret" not in text
    assert "and more" in text


KEY = b"-----BEGIN PRIVATE KEY-----\n", b"s3cret-value\n" * 40, b"-----END PRIVATE KEY-----\n"


@pytest.mark.parametrize(
    "said",
    [
        (b"x " * 600 + b"password=", b"s3cret-value\n"),
        (b"x " * 600, b"y " * 600 + b"password=", b"s3cret-value\n"),
        KEY,
        (b"before " + KEY[0] + b"s3cret", *KEY[1:]),
        (b"".join((*KEY, b"line\n" * 190)),),
        (
            b"password=" + b"x" * (1 << 17) + b"s3cret",
            b"s3cret-value",
            b"\n" + b"z" * (1 << 17),
            b"z" * (1 << 17),
            b"\n",
        ),
    ],
    ids=["long line", "very long line", "key", "key in lines", "many lines", "too much at once"],
)
@pytest.mark.parametrize("is_at_once", [True, False])
def test_no_part_of_a_secret_is_written(
    said: tuple[bytes, ...], is_at_once: bool, logs: ServerLogs, paths: Paths
) -> None:
    batches = [said] if is_at_once else [(each,) for each in said]
    for batch in (*batches, (b"and more\n",)):
        waiting = server_logs._Stderr()
        for data in batch:
            waiting.add(data)
        logs._write("s", 7, waiting)
    assert texts(paths)[-1] == "and more"
    assert "s3cret" not in paths.log("s").read_text(encoding="utf-8")


def test_what_has_no_end_is_not_waited_for_for_ever(logs: ServerLogs, paths: Paths) -> None:
    endless = KEY[0] + (b"k" * 900 + b"\n") * 30
    for data in (b"x " * 600, b"y " * 600, b"y\nthe next\n", endless, b"more\n"):
        waiting = server_logs._Stderr()
        waiting.add(data)
        logs._write("s", 7, waiting)
        assert texts(paths)[0] == "x " * 500 + "…"
    assert (texts(paths)[1], texts(paths)[-1]) == ("the next", "more")


def test_a_line_and_what_waits_are_bounded(logs: ServerLogs, paths: Paths) -> None:
    flood = b"".join(b"line %d\n" % number for number in range(50_000))
    last = written(logs, paths, *(flood[place : place + 65536] for place in range(0, len(flood), 65536)), b"x " * 5000)
    assert len(last) == KEPT
    assert last[-2] == "line 49999"
    assert (len(last[-1]), last[-1][-1]) == (1001, "…")
    lines = paths.log("s").read_bytes().splitlines()
    assert len(lines) < 2 * KEPT
    assert "lines before this one were left out" in lines[0].decode()


def test_what_waits_takes_little_room(paths: Paths) -> None:
    said = server_logs._Stderr()
    for _ in range(1000):
        said.add(b"x" * 65536)
    assert sum(map(len, said.data)) == said.size <= 1 << 18
    assert said.size + said.left_out == 1000 * 65536


def test_a_file_is_trimmed_to_its_end_when_it_is_twice_as_long(paths: Paths) -> None:
    for batch in range(9):
        logs = ServerLogs(paths, RecordSettings)
        written(logs, paths, b"".join(b"%d\n" % number for number in range(batch * 90, batch * 90 + 90)))
        assert len(paths.log("s").read_bytes().splitlines()) < 2 * KEPT
    assert texts(paths) == [str(number) for number in range(810 - KEPT, 810)]


def test_processes_that_write_at_once_lose_nothing_but_what_is_trimmed(paths: Paths) -> None:
    def write(pid: int) -> None:
        for number in range(40):
            logs = ServerLogs(paths, RecordSettings)
            logs._add("s", b'{"time":"t","pid":%d,"text":"%d"}\n' % (pid, number) * 5)

    threads = [threading.Thread(target=write, args=(pid,)) for pid in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    rows = server_logs.read(paths, "s", most=9999)
    assert KEPT <= len(rows) < 2 * KEPT + 4 * 5
    for pid in range(4):
        numbers = [int(row["text"]) for row in rows if row["pid"] == pid]
        assert numbers == sorted(numbers)
        runs = {number: numbers.count(number) for number in numbers}
        assert all(count == 5 for number, count in runs.items() if number != numbers[0])
        assert list(runs) == list(range(min(numbers, default=0), max(numbers, default=-1) + 1))


def test_a_line_added_while_the_file_is_replaced_goes_to_the_new_one(paths: Paths) -> None:
    path = paths.log("s")
    path.parent.mkdir(parents=True)
    path.touch()
    old = os.open(path, os.O_RDWR)
    posix.lock(old, wait=True)
    added = threading.Thread(
        target=ServerLogs(paths, RecordSettings)._add, args=("s", b'{"time":"","pid":1,"text":"x"}\n')
    )
    added.start()
    path.unlink()
    path.touch()
    os.close(old)
    added.join(30)
    assert texts(paths) == ["x"]


@pytest.mark.parametrize("obstacle", ["a file for the folder", "a link", "a folder for the file"])
def test_what_cannot_be_written_harms_nobody(obstacle: str, logs: ServerLogs, paths: Paths) -> None:
    path = paths.log("s")
    paths.data.mkdir(parents=True)
    if obstacle == "a file for the folder":
        path.parent.write_text("mine", encoding="utf-8")
    else:
        path.parent.mkdir()
    elsewhere = paths.data / "elsewhere"
    if obstacle == "a link":
        path.symlink_to(elsewhere)
    elif obstacle == "a folder for the file":
        path.mkdir()
    logs.take("s", 1, b"one\n")
    logs.take("t", 1, b"two\n")
    logs.close()
    assert logs._thread
    logs._thread.join(30)
    assert not elsewhere.exists()
    assert obstacle == "a file for the folder" or texts(paths, "t") == ["two"]


def test_what_is_damaged_is_left_out(paths: Paths) -> None:
    path = paths.log("s")
    path.parent.mkdir(parents=True)
    good = json.dumps({"time": "t", "pid": 1, "text": "good"})
    path.write_text(f'{{"pid":\n[]\n{good}\n{{"time":1,"pid":"x","text":"y"}}\n{good[:-3]}', encoding="utf-8")
    assert texts(paths) == ["good"]


def line(text: str) -> bytes:
    return json.dumps({"time": "t", "pid": 1, "text": text}).encode() + b"\n"


@pytest.mark.parametrize(
    ("then", "new"),
    [
        ([*"abc"], []),
        ([*"abcde"], ["d", "e"]),
        ([*"cde"], ["d", "e"]),
        ([], []),
        ([*"xy"], ["x", "y"]),
    ],
)
def test_what_follows_is_told_once(then: list[str], new: list[str], paths: Paths) -> None:
    before = [*map(str, range(20)), *"abc"]
    kept = before[10:20] if "c" in then else []
    path = paths.log("s")
    path.parent.mkdir(parents=True)
    path.write_bytes(b"".join(map(line, before)))
    batches: Any = server_logs.followed(paths, "s", 2, lambda: None)
    assert [row["text"] for row in next(batches)] == ["b", "c"]
    after = [*before[:20], *then] if then[:3] == [*"abc"] else [*kept, "a", "b", *then] if kept else then
    path.write_bytes(b"".join(map(line, after)))
    assert [row["text"] for row in next(batches)] == new
    path.write_bytes(path.read_bytes() + line("z") + b'{"time"')
    assert [row["text"] for row in next(batches)] == ["z"]


@for_each(
    "lines",
    [
        [b"x" * 900] * 100,
        [b"x" * 100] * 75
        + [b"-----BEGIN PRIVATE KEY-----", *[b"s3cret"] * 200, b"-----END PRIVATE KEY-----"]
        + [b"y"] * 9,
        [b"x" * 1000] * 8 + [b'"password":', b'"s3cret"', *[b"y" * 1000] * 9],
        [b"{"] * 100_000,
    ],
)
def test_a_flood_is_read_in_short_pieces_that_cut_no_secret(lines: list[bytes]) -> None:
    pieces = list(server_logs._pieces(lines))
    assert b"\n".join(pieces) == b"\n".join(lines)
    assert max(map(len, pieces)) <= server_logs._MOST_OF_PIECE + 1001
    for piece in pieces:
        assert piece.count(b"BEGIN") == piece.count(b"END") and not piece.endswith(b'"password":')


def test_no_secret_of_many_lines_is_written(logs: ServerLogs, paths: Paths) -> None:
    lines = [b"x" * 900 + b" token=s3cret-value%d" % number for number in range(150)]
    assert len(written(logs, paths, b"\n".join(lines) + b"\n")) == 150
    assert b"s3cret" not in paths.log("s").read_bytes()
