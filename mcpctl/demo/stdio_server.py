"""An MCP server over stdin and stdout for both protocol eras, on the standard library alone.

The era is decided per request: one that carries the 2026 envelope in `params._meta` is modern, any other belongs to
the `initialize` before it. So one process serves both, and starts in the time that Python needs."""

import json
import os
import signal
import sys
from collections.abc import Callable, Mapping
from typing import Any

Json = dict[str, Any]
Tool = Callable[[Json], Json]  # takes checked arguments, and returns structured content

HANDSHAKE_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN_VERSION = "2026-07-28"
PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS = -32700, -32600, -32601, -32602
UNSUPPORTED_VERSION = -32022
META = "io.modelcontextprotocol/"
LEGACY_ONLY = frozenset({"initialize", "ping"})
MODERN_ONLY = frozenset({"server/discover", "subscriptions/listen"})
_CACHING = {"ttlMs": 3_600_000, "cacheScope": "public"}
_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,), "integer": (int,), "number": (int, float), "boolean": (bool,), "array": (list,),
}  # fmt: skip


class RpcError(Exception):
    """A request that cannot be served: answered as a JSON-RPC error."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(message)
        self.body: Json = {"code": code, "message": message} | ({} if data is None else {"data": data})


class ToolFailed(Exception):
    """A failure of a tool: answered as a result that a model can read and act on."""


class ToolServer:
    """A server with some tools."""

    def __init__(self, name: str, instructions: str) -> None:
        self.tools: dict[str, tuple[Json, Tool]] = {}
        self._info = {"name": name, "version": "1.0.0"}
        self._about: Json = {"capabilities": {"tools": {"listChanged": False}}, "instructions": instructions}
        self._initialized = False
        self._methods: dict[str, Callable[[Json], Json]] = {
            "initialize": self._initialize,
            "ping": lambda _: {},
            "server/discover": lambda _: {"supportedVersions": [MODERN_VERSION], **self._about, **_CACHING},
            "tools/list": lambda _: {"tools": [definition for definition, _ in self.tools.values()]},
            "tools/call": self._call_tool,
        }

    def tool(self, definition: Json) -> Callable[[Tool], Tool]:
        def add(tool: Tool) -> Tool:
            self.tools[definition["name"]] = (definition, tool)
            return tool

        return add

    def run(self) -> None:
        """Serve until the client closes stdin; a signal ends the process without a word."""
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        for line in sys.stdin.buffer:
            if line.strip() and (reply := self.reply(line)):
                try:
                    text = json.dumps({"jsonrpc": "2.0", **reply}, separators=(",", ":"))
                    sys.stdout.buffer.write(f"{text}\n".encode())
                    sys.stdout.buffer.flush()
                except BrokenPipeError:
                    os._exit(0)  # The client is gone, and Python would complain about unwritten bytes at its end.

    def reply(self, line: bytes) -> Json | None:
        """The answer to a line; notifications, and answers, though this server asks nothing, have none."""
        try:
            message = json.loads(line)
        except (ValueError, RecursionError) as error:
            return {"id": None, "error": RpcError(PARSE_ERROR, f"Parse error: {error}").body}
        if not isinstance(message, dict):
            return {"id": None, "error": RpcError(INVALID_REQUEST, "A message must be one JSON object").body}
        method, id_ = message.get("method"), message.get("id")
        if not isinstance(method, str) or id_ is None:
            return None
        try:
            return {"id": id_, "result": self._result(method, message.get("params") or {})}
        except RpcError as error:
            return {"id": id_, "error": error.body}

    def _result(self, method: str, params: Json) -> Json:
        if not isinstance(params, dict):
            raise RpcError(INVALID_PARAMS, "params must be an object")
        is_modern = is_modern_request(method, params, initialized=self._initialized)
        if method not in self._methods or method in (LEGACY_ONLY if is_modern else MODERN_ONLY):
            raise RpcError(METHOD_NOT_FOUND, f"Method not found: {method}")
        result = self._methods[method](params)
        if not is_modern:
            return result
        caching = _CACHING if method == "tools/list" else {}
        return {**result, **caching, "resultType": "complete", "_meta": {META + "serverInfo": self._info}}

    def _initialize(self, params: Json) -> Json:
        self._initialized = True
        return {"protocolVersion": handshake_version(params), "serverInfo": self._info, **self._about}

    def _call_tool(self, params: Json) -> Json:
        name, arguments = params.get("name"), params.get("arguments") or {}
        if not isinstance(name, str) or name not in self.tools:
            raise RpcError(INVALID_PARAMS, f"Unknown tool: {name}")
        if not isinstance(arguments, dict):
            raise RpcError(INVALID_PARAMS, "arguments must be an object")
        definition, tool = self.tools[name]
        try:
            value = tool(checked(definition["inputSchema"], arguments))
        except ToolFailed as failure:
            return {**text(str(failure)), "isError": True}
        return {**text(json.dumps(value, ensure_ascii=False)), "structuredContent": value}


def is_modern_request(method: str, params: Json, *, initialized: bool) -> bool:
    """Whether a request is of the newer era; raises `RpcError` for one that is of none."""
    meta = params.get("_meta")
    meta = meta if isinstance(meta, dict) else {}
    version = meta.get(META + "protocolVersion")
    if version is None:
        if initialized or method in LEGACY_ONLY:
            return False
        raise RpcError(INVALID_PARAMS, f"Send initialize first, or params._meta with {META}protocolVersion")
    if version != MODERN_VERSION:
        versions = {"supported": [MODERN_VERSION], "requested": version}
        raise RpcError(UNSUPPORTED_VERSION, "Unsupported protocol version", versions)
    if not isinstance(meta.get(META + "clientCapabilities"), dict):
        raise RpcError(INVALID_PARAMS, f"params._meta lacks {META}clientCapabilities")
    return True


def handshake_version(params: Json) -> str:
    """The version that a client of the older era gets: its own, or the newest that it may know."""
    version = params.get("protocolVersion")
    return version if version in HANDSHAKE_VERSIONS else HANDSHAKE_VERSIONS[-1]


def rule(type_: str, description: str, **more: Any) -> Json:
    """The schema of an argument, or of a member of a result."""
    return {"type": type_, "description": description, **more}


def schema(properties: Json, *required: str) -> Json:
    return {"type": "object", "properties": properties} | ({"required": list(required)} if required else {})


def text(words: str) -> Json:
    return {"content": [{"type": "text", "text": words}]}


def checked(input_schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> Json:
    """The arguments, with defaults filled in; `ToolFailed` names everything that is wrong with them."""
    properties: Mapping[str, Any] = input_schema["properties"]
    problems = [f"{name} is required" for name in input_schema.get("required", ()) if name not in arguments]
    for name, value in arguments.items():
        if name not in properties:
            problems.append(f"there is no argument {name!r}, only {', '.join(properties)}")
        elif unmet := _unmet(properties[name], value):
            problems.append(f"{name} must be {unmet}")
    if problems:
        raise ToolFailed("; ".join(problems))
    return {name: rule["default"] for name, rule in properties.items() if "default" in rule} | dict(arguments)


def _unmet(rule: Mapping[str, Any], value: Any) -> str:
    kind = rule["type"]
    # To Python true is an integer; to JSON it is not.
    fits = isinstance(value, _TYPES[kind]) and (kind == "boolean" or not isinstance(value, bool))
    if not fits:
        return f"{'an' if kind[0] in 'aio' else 'a'} {kind}"
    if "enum" in rule and value not in rule["enum"]:
        return f"one of {', '.join(rule['enum'])}"
    if kind == "string" and len(value.strip()) < rule.get("minLength", 0):
        return "not empty"
    if kind == "array":
        unmet = next(filter(None, (_unmet(rule["items"], item) for item in value)), "")
        return f"an array in which each item is {unmet}" if unmet else ""
    if "minimum" in rule and not value >= rule["minimum"]:
        return f"at least {rule['minimum']}"
    if "maximum" in rule and not value <= rule["maximum"]:
        return f"at most {rule['maximum']}"
    return ""
