"""Streamable HTTP on one side, a server on stdio on the other, for a suite that speaks HTTP only.

    python -m tests.conformance.bridge [--behind NAME [--direct | --listed TOOL...]] [--trace FILE] -- COMMAND WORD...

Prints its URL once it listens. A client of the initialize handshake has a session and a process of its own; requests
of 2026-07-28 share one process. Request ids and progress tokens are this bridge's own towards a process, so that its
clients cannot disturb each other.

With `--behind NAME` the process is `mcpctl serve`: `tools/call X` becomes its `tool_execute` of `NAME:X`, and after its
own two tools `tools/list` shows each TOOL as its `tool_discovery` gives it. With `--direct` the process is `mcpctl
serve --direct all`, whose tool `NAME__X` is X here. The prompt `NAME_X` is X here.

What is HTTP's own is answered here, the same for both: sessions, status codes, Host and Origin, a version header
that contradicts the body.
"""

import argparse
import asyncio
import contextlib
import json
import sys
import uuid
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from tests.servers.web import without_delay

Message = dict[str, Any]

MODERN = "2026-07-28"
META = "io.modelcontextprotocol/"
OWN_TOOLS = ("tool_discovery", "tool_execute")
HEADER_MISMATCH = -32020
STATUS = {-32601: 404, -32602: 400, HEADER_MISMATCH: 400, -32021: 400, -32022: 400}
"""Of errors, in 2026-07-28; others are 200."""
LOCAL = ("localhost", "127.0.0.1", "::1")


@dataclass(eq=False)
class Exchange:
    """One request that a process has not answered yet: all that it says of it, and last the answer."""

    request: Message
    said: asyncio.Queue[Message] = field(default_factory=asyncio.Queue)

    @property
    def streams(self) -> bool:
        """Whether nothing but what it asked for belongs on its stream."""
        return bool(self.request["method"] == "subscriptions/listen")


