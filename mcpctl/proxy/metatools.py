"""The two tools that a client sees in place of all others, and what it is told when it connects.

These texts are read by models: each says what the tool is for, what is behind it, and shows an example.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from mcpctl import __version__
from mcpctl.proxy import jsonrpc

DISCOVERY = "tool_discovery"
EXECUTE = "tool_execute"
SERVER_INFO = msgspec.json.encode({"name": "mcpctl", "title": "mcpctl", "version": __version__})

_CAPABILITIES: dict[str, Any] = {"logging": {}, "tools": {"listChanged": False}}
_MAX_NAMES = 600


def named(servers: Sequence[str]) -> str:
    """The server names in one bounded phrase."""
    if not servers:
        return "none yet (the user can add one with: mcpctl servers add NAME -- COMMAND)"
    shown: list[str] = []
    for name in servers:
        if sum(map(len, shown)) + len(name) > _MAX_NAMES:
            return f"{', '.join(shown)} and {len(servers) - len(shown)} more"
        shown.append(name)
    return ", ".join(shown)


def tools(servers: Sequence[str]) -> list[dict[str, Any]]:
    """The definitions of `tool_discovery` and `tool_execute`, in this order."""
    return [_discovery(named(servers)), _execute(named(servers))]


def instructions(servers: Sequence[str]) -> str:
    """What a client is told about this server."""
    if not servers:
        return f"No MCP server is behind this one {named(servers).removeprefix('none ')}."
    return (
        f"All tools of these MCP servers are behind two tools: {named(servers)}. Find a tool with {DISCOVERY}, by what"
        f" it should do and for which product, then call it with {EXECUTE} and its toolKey."
    )


def answers(servers: Sequence[str]) -> dict[tuple[str, bool], bytes]:
    """The results that never change while `serve` runs, by method and by whether the client's era is the modern one."""
    listed = {"tools": tools(servers)}
    modern = {"resultType": "complete", "_meta": {jsonrpc.SERVER_INFO_KEY: msgspec.Raw(SERVER_INFO)}}
    cached = {"ttlMs": 3_600_000, "cacheScope": "private"}
    discovered = {
        "supportedVersions": [jsonrpc.MODERN_REVISION],
        "capabilities": _CAPABILITIES,
        "instructions": instructions(servers),
    }
    encode = msgspec.json.encode
    return {
        ("tools/list", False): encode(listed),
        ("tools/list", True): encode(listed | cached | modern),
        ("server/discover", True): encode(discovered | cached | modern),
        ("ping", False): b"{}",
    }


def initialized(revision: str, servers: Sequence[str]) -> bytes:
    """The answer to `initialize`."""
    return msgspec.json.encode(
        {
            "protocolVersion": revision,
            "capabilities": _CAPABILITIES,
            "serverInfo": msgspec.Raw(SERVER_INFO),
            "instructions": instructions(servers),
        }
    )


def _discovery(servers: str) -> dict[str, Any]:
    return {
        "name": DISCOVERY,
        "title": "Find tools",
        "description": (
            f"Find the right tool among all tools of the connected MCP servers: {servers}. Search here before you"
            " conclude that something cannot be done. Say what the tool should do, plus the product or domain; several"
            " short queries are better than one long one. Each result has the tool's key, its parameters (* marks"
            f" required ones) and what it does; call it with {EXECUTE} and that toolKey."
            ' Example: {"query": ["create an issue in github", "add a label to an issue"]}'
        ),
        "inputSchema": {
            "type": "object",
            "properties": {
                "query": {
                    "type": "array",
                    "items": {"type": "string"},
                    "minItems": 1,
                    "description": "What the tool should do, in a few words; or a toolKey, for its full schema.",
                },
                "context": {"type": "string", "description": "What you are working on, if that helps to choose."},
                "maxResults": {"type": "integer", "minimum": 1, "maximum": 50, "default": 10},
                "detail": {
                    "type": "string",
                    "enum": ["auto", "names", "full"],
                    "default": "auto",
                    "description": "names: keys only; full: whole schemas, whatever their size.",
                },
            },
            "required": ["query"],
        },
        "outputSchema": {
            "type": "object",
            "properties": {
                "results": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {
                            "toolKey": {"type": "string"},
                            "toolName": {"type": "string"},
                            "serverName": {"type": "string"},
                            "title": {"type": "string"},
                            "description": {"type": "string"},
                            "relevance": {"type": "number", "minimum": 0, "maximum": 1},
                            "explanation": {"type": "string"},
                            "signature": {"type": "string"},
                            "inputSchema": {"type": "object"},
                            "outputSchema": {"type": "object"},
                            "annotations": {"type": "object"},
                        },
                        "required": ["toolKey", "relevance"],
                    },
                },
                "notice": {"type": "string"},
            },
            "required": ["results"],
        },
        "annotations": {
            "title": "Find tools",
            "readOnlyHint": True,
            "destructiveHint": False,
            "idempotentHint": True,
            "openWorldHint": False,
        },
    }


def _execute(servers: str) -> dict[str, Any]:
    return {
        "name": EXECUTE,
        "title": "Call a tool",
        "description": (
            f"Call a tool of one of the connected MCP servers ({servers}) by its toolKey, server:tool, as"
            f" {DISCOVERY} gives it. Its result comes back unchanged. If you do not know the tool's parameters, look it"
            f" up with {DISCOVERY} first."
            ' Example: {"toolKey": "github:create_issue", "arguments": {"owner": "o", "repo": "app", "title": "Bug"}}'
        ),
        "inputSchema": {
            "type": "object",
            "properties": {
                "toolKey": {"type": "string", "description": "server:tool"},
                "arguments": {"type": "object", "description": "The tool's own parameters."},
            },
            "required": ["toolKey"],
        },
        "annotations": {
            "title": "Call a tool",
            "readOnlyHint": False,
            "destructiveHint": True,
            "idempotentHint": False,
            "openWorldHint": True,
        },
    }
