"""Connections over HTTP: so many, and none that only pretends to ask."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import pytest
from starlette.responses import PlainTextResponse, StreamingResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from mcpctl.wire import http_connection as connection
from mcpctl.wire import http_server as server

ENOUGH_S = 20
ANSWERED = PlainTextResponse("answered")
Talk = Callable[[int], Coroutine[Any, Any, None]]


def served(talk: Talk, app: ASGIApp = ANSWERED) -> None:
    """Talk to a server with our connections, of which any request is answered."""

    async def both() -> None:
        listening = server.loopback([0])
        running = server.HttpServer(server.settings(app, connection.HttpConnection))
        task = asyncio.create_task(running.serve(listening))
        try:
            await talk(listening[0].getsockname()[1])
        finally:
            running.should_exit = running.force_exit = True
            await task

    asyncio.run(both())


def test_a_head_that_does_not_end_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "HEAD_S", 0.2)

    async def talk(port: int) -> None:
        for sent in (b"", b"GET / HTTP/1.1\r\nHost: x\r\n"):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(sent)
            with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
                await reader.readexactly(1)
            writer.close()

    served(talk)


def test_after_an_answer_the_next_request_has_its_time_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "HEAD_S", 0.3)

    async def talk(port: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert (await reader.readuntil(b"answered")).startswith(b"HTTP/1.1 200")
        writer.write(b"GET / HT")
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            await reader.readexactly(1)
        writer.close()

    served(talk)


@pytest.mark.parametrize(
    "rest",
    [b"Host: x\r\nX: " + b"x" * (2 * connection.MOST_HEAD), b"Host: x\r\nHost: y\r\n\r\n", b"Host: x\ry\r\n\r\n",
     b"Host: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", b"\r\n"],
    ids=["long", "two hosts", "a bare return", "two lengths", "no host"],
)  # fmt: skip
def test_a_head_that_two_programs_could_read_in_two_ways_is_refused(rest: bytes) -> None:
    async def talk(port: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET / HTTP/1.1\r\n" + rest)
        assert (await reader.readline()).startswith(b"HTTP/1.1 400")
        writer.close()

    served(talk)


def test_beyond_the_bound_the_connection_ends_that_has_asked_for_nothing_for_longest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connection.HttpConnection, "most", 2)
    request = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"

    async def talk(port: int) -> None:
        asks, idle = [await asyncio.open_connection("127.0.0.1", port) for _ in range(2)]
        asks[1].write(request)
        await asks[0].readuntil(b"answered")
        late = await asyncio.open_connection("127.0.0.1", port)
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            await idle[0].readexactly(1)
        for reader, writer in (asks, late):
            writer.write(request)
            assert (await reader.readline()).startswith(b"HTTP/1.1 200")
        for _, writer in (asks, idle, late):
            writer.close()

    served(talk)


def test_an_answer_that_nobody_reads_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection.HttpConnection, "unread_s", 0.2)
    ended = asyncio.Event()

    async def endless() -> AsyncIterator[bytes]:
        while True:
            yield b"x" * (1 << 16)
            await asyncio.sleep(0)  # what has ended is noticed on the loop

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        await StreamingResponse(endless())(scope, receive, send)
        ended.set()

    async def talk(port: int) -> None:
        _, writer = await asyncio.open_connection("127.0.0.1", port, limit=1)
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        async with asyncio.timeout(ENOUGH_S):
            await ended.wait()
        writer.close()

    served(talk, answer)
