"""A plain proxy as the MCP SDK suggests it: `sdk_proxy.py '{"name": ["command", "argument"]}' [PORT]`

One tool, `tool_execute`, on the low-level server; each upstream behind the SDK's client, all connected in the
background at once, which is the fastest way to start that the SDK offers. With a port it serves HTTP, and all its
sessions share the upstreams. It keeps no records.
"""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import mcp_types as types
from mcp import Client, StdioServerParameters
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

Upstreams = dict[str, "asyncio.Future[Client]"]

TOOL = types.Tool(
    name="tool_execute",
    description="Call a tool by its key, server:tool.",
    input_schema={
        "type": "object",
        "properties": {"toolKey": {"type": "string"}, "arguments": {"type": "object"}},
        "required": ["toolKey"],
    },
)


async def hold(command: list[str], connected: "asyncio.Future[Client]") -> None:
    """Keep one upstream connected until cancelled."""
    parameters = StdioServerParameters(command=command[0], args=command[1:], env=dict(os.environ))
    async with Client(parameters) as client:
        await client.list_tools()  # Without it the client lists the tools again after each call.
        connected.set_result(client)
        await anyio.sleep_forever()


@asynccontextmanager
async def connect(server: Server[Upstreams]) -> AsyncIterator[Upstreams]:
    """Connections to all upstreams, as promises."""
    commands: dict[str, list[str]] = json.loads(sys.argv[1])
    upstreams: Upstreams = {name: asyncio.get_running_loop().create_future() for name in commands}
    async with anyio.create_task_group() as tasks:
        for name, command in commands.items():
            tasks.start_soon(hold, command, upstreams[name])
        yield upstreams
        tasks.cancel_scope.cancel()


async def list_tools(
    context: ServerRequestContext[Upstreams], params: types.PaginatedRequestParams | None
) -> types.ListToolsResult:
    """The one tool."""
    return types.ListToolsResult(tools=[TOOL])


async def call_tool(
    context: ServerRequestContext[Upstreams], params: types.CallToolRequestParams
) -> types.CallToolResult:
    """Forward a call to the upstream that its key names."""
    arguments = params.arguments or {}
    name, _, tool = arguments["toolKey"].partition(":")
    client = await context.lifespan_context[name]
    return await client.call_tool(tool, arguments.get("arguments"))


async def serve_http(port: int) -> None:
    """Serve until a signal."""
    import uvicorn

    connected = Server[Upstreams]("sdk-proxy", version="1")
    async with connect(connected) as upstreams:

        @asynccontextmanager
        async def shared(server: Server[Upstreams]) -> AsyncIterator[Upstreams]:
            yield upstreams

        server = Server("sdk-proxy", version="1", lifespan=shared, on_list_tools=list_tools, on_call_tool=call_tool)
        app = server.streamable_http_app(json_response=True)
        await uvicorn.Server(uvicorn.Config(app, port=port, log_level="critical")).serve()


async def main() -> None:
    """Serve until stdin is closed."""
    if len(sys.argv) > 2:
        await serve_http(int(sys.argv[2]))
        return
    server = Server("sdk-proxy", version="1", lifespan=connect, on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


if __name__ == "__main__":
    anyio.run(main)
