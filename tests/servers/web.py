"""Servers at URLs, most made with the MCP SDK, in one process, which prints its address: see `template`.

`/http/mcp` and `/sse/mcp` speak the two transports; `/json/mcp` answers without event streams; `/legacy/mcp` has never
heard of 2026-07-28; `/token/mcp` wants `secret` as a bearer; `/raw` answers what no SDK would, and `/raw_sse` the same
in the older transport; the rest is not found.
"""

import argparse
import contextlib
import json
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Sequence
from typing import Any

import anyio
import mcp_types as types
import uvicorn
from anyio.streams.memory import MemoryObjectSendStream
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.sse import SseServerTransport
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged
from mcp.shared.exceptions import MCPError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

REGION = {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}
SCHEME = "web://"
ODD = '{"content":[{"type":"odd","n":123456789012345678901234567890,"f":1.50,"x":null}],"x-vendor":{"a":[]}}'
RAW = (
    "odd",
    "busy",
    "page",
    "rubbish",
    "gzip",
    "error",
    "not_found",
    "about_a_session",
    "no_id",
    "other_id",
    "sent",
    "slow",
    "odd_round",
)


class Web:
    """One server of the SDK's, with its own tools and its own memory."""

    def __init__(self) -> None:
        self.names = ["echo", "region", "progress", "wait", "was_cancelled", "grow", "crash"]
        self.bus = InMemorySubscriptionBus()
        self.cancelled = anyio.Condition()
        self.taken_back: list[str] = []
        self.server: Server[Any] = Server(
            "web",
            version="1",
            on_list_tools=self.list_tools,
            on_call_tool=self.call_tool,
            on_list_prompts=self.list_prompts,
            on_get_prompt=self.get_prompt,
            on_list_resources=self.list_resources,
            on_read_resource=self.read_resource,
            on_completion=self.complete,
            on_subscriptions_listen=ListenHandler(self.bus),
            get_tool_input_schema=lambda name: REGION if name == "region" else None,
        )

    async def list_tools(self, ctx: Any, params: Any) -> types.ListToolsResult:
        """Every tool."""
        schema: dict[str, Any] = {"type": "object"}
        tools = [types.Tool(name=name, input_schema=REGION if name == "region" else schema) for name in self.names]
        return types.ListToolsResult(tools=tools)

    async def call_tool(self, ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        """What each tool does."""
        said: dict[str, Any] = {"arguments": params.arguments or {}, "revision": ctx.protocol_version}
        if does := getattr(self, params.name, None):
            said["did"] = await does(ctx)
        block = types.TextContent(type="text", text=params.name)
        return types.CallToolResult(content=[block], structured_content=said)

    async def list_prompts(self, ctx: Any, params: Any) -> types.ListPromptsResult:
        """One with a name that no header carries as it is."""
        return types.ListPromptsResult(prompts=[types.Prompt(name="grüße")])

    async def get_prompt(self, ctx: Any, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        """Its arguments."""
        block = types.TextContent(type="text", text=json.dumps(params.arguments))
        return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=block)])

    async def list_resources(self, ctx: Any, params: Any) -> types.ListResourcesResult:
        """Two of a scheme of this server's alone."""
        return types.ListResourcesResult(resources=[types.Resource(uri=f"{SCHEME}{n}", name=n) for n in "aé"])

    async def read_resource(self, ctx: Any, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        """The URI, or that there is none."""
        if params.uri.endswith("none"):
            code = types.INVALID_PARAMS if ctx.protocol_version > "2026" else -32002
            raise MCPError(code, "no such resource")
        return types.ReadResourceResult(contents=[types.TextResourceContents(uri=params.uri, text="read")])

    async def complete(self, ctx: Any, params: types.CompleteRequestParams) -> types.CompleteResult:
        """What is completed."""
        ref = params.ref
        name = ref.name if isinstance(ref, types.PromptReference) else ref.uri
        return types.CompleteResult(completion=types.Completion(values=[name]))

    async def progress(self, ctx: Any) -> None:
        """Two steps."""
        for step in (1, 2):
            await ctx.session.report_progress(step, 2, f"step {step}")

    async def wait(self, ctx: Any) -> None:
        """Until it is taken back; its name is then known."""
        await ctx.session.report_progress(1, 2, "waiting")
        try:
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                async with self.cancelled:
                    self.taken_back.append(ctx.params["arguments"].get("name", ""))
                    self.cancelled.notify_all()

    async def was_cancelled(self, ctx: Any) -> None:
        """Until a `wait` of that name was."""
        async with self.cancelled:
            while ctx.params["arguments"]["name"] not in self.taken_back:
                await self.cancelled.wait()

    async def grow(self, ctx: Any) -> str:
        """One tool more, told in both eras; its name."""
        self.names.append(f"grown_{len(self.names)}")
        if ctx.protocol_version < "2026":
            await ctx.session.send_tool_list_changed()
        await self.bus.publish(ToolsListChanged())
        return self.names[-1]

    async def crash(self, ctx: Any) -> None:
        """The end of the process, in the middle of a call."""
        os._exit(3)

    def sse(self) -> Starlette:
        """The older transport: one stream out, posts in."""
        transport = SseServerTransport("/messages/")

        async def connect(request: Request) -> Response:
            async with transport.connect_sse(request.scope, request.receive, request._send) as (incoming, outgoing):
                options = self.server.create_initialization_options(NotificationOptions(tools_changed=True))
                await self.server.run(incoming, outgoing, options)
            return Response()

        return Starlette(routes=[Route("/mcp", connect), Mount("/messages/", transport.handle_post_message)])


class Gate:
    """What stands before a server: it wants a token, or knows only older revisions."""

    def __init__(self, app: ASGIApp, *, token: str = "", legacy: bool = False) -> None:
        self.app, self.token, self.legacy = app, token, legacy

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer in its place, or let it."""
        answer: Response | None = None
        headers = Request(scope).headers
        if self.token and headers.get("authorization") != f"Bearer {self.token}":
            challenge = {"www-authenticate": 'Bearer error_description="a token is wanted"'}
            answer = JSONResponse({"error": "invalid_token"}, 401, challenge)
        elif self.legacy and headers.get("mcp-protocol-version", "") > "2026":
            answer = PlainTextResponse("Bad Request: unsupported protocol version", 400)
        await (answer or self.app)(scope, receive, send)


REFUSED = {"error": (400, "no"), "not_found": (404, "no"), "about_a_session": (400, "no such chat session: 42")}


async def called(name: str, id_: str, body: bytes) -> Response:
    """What `tools/call` of /raw answers, by the tool's name."""
    if name == "busy":
        return PlainTextResponse("try later, api_key=abc123", 503)
    if name == "page":
        return Response("<html>nothing here</html>", media_type="text/html")
    if name == "rubbish":
        return Response("{", media_type="application/json")
    if name == "gzip":
        return Response("{}", media_type="application/json", headers={"content-encoding": "gzip"})
    if name in REFUSED:
        status, said = REFUSED[name]
        error = f'{{"jsonrpc":"2.0","id":{id_},"error":{{"code":-32050,"message":"{said}","data":{{"a":[1.0]}}}}}}'
        return Response(error, status, media_type="application/json")
    result = ODD
    if name == "sent":
        result = json.dumps({"content": [{"type": "text", "text": body.decode()}]})
    if name == "odd_round":
        result = '{"resultType":"input_required","inputRequests":[1]}'
    if name == "slow":
        await anyio.sleep(0.2)
    id_ = {"no_id": "null", "other_id": '"x"'}.get(name, id_)
    return Response(f'{{"jsonrpc":"2.0","id":{id_},"result":{result}}}', media_type="application/json")


async def raw(request: Request) -> Response:
    """Answers that no SDK would give, as the name of the tool wants them."""
    message = await request.json()
    id_ = json.dumps(message.get("id"))
    result = "{}"
    if message["method"] == "initialize":
        result = (
            '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"raw","version":"1"}}'
        )
    elif message["method"] == "tools/list":
        result = json.dumps({"tools": [{"name": name} for name in RAW]})
    elif message["method"] == "tools/call":
        return await called(message["params"]["name"], id_, await request.body())
    elif message["method"] == "server/discover":
        return PlainTextResponse("what?", 400)
    return Response(f'{{"jsonrpc":"2.0","id":{id_},"result":{result}}}', media_type="application/json")


class RawSse:
    """What /raw answers, in streams."""

    def __init__(self) -> None:
        self.streams: list[MemoryObjectSendStream[bytes]] = []

    async def open(self, request: Request) -> Response:
        """One more stream."""
        stream, told = anyio.create_memory_object_stream[bytes](100)
        self.streams.append(stream)
        place = b"/raw_sse?stream=%d" % (len(self.streams) - 1)

        async def events() -> AsyncIterator[bytes]:
            yield b"event: endpoint\ndata: %b\n\n" % place
            async for body in told:
                yield b"event: message\ndata: %b\n\n" % body

        return StreamingResponse(events(), media_type="text/event-stream")

    async def post(self, request: Request) -> Response:
        """A message, whose answer goes to its stream."""
        response = await raw(request)
        if "id" in await request.json():
            await self.streams[int(request.query_params["stream"])].send(bytes(response.body))
        return Response(status_code=202)


def without_delay(port: int = 0) -> socket.socket:
    """A socket to listen on, each of whose answers is sent at once: asyncio sees to that where it sees that it is TCP.

    `socket.create_server` does not say so, and each answer takes 40 ms.
    """
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.bind(("127.0.0.1", port))
    listening.listen()  # from now on, since its address is told before anything is served
    return listening


def main(arguments: Sequence[str]) -> None:
    """Print the address, and serve."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--cert")
    given = parser.parse_args(arguments)
    inner = {
        "http": Web().server.streamable_http_app(),
        "json": Web().server.streamable_http_app(json_response=True),
        "legacy": Web().server.streamable_http_app(),
        "token": Web().server.streamable_http_app(),
    }

    @contextlib.asynccontextmanager
    async def life(_: Starlette) -> AsyncIterator[None]:
        async with contextlib.AsyncExitStack() as stack:
            for app in inner.values():
                await stack.enter_async_context(app.router.lifespan_context(app))
            yield

    gates: dict[str, ASGIApp] = {
        **inner, "legacy": Gate(inner["legacy"], legacy=True), "token": Gate(inner["token"], token="secret"),
        "sse": Web().sse(),
    }  # fmt: skip
    moved = [
        Route("/moved", lambda _: RedirectResponse("/raw", 307), methods=["POST"]),
        Route("/gone", lambda _: RedirectResponse("http://elsewhere.invalid/mcp?token=x", 308), methods=["POST"]),
    ]
    raw_sse = RawSse()
    odd = [
        Route("/raw", raw, methods=["POST"]),
        Route("/raw_sse", raw_sse.open, methods=["GET"]),
        Route("/raw_sse", raw_sse.post, methods=["POST"]),
    ]
    routes = [*odd, *moved, *(Mount(f"/{name}", app) for name, app in gates.items())]
    listening = without_delay(given.port)
    print(f"{'https' if given.cert else 'http'}://127.0.0.1:{listening.getsockname()[1]}", flush=True)
    config = uvicorn.Config(
        Starlette(routes=routes, lifespan=life), log_level="critical", ssl_certfile=given.cert,
        timeout_graceful_shutdown=0,
    )  # fmt: skip
    uvicorn.Server(config).run(sockets=[listening])


def template() -> None:
    """Become a server with the arguments that a line of stdin has, once for each; `null` ends the last one.

    To import what all of them need takes longer than what most of them do.
    """
    begun: list[int] = []
    for line in sys.stdin:
        arguments = json.loads(line)
        if arguments is None:
            end(begun.pop())
            print("ended", flush=True)
        elif pid := os.fork():
            begun.append(pid)
        else:
            try:
                main(arguments)
            finally:
                os._exit(1)
    for pid in begun:
        end(pid)


def end(pid: int) -> None:
    """Kill it, if it has not ended; its port is free then."""
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


if __name__ == "__main__":
    template()
