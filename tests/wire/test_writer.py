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
    async def scene() -> None:
        loop, passed = asyncio.get_running_loop(), 0.0
        now = loop.time
        monkeypatch.setattr(loop, "time", lambda: now() + passed)
        given_back: asyncio.Queue[int] = asyncio.Queue()

        def give_back() -> None:
            loop.call_soon_threadsafe(given_back.put_nowait, threading.get_ident())

        monkeypatch.setattr(posix, "give_back_memory", give_back)
        read, write = os.pipe()
        os.set_blocking(read, False)
        lines: asyncio.Queue[int] = asyncio.Queue()
        reader = LineReader(
            read, Turn().readers, lambda line: lines.put_nowait(len(line)), lambda: None, lambda *edges: None
        )
        for size in (100_000, 10, 100_000):
            await asyncio.to_thread(os.write, write, b"x" * size + b"\n")
            assert await lines.get() - size in (0, 1)  # a long one may have its newline
            passed += 2000
        assert given_back.empty()  # though 6000 s have passed since the first
        passed += 3500
        assert await given_back.get() != threading.get_ident()  # aside
        os.write(write, b"small\n")
        await lines.get()
        passed += 5000
        await asyncio.sleep(0)
        await loop.shutdown_default_executor()
        assert given_back.empty()
        reader.close()
        os.close(write)
        os.close(read)

    monkeypatch.setattr(writer, "_QUIET_S", 5000)
    asyncio.run(scene())
