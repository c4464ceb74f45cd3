"""The end of a connection over HTTP: it leaves no socket behind."""

import asyncio
import socket
from unittest import mock

from mcpctl.base.callers import Caller
from mcpctl.config.server_environment import Endpoint
from mcpctl.config.server_settings import Server
from mcpctl.upstreams import remote
from mcpctl.upstreams.http_transports import StreamableHttp
from mcpctl.wire.writer import Turn


def connected(url: str) -> StreamableHttp:
    return StreamableHttp(Server(url=url), Endpoint(url, "http", {}), Turn().readers, lambda *_: None, lambda _: None)


def test_what_is_to_be_sent_once_it_has_ended_opens_none() -> None:
    async def ended() -> None:
        url = "http://127.0.0.1:1/mcp"
        connection = connected(url)
        await connection.ready()
        await connection.stop()
        connection.notify("notifications/cancelled", {"requestId": b"1"})
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(ended())


def test_a_start_that_is_cancelled_while_tls_begins_leaves_none() -> None:
    async def cancelled() -> None:
        with socket.create_server(("127.0.0.1", 0)) as silent:
            silent.setblocking(False)
            loop = asyncio.get_running_loop()
            connection = connected(f"https://127.0.0.1:{silent.getsockname()[1]}/mcp")
            asking = asyncio.create_task(connection.ask("initialize", {}, Caller("2025-06-18")))
            accepted, _ = await loop.sock_accept(silent)
            with accepted:
                await loop.sock_recv(accepted, 1)  # the client is connected, and waits for the server's hello
                asking.cancel()
                await connection.stop()
                async with asyncio.timeout(5):
                    while await loop.sock_recv(accepted, 1 << 16):
                        pass

    asyncio.run(cancelled())


def test_all_who_end_it_wait_for_the_one_end() -> None:
    async def ended() -> None:
        connection = connected("http://127.0.0.1:1/mcp")
        await connection.ready()
        closing, closed = asyncio.Event(), asyncio.Event()

        async def close() -> None:
            assert not closing.is_set()
            closing.set()
            await closed.wait()
            ends.append("closed")

        ends: list[str] = []
        with mock.patch.object(connection, "_close", close), mock.patch.object(remote, "_CLOSE_S", 60):
            first = asyncio.create_task(connection.stop())
            await closing.wait()
            first.cancel()  # as a start that has taken too long
            second = asyncio.create_task(connection.stop())
            await asyncio.wait([first])
            assert not connection.is_over
            closed.set()
            await second
        assert connection.is_over
        assert ends == ["closed"]

    asyncio.run(ended())
