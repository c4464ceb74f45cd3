"""An HTTP API as a server: what MCP asks of it in both eras, how calls end, and how a new document is taken."""

import asyncio
import gc
import json
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from msgspec import Raw

from mcpctl.base.callers import MODERN_REVISION, Caller
from mcpctl.base.failure import Failed
from mcpctl.base.models import Tool
from mcpctl.base.paths import Paths
from mcpctl.catalog import cache
from mcpctl.config.server_environment import CannotLaunch
from mcpctl.config.server_settings import Server
from mcpctl.openapi import snapshot
from mcpctl.upstreams.connection import Connection
from mcpctl.upstreams.http_api import answer as http_answer
from mcpctl.upstreams.http_api import request
from mcpctl.upstreams.http_api.connection import HttpApi
from mcpctl.upstreams.transports import initialize, speaks_modern
from mcpctl.wire.jsonrpc import Message
from tests.table import for_each
from tests.upstreams.http_api.own_api import (
    OwnApi,
    answer,
    called,
    document,
    opened,
    operation,
    own_api,
    refusal,
    sent,
    with_api,
)  # fmt: skip

MODERN, LEGACY = Caller(MODERN_REVISION), Caller("2025-06-18")


@pytest.fixture
def own() -> Iterator[OwnApi]:
    """An API."""
    with own_api() as served:
        yield served


async def listed(connection: HttpApi, caller: Caller = LEGACY) -> list[list[str]]:
    """The names of its tools, page by page."""
    pages, cursor = [], b""
    while True:
        page = json.loads(await connection.ask("tools/list", {"cursor": cursor} if cursor else {}, caller))
        pages.append([tool["name"] for tool in page["tools"]])
        if not (cursor := json.dumps(page["nextCursor"]).encode() if "nextCursor" in page else b""):
            return pages


def test_it_shakes_hands_in_both_eras(paths: Paths, own: OwnApi) -> None:
    compiled = document(own.url, operation(), title="Shop", version="1.2", description="Sells things.")

    async def hands(connection: HttpApi) -> None:
        assert await speaks_modern(connection, MODERN, is_remote=True)
        assert (connection.revision, connection.instructions) == (MODERN_REVISION, "Shop\n\nSells things.")
        assert connection.offers == {"tools"}
        await initialize(connection, LEGACY)
        assert (connection.revision, connection.modern, connection.announces) == ("2025-06-18", False, False)
        assert json.loads(connection.server_info) == {"name": "Shop", "version": "1.2"}
        assert await connection.ask("ping", {}, LEGACY) == b"{}"
        with pytest.raises(Failed, match="an HTTP API has no prompts/list"):
            await connection.ask("prompts/list", {}, LEGACY)
        assert connection.pending == {}

    with_api(paths, compiled, hands)
    assert own.requests == []


def test_its_tools_are_listed_in_pages_as_the_bytes_of_the_document(paths: Paths, own: OwnApi) -> None:
    operations = [operation("GET", f"/{index}", tool=f"op{index}") for index in range(9)]
    raw = b'{"name": "op0", "x": 1.50, "inputSchema":{}}'
    operations[0] = snapshot.HttpOperation(tool="op0", method="GET", path="/0", base=own.url, definition=Raw(raw))

    async def pages(connection: HttpApi) -> None:
        names = [f"op{index}" for index in range(9)]
        assert await listed(connection) == [names]
        assert raw in await connection.ask("tools/list", {}, LEGACY)
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr("mcpctl.upstreams.http_api.connection._PAGE", 100)
            found = await listed(connection)
        assert len(found) > 3
        assert [name for page in found for name in page] == names

    with_api(paths, document(own.url, *operations), pages)


def test_without_a_document_it_is_down_with_the_command_that_makes_one(paths: Paths) -> None:
    with pytest.raises(CannotLaunch) as raised:
        asyncio.run(opened(paths, Server(openapi="api.json")))
    assert raised.value.hint == "run: mcpctl tools refresh shop"


def test_a_start_that_is_taken_back_while_it_reads_leaves_no_failure_behind(paths: Paths) -> None:
    async def taken_back() -> list[dict[str, Any]]:
        heard: list[dict[str, Any]] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: heard.append(context))
        opening = asyncio.create_task(opened(paths, Server(openapi="api.json")))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        opening.cancel()
        await asyncio.wait([opening])
        while len(asyncio.all_tasks()) > 1:
            await asyncio.sleep(0)
        del opening
        gc.collect()
        return heard

    assert asyncio.run(taken_back()) == []


def test_a_document_of_an_older_format_is_told_from_none(paths: Paths, own: OwnApi) -> None:
    server = Server(openapi="api.json")
    content = snapshot.encoded(document(own.url, operation())).replace(b'"format":%d' % snapshot.FORMAT, b'"format":0')
    snapshot.save(paths, "shop", server, content)
    with pytest.raises(CannotLaunch, match="another version"):
        asyncio.run(opened(paths, server))


