"""The export, while it is sent."""

import asyncio
import json
import threading
from collections.abc import Callable, Generator

from starlette.testclient import TestClient

from mcpctl.base.paths import Paths
from mcpctl.dashboard import streaming
from tests import recorded

ENOUGH_S = 60


def test_one_thread_reads_what_is_asked_for_and_ends_with_its_reader() -> None:
    threads: set[int] = set()
    is_closed = threading.Event()

    def chunks() -> Generator[bytes]:
        try:
            for _ in range(5):
                threads.add(threading.get_ident())
                yield b"some"
        finally:
            threads.add(threading.get_ident())
            is_closed.set()

    async def read_two() -> None:
        read = streaming._read(chunks())
        assert [await anext(read), await anext(read)] == [b"some", b"some"]
        await read.aclose()  # type: ignore[attr-defined]

    asyncio.run(read_two())
    assert is_closed.wait(ENOUGH_S)
    assert len(threads) == 1
    assert threading.get_ident() not in threads


def test_it_is_sent_in_pieces_that_are_whole_together(browser: Callable[..., TestClient], paths: Paths) -> None:
    text = "é" * 3000
    calls = [f"{n:08}-0000-4000-8000-000000000000" for n in range(100)]
    recorded.session(
        paths, rest=[line for id_ in calls for line in recorded.call(id_, 1, arguments=recorded.raw({"text": text}))]
    )
    with browser().stream("GET", "/api/v1/export") as answer:
        pieces = list(answer.iter_raw())
    assert len([piece for piece in pieces if piece]) > 2
    lines = b"".join(pieces).decode().splitlines()
    assert {json.loads(line)["id"] for line in lines} == set(calls)
    assert browser().head("/api/v1/export").headers["content-type"] == "application/x-ndjson"
    assert all(json.loads(line)["arguments"] == {"text": text} for line in lines)
