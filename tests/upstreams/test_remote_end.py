"""The end of a connection over HTTP: it leaves no socket behind."""

import asyncio

from mcpctl.config.server_environment import Endpoint
from mcpctl.config.server_settings import Server
from mcpctl.upstreams.streamable_http import StreamableHttp
from mcpctl.wire.writer import Turn


def test_what_is_to_be_sent_once_it_has_ended_opens_none() -> None:
    async def ended() -> None:
        url = "http://127.0.0.1:1/mcp"
        connection = StreamableHttp(Server(url=url), Endpoint(url, "http", {}), Turn(), lambda *_: None, lambda _: None)
        await connection.ready()
        await connection.stop()
        connection.notify("notifications/cancelled", {"requestId": b"1"})
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(ended())