def test_a_new_document_is_taken_by_the_next_request_and_announced(paths: Paths, own: OwnApi) -> None:
    server = Server(openapi="api.json")
    messages: list[Message] = []

    def heard(_: Connection, message: Message) -> None:
        messages.append(message)

    async def renewed() -> None:
        snapshot.save(paths, "shop", server, snapshot.encoded(document(own.url, operation())))
        connection = await opened(paths, server, on_message=heard)
        new = document(own.url, operation("GET", "/new"), operation("GET", "/y", tool="other"))
        snapshot.save(paths, "shop", server, snapshot.encoded(new))
        await sent(connection, b"{}")[1].answered
        assert own.target == "/new"
        assert [message.method for message in messages] == ["notifications/tools/list_changed"]
        assert await listed(connection) == [["op", "other"]]
        assert len(messages) == 1
        with pytest.raises(Failed, match="no such operation"):
            await sent(connection, b"{}", "gone")[1].answered
        await connection.stop()

    asyncio.run(renewed())


def test_a_call_that_was_decided_on_another_request_is_not_sent(paths: Paths, own: OwnApi) -> None:
    server = Server(openapi="api.json")

    def decided(request_hash: str) -> Tool:
        definition = {"name": "op", "_meta": {"mcpctl/request": request_hash}}
        return cache.tool("shop", "op", json.dumps(definition), is_of_api=True)

    async def renewed() -> None:
        of = document(own.url, operation(request_hash="1"))
        snapshot.save(paths, "shop", server, snapshot.encoded(of))
        connection = await opened(paths, server)
        for request_hash in ("1", "2"):
            of = document(own.url, operation("GET", f"/{request_hash}", request_hash=request_hash))
            snapshot.save(paths, "shop", server, snapshot.encoded(of))
            exchange, outcome = sent(connection, b"{}")
            exchange.tool = decided("1")
            if request_hash == "2":
                with pytest.raises(Failed, match="changed how it is called: try again") as raised:
                    await outcome.answered
                assert (raised.value.failure.code, raised.value.failure.was_sent) == ("request_changed", False)
                exchange, outcome = sent(connection, b"{}")
                exchange.tool = decided("2")
            await outcome.answered
            assert (own.target, len(own.requests)) == (f"/{request_hash}", int(request_hash))
        await connection.stop()

    asyncio.run(renewed())


def test_all_calls_share_the_connections_of_one_client(paths: Paths, own: OwnApi) -> None:
    async def calls(connection: HttpApi) -> None:
        for _ in range(5):
            await sent(connection, b"{}")[1].answered

    with_api(paths, document(own.url, operation()), calls)
    assert (len(own.requests), own.connections) == (5, 1)


def test_what_an_api_sets_as_a_cookie_is_not_sent_back(paths: Paths, own: OwnApi) -> None:
    own.respond = lambda *_: answer(b"{}", Set_Cookie="sid=1; Path=/")

    async def calls(connection: HttpApi) -> None:
        for _ in range(2):
            await sent(connection, b"{}")[1].answered

    with_api(paths, document(own.url, operation()), calls)
    assert own.header("Cookie") is None


def test_a_call_is_sent_once_though_its_connection_breaks(paths: Paths, own: OwnApi) -> None:
    def first_then_close(request: bytes, connected: socket.socket) -> bytes | None:
        if len(own.requests) == 1:
            return answer(b"{}")
        connected.close()
        return None

    own.respond = first_then_close

    async def calls(connection: HttpApi) -> None:
        await sent(connection, b"{}")[1].answered
        for method in ("op", "put"):
            before = len(own.requests)
            with pytest.raises(Failed) as raised:
                await sent(connection, b"{}", method)[1].answered
            assert (raised.value.failure.code, raised.value.failure.was_sent) == ("server_died", True)
            assert len(own.requests) == before + 1

    with_api(paths, document(own.url, operation(), operation("PUT", "/x", tool="put")), calls)


def test_an_api_that_cannot_be_reached_has_got_nothing(paths: Paths) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        url = f"http://127.0.0.1:{closed.getsockname()[1]}"
    failure = refusal(paths, document(url, operation()))
    assert (failure.code, failure.was_sent) == ("unreachable", False)
    assert failure.facts["reason"] == "nothing listens there (connection refused)"
    failure = refusal(paths, document("https://name.invalid", operation()))
    assert (failure.code, failure.was_sent) == ("unreachable", False)


