"""Memory is given back once after many large messages, and not while they come."""

import asyncio
import os
import threading

import pytest

from mcpctl.base import posix
from mcpctl.wire import writer
from mcpctl.wire.reader import LineReader
from mcpctl.wire.writer import Turn


def test_the_memory_of_large_messages_is_given_back_once_they_have_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "_QUIET_S", 0.05)
    given_back: list[int] = []
    monkeypatch.setattr(posix, "give_back_memory", lambda: given_back.append(threading.get_ident()))

    async def scene() -> None:
        read, write = os.pipe()
        os.set_blocking(read, False)
        lines: asyncio.Queue[int] = asyncio.Queue()
        reader = LineReader(
            read, Turn().readers, lambda line: lines.put_nowait(len(line)), lambda: None, lambda *edges: None
        )
        for size in (100_000, 10, 100_000):
            await asyncio.to_thread(os.write, write, b"x" * size + b"\n")
            assert await lines.get() - size in (0, 1)  # a long one may have its newline
        assert not given_back
        while not given_back:
            await asyncio.sleep(0.01)
        os.write(write, b"small\n")
        await lines.get()
        await asyncio.sleep(0.1)
        reader.close()
        os.close(write)
        os.close(read)

    asyncio.run(asyncio.wait_for(scene(), 20))
    assert len(given_back) == 1
    assert given_back != [threading.get_ident()]  # aside
