"""Lines are given one after the other, none twice and none lost; who sends many or long ones waits for others."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from mcpctl.base import bounds
from mcpctl.wire.reader import Line, LineReader
from mcpctl.wire.writer import Turn

Scene = Callable[[Turn], Awaitable[None]]


def run(scene: Scene) -> None:
    """Play a scene on a loop of its own."""

    async def played() -> None:
        async with asyncio.timeout(20):
            await scene(Turn())

    asyncio.run(played())


class Reading:
    """A reader of a pipe, and what it has given."""

    def __init__(self, turn: Turn, on_line: Callable[[Line], Any] = lambda line: None) -> None:
        read, self.fd = os.pipe()
        os.set_blocking(read, False)
        self.lines: list[bytes] = []
        self.too_long: list[tuple[bytes, bytes]] = []
        self.ended = asyncio.Event()
        self.given = asyncio.Event()

        def take(line: Line) -> Any:
            self.lines.append(bytes(line))
            self.given.set()
            return on_line(line)

        self.reader = LineReader(read, turn.readers, take, self.ended.set, lambda *edges: self.too_long.append(edges))

    def write(self, data: bytes) -> None:
        """Send it more."""
        os.write(self.fd, data)

    async def end(self) -> None:
        """Close the pipe, and wait until all that was in it has been given."""
        os.close(self.fd)
        await self.ended.wait()


def test_every_line_is_given_once_the_last_one_without_its_end_too() -> None:
    async def scene(turn: Turn) -> None:
        reading = Reading(turn)
        reading.write(b"one\n\ntwo\nthr")
        reading.write(b"ee\nlast")
        await reading.end()
        assert reading.lines == [b"one", b"two", b"three", b"last"]

    run(scene)


def test_many_lines_leave_others_their_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "SLICE_S", -1.0)

    async def scene(turn: Turn) -> None:
        reading = Reading(turn)
        reading.write(b"y\n" * 1000)
        await reading.given.wait()
        assert len(reading.lines) < 1000  # others are run between them
        await reading.end()
        assert len(reading.lines) == 1000

    run(scene)


def test_the_lines_of_one_read_are_told_from_those_of_the_next() -> None:
    async def scene(turn: Turn) -> None:
        reads: list[int] = []
        reading = Reading(turn, lambda line: reads.append(turn.reading))
        reading.write(b"one\ntwo\n")
        await reading.given.wait()
        assert turn.reading == 0
        reading.write(b"three\n")
        await reading.end()
        assert len(reads) == 3
        assert 0 < reads[0] == reads[1] < reads[2]

    run(scene)


def test_the_lines_after_one_that_takes_long_wait_for_it() -> None:
    async def scene(turn: Turn) -> None:
        done = asyncio.get_running_loop().create_future()
        reading = Reading(turn, lambda line: done if line == b"long" else None)
        reading.write(b"long\nnext\n")
        await reading.given.wait()
        await asyncio.sleep(0)
        assert reading.lines == [b"long"]
        done.set_result(None)
        await reading.end()
        assert reading.lines == [b"long", b"next"]

    run(scene)


def test_a_reader_that_lacks_memory_ends_and_gives_no_half_line() -> None:
    def overcome(line: Line) -> None:
        if line == b"large":
            raise MemoryError

    async def scene(turn: Turn) -> None:
        reading = Reading(turn, overcome)
        reading.write(b"small\nlarge\nafter\n")
        await reading.ended.wait()
        assert reading.lines == [b"small", b"large"]
        os.close(reading.fd)

    run(scene)


def test_a_line_that_is_too_long_is_passed_over_and_its_edges_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "MESSAGE", 5000)

    async def scene(turn: Turn) -> None:
        reading = Reading(turn)
        reading.write(b"before\nBEGIN" + b"x" * 3000)
        await reading.given.wait()
        reading.write(b"x" * 3000 + b"END\nafter\n")
        await reading.end()
        assert reading.lines == [b"before", b"after"]
        ((beginning, end),) = reading.too_long
        assert beginning.startswith(b"BEGINx")
        assert end.endswith(b"xEND")

    run(scene)


def test_a_line_without_end_is_read_no_further(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "MESSAGE", 1000)
    monkeypatch.setattr(bounds, "ENDLESS", 4000)

    async def scene(turn: Turn) -> None:
        reading = Reading(turn)
        while not reading.ended.is_set():
            reading.write(b"x" * 500)
            await asyncio.sleep(0)
        assert reading.lines == []
        os.close(reading.fd)

    run(scene)


def test_nothing_is_given_while_the_client_takes_nothing() -> None:
    async def scene(turn: Turn) -> None:
        reading = Reading(turn)
        turn.readers.hold()
        reading.write(b"later\n")
        await asyncio.sleep(0)
        assert reading.lines == []
        turn.readers.release()
        await reading.given.wait()
        await reading.end()

    run(scene)