def test_requests_go_through_the_proxy_of_the_environment(
    paths: Paths, own: OwnApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", own.url)
    monkeypatch.setenv("HTTPS_PROXY", own.url)
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    called(paths, document("http://api.example.com", operation()))
    assert own.target == "http://api.example.com/x"
    own.respond = lambda *_: answer(status="403 Forbidden")
    failure = refusal(paths, document("https://api.example.com", operation()))
    assert (failure.code, failure.was_sent) == ("unreachable", False)
    assert own.last.startswith(b"CONNECT api.example.com:443 ")


def test_cancelling_closes_the_connection(paths: Paths, own: OwnApi) -> None:
    came, over = threading.Event(), threading.Event()

    def wait(_: bytes, connected: socket.socket) -> None:
        connected.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nbegin")
        came.set()
        if not connected.recv(1):
            over.set()

    own.respond = wait

    async def cancelled(connection: HttpApi) -> None:
        exchange, outcome = sent(connection, b"{}")
        await asyncio.to_thread(came.wait, 10)
        assert exchange.was_sent
        connection.cancel(exchange, {})
        assert await asyncio.to_thread(over.wait, 10)
        assert not outcome.answered.done()
        assert connection.pending == {}

    with_api(paths, document(own.url, operation()), cancelled)


def test_a_call_that_is_not_connected_yet_was_not_sent(paths: Paths) -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
        port = full.getsockname()[1]
        waiting = [socket.socket() for _ in range(4)]
        for each in waiting:
            each.setblocking(False)
            each.connect_ex(("127.0.0.1", port))

        async def cancelled(connection: HttpApi) -> None:
            exchange, _ = sent(connection, b"{}")
            await asyncio.wait(connection._tasks.values(), timeout=0.05)
            assert not exchange.was_sent
            connection.cancel(exchange, {})

        with_api(paths, document(f"http://127.0.0.1:{port}", operation()), cancelled)
        for each in waiting:
            each.close()


@for_each("headers", [{"Content-Length": "x"}, {"Transfer-Encoding": "gzip"}, {"Content-Length": "2, 3"}])
def test_a_request_that_is_no_http_was_not_sent(paths: Paths, own: OwnApi, headers: dict[str, str]) -> None:
    failure = refusal(paths, document(own.url, operation()), headers=headers)
    assert (failure.code, failure.was_sent, own.requests) == ("server_died", False, [])
    assert failure.facts["reason"] == "HTTP does not allow the request that would be sent"


def test_its_end_ends_the_calls_under_way(paths: Paths, own: OwnApi) -> None:
    came = threading.Event()

    def wait(_: bytes, connected: socket.socket) -> None:
        came.set()
        connected.recv(1)

    own.respond = wait

    async def ended(connection: HttpApi) -> None:
        _, outcome = sent(connection, b"{}")
        await asyncio.to_thread(came.wait, 10)
        await connection.stop()
        with pytest.raises(Failed) as raised:
            await outcome.answered
        assert (raised.value.failure.code, raised.value.failure.was_sent) == ("server_died", True)

    with_api(paths, document(own.url, operation()), ended)


def test_a_result_says_that_it_is_complete_in_the_newer_era(paths: Paths, own: OwnApi) -> None:
    async def call(connection: HttpApi) -> Any:
        await speaks_modern(connection, MODERN, is_remote=True)
        return await sent(connection, b"{}")[1].answered

    assert with_api(paths, document(own.url, operation()), call)["resultType"] == "complete"
    assert "resultType" not in called(paths, document(own.url, operation()))


def test_large_answers_and_bodies_and_those_with_files_are_made_beside_the_event_loop(
    paths: Paths, own: OwnApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    big = b'{"a":"%b"}' % (b"\xc3\xa4" * (1 << 20))
    own.respond = lambda request, _: answer(big if b"/big" in request else b"{}", Content_Type="application/json")
    aside: dict[str, list[bool]] = {"made": [], "result": []}

    def watched(module: Any, name: str) -> None:
        work = getattr(module, name)

        def watching(*given: Any, **named: Any) -> Any:
            aside[name].append(threading.current_thread() is not threading.main_thread())
            return work(*given, **named)

        monkeypatch.setattr(module, name, watching)

    watched(request, "made")
    watched(http_answer, "result")

    async def calls(connection: HttpApi) -> None:
        result = await sent(connection, b"{}", "big")[1].answered
        assert result["content"][0]["text"] == big.decode()
        await sent(connection, b'{"body":%b}' % big)[1].answered
        assert own.body == big
        await sent(connection, {"body": {"text": "t"}}, "file")[1].answered

    compiled = document(
        own.url, operation("GET", "/big", tool="big"), operation("POST", "/x", body=("application/json", "json")),
        operation("POST", "/y", body=("image/png", "binary"), tool="file"),
    )  # fmt: skip
    with_api(paths, compiled, calls)
    assert aside == {"made": [False, True, True], "result": [True, False, False]}