class Process:
    """A server on stdio."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.unasked: asyncio.Queue[Message] = asyncio.Queue()
        """What belongs to no request: it goes to the stream that a client opens with GET."""
        self._command: Sequence[str] = options.command
        self._behind: str | None = options.behind
        self._direct: bool = options.direct
        self._listed: Sequence[str] = options.listed
        self._trace: Path | None = options.trace
        self._open: dict[int, Exchange] = {}
        self._last = 0

    async def start(self) -> "Process":
        """Start it."""
        pipe = asyncio.subprocess.PIPE
        self._process = await asyncio.create_subprocess_exec(*self._command, stdin=pipe, stdout=pipe, limit=1 << 26)
        self._reading = asyncio.create_task(self._read())
        return self

    async def stop(self) -> None:
        """Close its stdin, as a client does, and wait for its end."""
        assert self._process.stdin
        self._process.stdin.close()
        try:
            await asyncio.wait_for(self._process.wait(), 5)
        except TimeoutError:
            self._process.kill()
        self._reading.cancel()

    def ask(self, request: Message) -> Exchange:
        """Send a request under an id of ours."""
        self._last += 1
        exchange = self._open[self._last] = Exchange(request)
        params = dict(request.get("params") or {})
        if "progressToken" in params.get("_meta", {}):
            params["_meta"] = {**params["_meta"], "progressToken": self._last}
        if self._direct and request["method"] == "tools/call":
            params |= {"name": f"{self._behind}__{params.get('name')}"}
        elif self._behind and request["method"] == "tools/call" and params.get("name") not in OWN_TOOLS:
            key = f"{self._behind}:{params.get('name')}"
            given = {"arguments": params["arguments"]} if "arguments" in params else {}
            params |= {"name": "tool_execute", "arguments": {"toolKey": key, **given}}
        if self._behind and request["method"] == "prompts/get":
            params |= {"name": f"{self._behind}_{params.get('name')}"}
        if self._behind and params.get("ref", {}).get("type") == "ref/prompt":
            params |= {"ref": {**params["ref"], "name": f"{self._behind}_{params['ref'].get('name')}"}}
        sent = {**request, "id": self._last}
        self.write({**sent, "params": params} if "params" in request else sent)
        return exchange

    async def list_behind(self, request: Message, answer: Message) -> None:
        """Add to the answer of `tools/list` what is behind mcpctl, as a search for it shows it."""
        if not self._listed or "result" not in answer:
            return
        query = [f"{self._behind}:{name}" for name in self._listed]
        params = {"name": "tool_discovery", "arguments": {"query": query, "maxResults": 50, "detail": "full"}}
        meta = {"_meta": request["params"]["_meta"]} if "_meta" in request.get("params", {}) else {}
        search = {"jsonrpc": "2.0", "id": 0, "method": "tools/call", "params": params | meta}
        found = await self.ask(search).said.get()
        for hit in found["result"]["structuredContent"]["results"]:
            shown = {name: hit[name] for name in ("description", "inputSchema")}
            answer["result"]["tools"].append({"name": hit["toolName"], **shown})

    def rename(self, answer: Message) -> None:
        """Show the prompts and tools of a list by the names that they have on their server."""
        for kind, separator in (("prompts", "_"), ("tools", "__")) if self._behind else ():
            for shown in answer.get("result", {}).get(kind, []):
                shown["name"] = shown["name"].removeprefix(f"{self._behind}{separator}")

    def tell(self, message: Message) -> None:
        """Send a notification, or the answer to a request of the server's."""
        params = message.get("params") or {}
        if message.get("method") == "notifications/cancelled":
            ids = [own for own, exchange in self._open.items() if exchange.request["id"] == params.get("requestId")]
            message = {**message, "params": {**params, "requestId": ids[0] if ids else 0}}
        self.write(message)

    def forget(self, exchange: Exchange) -> None:
        """The client has gone: so is its request, which is how 2026-07-28 cancels."""
        for own, other in list(self._open.items()):
            if other is exchange:
                del self._open[own]
                self.write(
                    {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": own}},
                )

    def write(self, message: Message) -> None:
        """Send one message."""
        assert self._process.stdin
        line = json.dumps(message)
        self._note(">", line)
        with contextlib.suppress(ConnectionError):
            self._process.stdin.write(line.encode() + b"\n")

    async def _read(self) -> None:
        assert self._process.stdout
        async for line in self._process.stdout:
            self._note("<", line.decode().rstrip())
            self._heard(json.loads(line))
        for exchange in self._open.values():
            gone = {"code": -32000, "message": "the server ended"}
            exchange.said.put_nowait({"jsonrpc": "2.0", "id": exchange.request["id"], "error": gone})

    def _heard(self, message: Message) -> None:
        if "method" not in message:
            if exchange := self._open.pop(message.get("id", 0), None):
                exchange.said.put_nowait({**message, "id": exchange.request["id"]})
            return
        params = message.get("params") or {}
        subscription = params.get("_meta", {}).get(META + "subscriptionId")
        if "progressToken" in params:
            exchange = self._open.get(params["progressToken"])
            if exchange:
                token = exchange.request["params"]["_meta"]["progressToken"]
                exchange.said.put_nowait({**message, "params": {**params, "progressToken": token}})
        elif subscription is not None:
            exchange = self._open.get(subscription)
            if exchange:
                meta = {**params["_meta"], META + "subscriptionId": exchange.request["id"]}
                exchange.said.put_nowait({**message, "params": {**params, "_meta": meta}})
        else:
            # stdio does not say which request it belongs to; the suite has one under way at a time.
            latest = next((exchange for exchange in reversed(self._open.values()) if not exchange.streams), None)
            (latest.said if latest else self.unasked).put_nowait(message)

    def _note(self, direction: str, line: str) -> None:
        if self._trace:
            with self._trace.open("a", encoding="utf-8") as file:
                file.write(f"{id(self) % 9973:04} {direction} {line}\n")


class Bridge:
    """The HTTP endpoint."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self._sessions: dict[str, Process] = {}
        self._shared: Process | None = None
        self._starting = asyncio.Lock()

    async def answer(self, request: Request) -> Response:
        """Answer one HTTP request."""
        places = [f"//{request.headers.get('host', '')}", request.headers.get("origin", "//localhost")]
        if any(urlsplit(place).hostname not in LOCAL for place in places):
            return JSONResponse({"error": "not a local Host or Origin"}, 403)
        version = request.headers.get("mcp-protocol-version")
        if request.method == "POST":
            message = await request.json()
            if not isinstance(message, dict):
                return _error(None, -32600, "One message at a time", 400)
            if version == MODERN:
                return await self._modern(message, version)
            if message.get("method") == "initialize":
                return await self._initialize(message)
            if _named_version(message):
                return await self._modern(message, version)
        process = self._sessions.get(request.headers.get("mcp-session-id", ""))
        if process is None:
            return _error(None, -32600, "No such session", 404 if "mcp-session-id" in request.headers else 400)
        if request.method == "GET":
            return _stream(_unasked(process))
        if request.method == "DELETE":
            await self._sessions.pop(request.headers["mcp-session-id"]).stop()
            return Response(status_code=204)
        return await _answered(process, message, modern=False)

    async def _modern(self, message: Message, version: str | None) -> Response:
        named = _named_version(message)
        if "id" in message and named and version != named:
            return _error(message["id"], HEADER_MISMATCH, f"The header says {version}, the body {named}", 400)
        async with self._starting:
            if self._shared is None:
                # A server may take the first request's era for that of its whole life.
                meta = {META + "protocolVersion": MODERN, META + "clientCapabilities": {}}
                first = {"jsonrpc": "2.0", "id": 0, "method": "server/discover", "params": {"_meta": meta}}
                self._shared = await Process(self._options).start()
                await self._shared.ask(first).said.get()
        return await _answered(self._shared, message, modern=True)

    async def _initialize(self, message: Message) -> Response:
        process = await Process(self._options).start()
        session = uuid.uuid4().hex
        self._sessions[session] = process
        response = await _answered(process, message, modern=False)
        response.headers["mcp-session-id"] = session
        return response

    @contextlib.asynccontextmanager
    async def lifespan(self, app: Starlette) -> AsyncIterator[None]:
        """End every process at last."""
        yield
        everyone = [*self._sessions.values(), *([self._shared] if self._shared else [])]
        await asyncio.gather(*(process.stop() for process in everyone))


def _named_version(message: Message) -> str | None:
    meta = (message.get("params") or {}).get("_meta") or {}
    version = meta.get(META + "protocolVersion")
    return version if isinstance(version, str) else None


async def _answered(process: Process, message: Message, *, modern: bool) -> Response:
    """Pass a message on. An answer that comes at once is JSON with a status, any other a stream of events."""
    if "method" not in message or "id" not in message:
        process.tell(message)
        return Response(status_code=202)
    exchange = process.ask(message)
    first = await exchange.said.get()
    if "method" in first:
        return _stream(_told(process, exchange, first))
    if message["method"] == "tools/list":
        await process.list_behind(message, first)
    if message["method"] in ("tools/list", "prompts/list"):
        process.rename(first)
    return JSONResponse(first, STATUS.get(first.get("error", {}).get("code"), 200) if modern else 200)


async def _told(process: Process, exchange: Exchange, message: Message) -> AsyncIterator[str]:
    try:
        while "method" in message:
            yield _event(message)
            message = await exchange.said.get()
        yield _event(message)
    finally:
        process.forget(exchange)


async def _unasked(process: Process) -> AsyncIterator[str]:
    while True:
        yield _event(await process.unasked.get())


def _event(message: Message) -> str:
    return f"event: message\ndata: {json.dumps(message)}\n\n"


def _stream(events: AsyncIterator[str]) -> Response:
    return StreamingResponse(events, media_type="text/event-stream", headers={"cache-control": "no-cache"})


def _error(id_: Any, code: int, message: str, status: int) -> Response:
    return JSONResponse({"jsonrpc": "2.0", "id": id_, "error": {"code": code, "message": message}}, status)


async def serve(bridge: Bridge) -> None:
    """Listen on a free port until a signal."""
    listening = without_delay()
    app = Starlette(routes=[Route("/mcp", bridge.answer, methods=["GET", "POST", "DELETE"])], lifespan=bridge.lifespan)
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1))
    print(f"http://127.0.0.1:{listening.getsockname()[1]}/mcp", flush=True)
    await server.serve(sockets=[listening])


async def main(arguments: Sequence[str]) -> None:
    """Listen before the command that is given."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--behind", metavar="NAME", help="the command is mcpctl serve, the server has this name there")
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument("--direct", action="store_true", help="the command shows all tools directly")
    shown.add_argument("--listed", metavar="TOOL", action="append", default=[], help="show it in tools/list too")
    parser.add_argument("--trace", metavar="FILE", type=Path, help="write every line to and from the processes here")
    parser.add_argument("command", nargs="+")
    options = parser.parse_args(arguments)
    await serve(Bridge(options))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
