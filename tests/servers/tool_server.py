"""A server like those of the demo, for tests: its tools may answer late or never, its list has pages and may change."""

import json
import os
import signal
import sys
from collections.abc import Callable, Mapping
from typing import Any

from mcpctl.demo.stdio_server import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    LEGACY_ONLY,
    META,
    METHOD_NOT_FOUND,
    MODERN_ONLY,
    MODERN_VERSION,
    PARSE_ERROR,
    Json,
    RpcError,
    ToolFailed,
    handshake_version,
    is_modern_request,
    text,
)  # fmt: skip


class Request:
    """One request of the client; answered once, at once or later, from any thread."""

    def __init__(self, server: "ToolServer", request_id: object, method: str, params: Json) -> None:
        self.server, self.id, self.method, self.params = server, request_id, method, params
        self.modern = False

    @property
    def arguments(self) -> Json:
        """The arguments of a `tools/call`, empty where there are none."""
        return self.params.get("arguments") or {}

    @property
    def meta(self) -> Json:
        """`params._meta`, empty where there is none."""
        meta = self.params.get("_meta")
        return meta if isinstance(meta, dict) else {}

    def answer(self, result: Mapping[str, Any]) -> None:
        """Send the result in the shape of the request's era."""
        body = dict(result)
        if self.modern:
            body.setdefault("resultType", "complete")
            body["_meta"] = {META + "serverInfo": self.server.info} | body.get("_meta", {})
        self.server.send({"jsonrpc": "2.0", "id": self.id, "result": body})

    def refuse(self, error: RpcError) -> None:
        """Send a JSON-RPC error."""
        self.server.send({"jsonrpc": "2.0", "id": self.id, "error": error.body})


Handler = Callable[[Request], Mapping[str, Any] | None]
"""Gives the result, or None when it answers by itself."""


class ToolServer:
    """What a server has to say: its tools, and how it describes itself."""

    def __init__(
        self, name: str, version: str = "1.0.0", *, instructions: str = "", page_size: int = 100, changes: bool = False
    ) -> None:
        self.info = {"name": name, "version": version}
        self.page_size = page_size
        self.tools: dict[str, tuple[Json, Handler]] = {}
        self.methods: dict[str, Handler] = {
            "initialize": self._initialize,
            "ping": lambda request: {},
            "server/discover": self._discover,
            "tools/list": self._list_tools,
            "tools/call": self._call_tool,
        }
        self.notifications: dict[str, Callable[[Json], None]] = {}
        self._about: Json = {"capabilities": {"tools": {"listChanged": changes}}}
        if instructions:
            self._about["instructions"] = instructions
        # A list that changes must not be kept by clients that do not listen for the change.
        self._caching = {"ttlMs": 0 if changes else 3_600_000, "cacheScope": "public"}
        self._initialized = False

    def tool(self, definition: Json) -> Callable[[Handler], Handler]:
        """Offer the decorated function as the tool that `definition` describes."""

        def add(handler: Handler) -> Handler:
            self.tools[definition["name"]] = (definition, handler)
            return handler

        return add

    def run(self) -> None:
        """Serve until the client closes stdin; a signal ends the process without a word."""
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        for line in sys.stdin.buffer:
            if line.strip():
                self.receive(line)

    def send(self, message: Mapping[str, Any]) -> None:
        """Send one message as one line."""
        self.send_line(json.dumps(message, separators=(",", ":")).encode())

    def send_line(self, line: bytes) -> None:
        """Send bytes as they are, as one line."""
        try:
            sys.stdout.buffer.write(line + b"\n")
            sys.stdout.buffer.flush()
        except BrokenPipeError:
            os._exit(0)  # The client is gone, and the interpreter would complain about unwritten bytes on its way out.

    def receive(self, line: bytes) -> None:
        """Take one line from the client, and answer it if it is a request."""
        try:
            message = json.loads(line)
        except (ValueError, RecursionError) as error:
            return Request(self, None, "", {}).refuse(RpcError(PARSE_ERROR, f"Parse error: {error}"))
        if not isinstance(message, dict):
            return Request(self, None, "", {}).refuse(RpcError(INVALID_REQUEST, "A message must be one JSON object"))
        method, params = message.get("method"), message.get("params") or {}
        if not isinstance(method, str):
            return None  # An answer, though this server asks nothing.
        if message.get("id") is not None:
            return self._serve(Request(self, message["id"], method, params))
        if method in self.notifications:
            self.notifications[method](params)
        return None

    def _serve(self, request: Request) -> None:
        try:
            if not isinstance(request.params, dict):
                raise RpcError(INVALID_PARAMS, "params must be an object")
            request.modern = is_modern_request(request.method, request.params, initialized=self._initialized)
            handler = self.methods.get(request.method)
            if handler is None or request.method in (LEGACY_ONLY if request.modern else MODERN_ONLY):
                raise RpcError(METHOD_NOT_FOUND, f"Method not found: {request.method}")
            result = handler(request)
        except RpcError as error:
            request.refuse(error)
        else:
            if result is not None:
                request.answer(result)

    def _initialize(self, request: Request) -> Json:
        self._initialized = True
        return {"protocolVersion": handshake_version(request.params), "serverInfo": self.info, **self._about}

    def _discover(self, request: Request) -> Json:
        return {"supportedVersions": [MODERN_VERSION], **self._about, **self._caching}

    def _list_tools(self, request: Request) -> Json:
        cursor = request.params.get("cursor") or "0"
        if not (isinstance(cursor, str) and cursor.isdecimal()):
            raise RpcError(INVALID_PARAMS, f"Unknown cursor: {cursor!r}")
        end = int(cursor) + self.page_size
        page: Json = {"tools": [definition for definition, _ in self.tools.values()][int(cursor) : end]}
        if end < len(self.tools):
            page["nextCursor"] = str(end)
        return page | (self._caching if request.modern else {})

    def _call_tool(self, request: Request) -> Mapping[str, Any] | None:
        name = request.params.get("name")
        if not isinstance(name, str) or name not in self.tools:
            raise RpcError(INVALID_PARAMS, f"Unknown tool: {name}")
        if not isinstance(request.arguments, dict):
            raise RpcError(INVALID_PARAMS, "arguments must be an object")
        try:
            return self.tools[name][1](request)
        except ToolFailed as failure:
            return {**text(str(failure)), "isError": True}
