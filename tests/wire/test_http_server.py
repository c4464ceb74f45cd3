"""Connections over HTTP: so many, and none that only pretends to ask."""

import asyncio
import select
import socket
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.server import ServerState

from mcpctl.base import bounds
from mcpctl.wire import http_connection as connection
from mcpctl.wire import http_server as server
from tests.table import for_each

ENOUGH_S = 60
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
    monkeypatch.setattr(bounds, "REQUEST_HEAD_S", 0.2)

    async def talk(port: int) -> None:
        for sent in (b"", b"GET / HTTP/1.1\r\nHost: x\r\n"):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(sent)
            with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
                await reader.readexactly(1)
            writer.close()

    served(talk)


def test_after_an_answer_the_next_request_has_its_time_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "REQUEST_HEAD_S", 0.3)

    async def talk(port: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert (await reader.readuntil(b"answered")).startswith(b"HTTP/1.1 200")
        writer.write(b"GET / HT")
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            await reader.readexactly(1)
        writer.close()

    served(talk)


def test_what_an_application_notes_of_a_request_is_not_there_in_another() -> None:
    notes: list[dict[str, Any]] = []
    addresses: set[str] = set()
    both_are_there = asyncio.Barrier(2)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        scope["state"]["path"] = scope["path"]
        addresses.update((scope["client"][0], scope["server"][0]) if scope["type"] == "http" else ())
        await both_are_there.wait()
        notes.append({"path": scope["path"], "noted": scope["state"]["path"]})
        await ANSWERED(scope, receive, send)

    async def talk(port: int) -> None:
        async def asks(path: str) -> None:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            await reader.readuntil(b"answered")
            writer.close()

        await asyncio.gather(asks("/ann"), asks("/bob"))

    served(talk, app)
    assert len(notes) == 2
    assert addresses == {"127.0.0.1"}
    assert all(note["path"] == note["noted"] for note in notes)


POST = b"POST / HTTP/1.1\r\nHost: x\r\n"
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"
REFUSED: dict[str, bytes] = {
    "a long head": b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"x" * (2 * bounds.REQUEST_HEAD),
    "a long head that ends": b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"x" * bounds.REQUEST_HEAD + b"\r\n\r\n",
    "a long path": b"GET /" + b"x" * bounds.REQUEST_HEAD + b" HTTP/1.1\r\nHost: x\r\n\r\n",
    "many headers": b"GET / HTTP/1.1\r\nHost: x\r\n" + b"X: x\r\n" * 201 + b"\r\n",
    "empty lines without end": b"\r\n" * bounds.REQUEST_HEAD,
    "two hosts": b"GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n",
    "no host": b"GET / HTTP/1.1\r\n\r\n",
    "a bare return": b"GET / HTTP/1.1\r\nHost: x\ry\r\n\r\n",
    "bare line feeds": b"GET / HTTP/1.1\nHost: x\n\n",
    "a NUL": POST + b"X: a\0b\r\n\r\n",
    "a control character": POST + b"X: a\x0bb\r\n\r\n",
    "a fold": POST + b"X: a\r\n b\r\n\r\n",
    "a space before the colon": POST + b"Content-Length : 2\r\n\r\n{}",
    "a header without a name": POST + b": x\r\n\r\n",
    "two lengths": POST + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n",
    "a length twice": POST + b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
    "a list of lengths": POST + b"Content-Length: 2, 2\r\n\r\n{}",
    "a length with a sign": POST + b"Content-Length: +2\r\n\r\n{}",
    "a negative length": POST + b"Content-Length: -2\r\n\r\n{}",
    "a length in hexadecimal": POST + b"Content-Length: 0x2\r\n\r\n{}",
    "no length": POST + b"Content-Length: \r\n\r\n{}",
    "a length beyond all": POST + b"Content-Length: 99999999999999999999\r\n\r\n{}",
    "length and chunks": POST + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "chunks and length": POST + b"Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n",
    "another coding": POST + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "two codings": POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "chunks twice": POST + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "a coding after chunks": POST + b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
    "chunks in 1.0": b"POST / HTTP/1.0\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "a chunk of a negative size": CHUNKED + b"-2\r\n{}\r\n0\r\n\r\n",
    "a chunk beyond all": CHUNKED + b"FFFFFFFFFFFFFFFFF\r\n{}\r\n0\r\n\r\n",
    "a chunk that goes on": CHUNKED + b"2\r\n{}0\r\n\r\n",
    "a chunk with a bare line feed": CHUNKED + b"2;a\n{}\r\n0\r\n\r\n",
    "trailers without end": CHUNKED + b"0\r\n" + b"X: x\r\n" * bounds.REQUEST_HEAD,
    "a tunnel": b"CONNECT x:80 HTTP/1.1\r\nHost: x:80\r\n\r\n",
    "an older version": b"GET /\r\n\r\n",
    "a later version": b"GET / HTTP/2.0\r\nHost: x\r\n\r\n",
    "a path that is not ASCII": b"GET /\xe9 HTTP/1.1\r\nHost: x\r\n\r\n",
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
}
"""Heads that two programs could read in two ways, or that no program needs."""


async def said(port: int, sent: bytes) -> bytes:
    """All that is answered until the connection is closed."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(sent)
    async with asyncio.timeout(ENOUGH_S):
        answer = await reader.read(-1)
    writer.close()
    return answer


def test_a_head_that_two_programs_could_read_in_two_ways_is_refused_with_all_that_follows_it() -> None:
    async def talk(port: int) -> None:
        for name, sent in REFUSED.items():
            answer = await said(port, sent + b"GET /next HTTP/1.1\r\nHost: x\r\n\r\n")
            assert answer.startswith(b"HTTP/1.1 400 "), (name, answer)
            assert answer.count(b"HTTP/1.1 ") == 1, (name, answer)

    served(talk, echo)


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers with the path and the body."""
    body = await Request(scope, receive).body()
    await Response(scope["path"].encode() + b" " + body)(scope, receive, send)


ANSWERED_SO: dict[str, tuple[bytes, list[bytes]]] = {
    "one after the other": (b"GET /1 HTTP/1.1\r\nHost: x\r\n\r\nGET /2 HTTP/1.1\r\nHost: x\r\n\r\n", [b"/1 ", b"/2 "]),
    "a body": (POST + b"Content-Length: 2  \r\n\r\n{}", [b"/ {}"]),
    "chunks": (CHUNKED + b"1;a=b\r\n{\r\n1\r\n}\r\n0\r\nX: y\r\n\r\n", [b"/ {}"]),
    "a wish for HTTP/2, as Java's client has": (
        POST + b"Connection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: 37\r\n\r\n"
        b"GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n  GET /2 HTTP/1.1\r\nHost: x\r\n\r\n",
        [b"/ GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n  ", b"/2 "],
    ),
    "a wish for HTTP/2 and chunks": (
        POST + b"Connection: Upgrade\r\nUpgrade: h2c\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
        [b"/ {}"],
    ),
    "a wish for another protocol without a body": (
        b"GET /1 HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n"
        b"GET /2 HTTP/1.1\r\nHost: x\r\n\r\n",
        [b"/1 ", b"/2 "],
    ),
    "nothing after it has said that it closes": (
        b"GET /1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\nGET /2 HTTP/1.1\r\nHost: x\r\n\r\n", [b"/1 "],
    ),
    "nor where it wished for another protocol": (
        b"GET /1 HTTP/1.1\r\nHost: x\r\nConnection: upgrade, close\r\nUpgrade: x\r\n\r\n"
        b"GET /2 HTTP/1.1\r\nHost: x\r\n\r\n",
        [b"/1 "],
    ),
    "an older version": (b"GET /1 HTTP/1.0\r\nHost: x\r\n\r\n", [b"/1 "]),
    "an older version that names no host and wishes to stay": (
        b"GET /1 HTTP/1.0\r\nConnection: keep-alive\r\n\r\nGET /2 HTTP/1.0\r\n\r\n", [b"/1 "],
    ),
    "an escaped path": (b"GET /%41%2f HTTP/1.1\r\nHost: x\r\n\r\n", [b"/A/ "]),
}  # fmt: skip
"""What is sent, and the bodies of the answers."""


@pytest.mark.parametrize("width", [1, 7, 1 << 20], ids=["a byte at a time", "seven", "at once"])
def test_requests_are_answered_in_their_order_however_they_come(width: int) -> None:
    async def talk(port: int) -> None:
        for name, (sent, bodies) in ANSWERED_SO.items():
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            for start in range(0, len(sent), width):
                writer.write(sent[start : start + width])
                await asyncio.sleep(0)
            for body in bodies:
                head = await reader.readuntil(b"\r\n\r\n")
                assert head.startswith(b"HTTP/1.1 200 "), (name, head)
                assert await reader.readexactly(len(body)) == body, name
            writer.write_eof()
            assert await reader.read() == b"", name
            writer.close()

    served(talk, echo)


def test_what_comes_while_nothing_is_read_is_answered_in_its_order() -> None:
    class Transport(asyncio.Transport):
        """One that goes on to hand over what it has read."""

        written = b""

        def write(self, data: bytes | bytearray | memoryview) -> None:
            self.written += data

        def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
            """It takes all at once."""

        def pause_reading(self) -> None:
            paused.append(True)

        def resume_reading(self) -> None:
            paused.append(False)

        def is_closing(self) -> bool:
            return False

    paused: list[bool] = []

    async def scene() -> None:
        config = server.settings(echo, connection.HttpConnection)
        config.load()
        transport, going = Transport(), connection.HttpConnection(config, ServerState(), {})
        going.connection_made(transport)
        requests = [b"POST /%d HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n%d" % (n, n) for n in range(5)]
        going.data_received(b"".join(requests[:2]))
        assert paused == [True]
        for request in requests[2:]:
            going.data_received(request[:20])
            going.data_received(request[20:])
        while transport.written.count(b"HTTP/1.1 200") < len(requests):
            await asyncio.sleep(0)
        bodies = [answer.rpartition(b"\r\n\r\n")[2] for answer in transport.written.split(b"HTTP/1.1 ")[1:]]
        assert bodies == [b"/%d %d" % (n, n) for n in range(5)]
        going.connection_lost(None)

    asyncio.run(scene())


def test_the_next_head_has_its_time_from_when_the_answer_before_it_is_whole() -> None:
    was_asked, going = asyncio.Event(), asyncio.Event()

    async def later(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            was_asked.set()
            await going.wait()
        await ANSWERED(scope, receive, send)

    async def talk(port: int) -> None:
        loop = asyncio.get_running_loop()
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        going.set()
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        await reader.readuntil(b"answered")
        assert (len(connection._heads), len(connection._idle)) == (0, 1)
        was_asked.clear()
        going.clear()
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\nGET / HT")
        await was_asked.wait()
        connection.look(loop.time() + 1000)
        going.set()
        await reader.readuntil(b"answered")
        connection.look(loop.time() + 1)
        assert connection._heads
        connection.look(loop.time() + bounds.REQUEST_HEAD_S)
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            await reader.readexactly(1)
        writer.close()

    served(talk, later)


def test_a_connection_that_nobody_closes_after_its_last_answer_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "REQUEST_HEAD_S", 0.2)

    async def talk(port: int) -> None:
        for sent in (b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", b"GET / HTTP/2.0\r\n\r\n"):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(sent)
            async with asyncio.timeout(ENOUGH_S):
                assert (await reader.read()).startswith(b"HTTP/1.1 ")
                with pytest.raises(ConnectionError):
                    while True:
                        writer.write(b"x")
                        await writer.drain()
                        await asyncio.sleep(0.01)
            writer.close()

    served(talk)


def test_at_its_end_what_was_asked_is_answered_and_idle_connections_are_closed() -> None:
    going, was_asked = asyncio.Event(), asyncio.Event()

    async def later(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] == "/later":
            was_asked.set()
            await going.wait()
        await ANSWERED(scope, receive, send)

    async def scene() -> None:
        listening = server.loopback([0])
        running = server.HttpServer(server.settings(later, connection.HttpConnection))
        task = asyncio.create_task(running.serve(listening))
        idle, asks = [await asyncio.open_connection(*listening[0].getsockname()) for _ in range(2)]
        idle[1].write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        await idle[0].readuntil(b"answered")
        asks[1].write(b"GET /later HTTP/1.1\r\nHost: x\r\n\r\n")
        await was_asked.wait()
        running.should_exit = True
        async with asyncio.timeout(ENOUGH_S):
            assert await idle[0].read() == b""
            going.set()
            answer = await asks[0].read()
            assert b"connection: close" in answer
            assert answer.endswith(b"answered")
            for _, writer in (idle, asks):
                writer.close()
            await task

    asyncio.run(scene())


def test_a_client_that_asks_to_be_told_to_go_on_is() -> None:
    async def talk(port: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(POST + b"Expect: 100-continue\r\nContent-Length: 2\r\n\r\n")
        assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        writer.write(b"{}")
        assert (await reader.readuntil(b"/ {}")).startswith(b"HTTP/1.1 200 ")
        writer.close()

    served(talk, echo)


def test_a_body_that_nobody_takes_is_not_read_on() -> None:
    going = asyncio.Event()

    async def later(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await going.wait()
        await echo(scope, receive, send)

    async def talk(port: int) -> None:
        size = 16 << 20
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(POST + b"Content-Length: %d\r\n\r\n" % size)
        sending = asyncio.create_task(writer.drain())
        writer.write(b"x" * size)
        before = -1
        while before != (before := writer.transport.get_write_buffer_size()):
            await asyncio.sleep(0.1)
        assert before > size // 2
        going.set()
        async with asyncio.timeout(ENOUGH_S):
            await sending
            assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200 ")
            await reader.readexactly(size)
        writer.close()

    served(talk, later)


def test_a_body_after_a_wish_for_another_protocol_is_read_in_its_order() -> None:
    async def talk(port: int) -> None:
        body = b"0123456789" * 20_000
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(POST + b"Connection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))
        await reader.readuntil(b"/ ")
        assert await reader.readexactly(len(body)) == body
        writer.close()

    served(talk, echo)


def test_whoever_reads_a_body_is_told_that_the_rest_cannot_be_read() -> None:
    told: list[bytes] = []
    began, ended = asyncio.Event(), asyncio.Event()

    async def reads(scope: Scope, receive: Receive, send: Send) -> None:
        while scope["type"] == "http" and (message := await receive())["type"] != "http.disconnect":
            told.append(message["body"])
            began.set()
        if scope["type"] == "http":
            ended.set()

    async def talk(port: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        async with asyncio.timeout(ENOUGH_S):
            writer.write(CHUNKED + b"2\r\n{}\r\n")
            await began.wait()
            writer.write(b"odd")
            assert (await reader.read()).startswith(b"HTTP/1.1 400 ")
            await ended.wait()
        assert b"".join(told) == b"{}"
        writer.close()

    served(talk, reads)


def test_an_application_that_fails_is_answered_for_or_cut_off() -> None:
    odd: list[Any] = []

    async def fails(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] == "/late":
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"half", "more_body": True})
        raise ValueError("odd")

    async def talk(port: int) -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: odd.append(context["exception"]))
        answer = await said(port, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert (answer.startswith(b"HTTP/1.1 500 "), b"connection: close" in answer, b"odd" in answer) == (
            True,
            True,
            False,
        )
        answer = await said(port, b"GET /late HTTP/1.1\r\nHost: x\r\n\r\n")
        assert answer.endswith(b"4\r\nhalf\r\n")
        assert [str(each) for each in odd] == ["odd", "odd"]

    served(talk, fails)


def test_a_body_that_nobody_wants_any_more_has_as_long_as_a_head() -> None:
    async def talk(port: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(POST + b"Content-Length: 9\r\n\r\n1")
        await reader.readuntil(b"answered")
        assert (len(connection._heads), len(connection._idle)) == (1, 0)
        writer.close()

    served(talk)


def test_an_answer_before_its_request_is_whole_arrives() -> None:
    async def early(scope: Scope, receive: Receive, send: Send) -> None:
        headers = {"connection": "close"} if scope["path"] == "/close" else {}
        await PlainTextResponse("answered", headers=headers)(scope, receive, send)

    async def talk(port: int) -> None:
        body = b"Host: x\r\nContent-Length: %d\r\n\r\n" % (8 << 20) + b"x" * (8 << 20)
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for _ in range(2):
            writer.write(b"POST / HTTP/1.1\r\n" + body)
            assert (await reader.readuntil(b"answered")).startswith(b"HTTP/1.1 200 ")
            await writer.drain()
        writer.close()
        assert (await said(port, b"POST /close HTTP/1.1\r\n" + body)).endswith(b"answered")

    served(talk, early)


def test_whoever_is_idle_makes_room_for_a_new_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection.HttpConnection, "most", 2)

    async def talk(port: int) -> None:
        idle = [await asyncio.open_connection("127.0.0.1", port) for _ in range(2)]
        for reader, writer in idle:
            writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            await reader.readuntil(b"answered")
        assert (await said(port, b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")).endswith(b"answered")
        assert await idle[0][0].read() == b""
        idle[1][1].write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        await idle[1][0].readuntil(b"answered")
        for _, writer in idle:
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


def test_a_crowd_that_connects_at_once_waits_in_the_kernel_and_not_in_descriptors(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connection.HttpConnection, "most", 2)

    def opened() -> int:
        return len(list(Path("/dev/fd").iterdir()))

    async def talk(port: int) -> None:
        crowd = [socket.create_connection(("127.0.0.1", port)) for _ in range(200)]  # nothing of ours runs meanwhile
        before, most = opened(), 0
        while sum(each.fileno() >= 0 and bool(select.select([each], [], [], 0)[0]) for each in crowd) < 190:
            await asyncio.sleep(0)
            most = max(most, opened())
        assert most - before <= 2 + 4 * bounds.ACCEPTED
        for each in crowd:
            each.close()

    served(talk)


def test_an_answer_that_nobody_reads_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "UNREAD_S", 0.2)
    ended = asyncio.Event()

    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        while True:
            sent += 1
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
        assert sent < 1000
        writer.close()

    served(talk, answer)


LIKE = b"POST /a?b HTTP/1.1\r\nHost: x\r\nX-A: 1\r\nContent-Length: %d\r\nX-B: 2\r\n\r\n"
FIRST = LIKE % 2 + b"{}"
FOLLOWED: dict[str, list[bytes]] = {
    "the same": [FIRST, FIRST],
    "other lengths": [LIKE % 0, LIKE % 9 + b"123456789", LIKE % 3 + b"[1]"],
    "a length with noughts": [(LIKE % 7).replace(b": 7", b": 007") + b"1234567"],
    "a length in other letters": [(LIKE % 2).replace(b"Content-L", b"CONTENT-l") + b"{}", FIRST],
    "another path": [(LIKE % 2).replace(b"/a", b"/c") + b"{}"],
    "another method": [b"GET /a HTTP/1.1\r\nHost: x\r\n\r\n"],
    "a body that looks like a head": [LIKE % len(FIRST) + FIRST],
    "chunks": [CHUNKED + b"2\r\n{}\r\n0\r\n\r\n"],
    "a wish for another protocol": [(LIKE % 2).replace(b"X-B: 2", b"Connection: Upgrade\r\nUpgrade: h2c") + b"{}"],
}


@for_each("requests", FOLLOWED.values())
def test_a_request_after_one_with_nearly_the_same_head_is_read_as_by_itself(requests: list[bytes]) -> None:
    seen: list[Any] = []
    kept = ("method", "path", "query_string", "headers", "http_version")

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        body = b""
        while (message := await receive()).get("more_body"):
            body += message["body"]
        seen.append([*(scope[name] for name in kept), body + message["body"]])
        await ANSWERED(scope, receive, send)

    async def talk(port: int) -> None:
        sent = [FIRST, *(part for request in requests for part in (request, FIRST))]
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for request in sent:
            writer.write(request)
            await reader.readuntil(b"answered")
        for cut in (10, len(FIRST) - 1):  # not whole at once, and more than one at once
            writer.write(FIRST[:cut])
            await writer.drain()
            await asyncio.sleep(0.01)
            writer.write(FIRST[cut:] + FIRST)
            for _ in range(2):
                await reader.readuntil(b"answered")
        writer.close()
        on_one, seen[:] = seen[:], []
        for request in [*sent, *[FIRST] * 4]:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(request)
            await reader.readuntil(b"answered")
            writer.close()
        assert on_one == seen

    served(talk, app)


REFUSED_AFTER: dict[str, bytes] = {
    "a length twice": (LIKE % 2).replace(b"X-B: 2", b"Content-Length: 2") + b"{}",
    "length and chunks": (LIKE % 2).replace(b"X-B: 2", b"Transfer-Encoding: chunked") + b"{}",
    "a length that is folded": (LIKE % 2).replace(b": 2\r\n", b": 2\r\n 0\r\n", 1) + b"{}",
    "no length": (LIKE % 2).replace(b": 2", b": ", 1) + b"{}",
    "two hosts": (LIKE % 2).replace(b"X-B: 2", b"Host: y") + b"{}",
    "a bare line feed": (LIKE % 2).replace(b"2\r\n\r\n", b"2\r\n\n") + b"{}",
}


@for_each("odd", REFUSED_AFTER.values())
def test_what_is_refused_by_itself_is_refused_after_others_with_nearly_the_same_head(odd: bytes) -> None:
    async def talk(port: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for _ in range(3):
            writer.write(FIRST)
            await reader.readuntil(b"answered")
        for _ in range(2):
            writer.write(odd)
        writer.write_eof()
        assert (await reader.read()).startswith(b"HTTP/1.1 400")
        writer.close()

    served(talk)


class Taskless:
    """An application that needs no task, whose requests wait as their paths say."""

    needs_task = False

    def __init__(self) -> None:
        self.waiting: list[Any] = []
        self.notes: list[Any] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] == "/fails":
            raise ValueError("as it should")
        if scope["path"] == "/soon":
            await asyncio.sleep(0)
            async with asyncio.timeout(ENOUGH_S):
                await asyncio.sleep(0)
        if scope["path"] in ("/waits", "/waits-later"):
            if scope["path"] == "/waits-later":
                await asyncio.sleep(0)
            self.waiting.append(scope["extensions"]["waiting"]["begin"]())
            await self.waiting[-1]
        self.notes.append(scope["extensions"]["notes"])
        await ANSWERED(scope, receive, send)


def test_an_application_without_a_task_waits_fails_and_answers_as_one_with_a_task() -> None:
    app = Taskless()
    problems: list[Any] = []

    async def talk(port: int) -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, problem: problems.append(problem["exception"]))
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for path in (b"/", b"/soon", b"/waits", b"/waits-later"):
            writer.write(FIRST.replace(b"/a", path))
            if path.startswith(b"/waits"):
                while not app.waiting:
                    await asyncio.sleep(0.001)
                app.waiting.pop().set_result(None)
            await reader.readuntil(b"answered")
        many = 1000  # each is answered at once, and none within the answer to the one before
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" * many)
        for _ in range(many):
            await reader.readuntil(b"answered")
        writer.write(FIRST.replace(b"/a", b"/fails"))
        assert (await reader.read()).startswith(b"HTTP/1.1 500")
        writer.close()

    served(talk, app)
    assert [str(problem) for problem in problems] == ["as it should"]


def test_what_an_application_notes_of_a_head_is_there_for_the_next_request_with_the_same_on_its_connection() -> None:
    app = Taskless()

    async def talk(port: int) -> None:
        for _ in range(2):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            for request in (FIRST, LIKE % 4 + b"null", FIRST.replace(b"/a", b"/c"), FIRST):
                writer.write(request)
                await reader.readuntil(b"answered")
            writer.close()

    served(talk, app)
    assert [[a is b for b in app.notes].index(True) for a in app.notes] == [0, 0, 2, 3, 4, 4, 6, 7]
