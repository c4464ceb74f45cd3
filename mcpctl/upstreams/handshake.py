"""Which protocol era a server speaks, found out once it is connected: probed by name, or agreed on by `initialize`."""

import asyncio
import contextlib
import re

import msgspec
from msgspec import Raw

from mcpctl.base import bounds
from mcpctl.base.callers import LEGACY_REVISIONS, MODERN_REVISION, Caller
from mcpctl.base.failure import OF_LOGIN, Failed
from mcpctl.upstreams.connection import Connection, askable
from mcpctl.wire import jsonrpc

_PROBE_S = 2.0
_KNOWS_NOT = (400, 404, 405, 406, 415)
"""HTTP statuses with which a server refuses what it does not know, and not who asks."""
# Whatever else a server says of what it can do, odd types included, is not looked at.
_ANNOUNCES = re.compile(rb'"(?:tools|prompts|resources)"\s*:\s*\{[^{}]*"listChanged"\s*:\s*true')


class _Discovered(msgspec.Struct):
    supportedVersions: list[str] = []
    capabilities: Raw = jsonrpc.ABSENT
    instructions: Raw = jsonrpc.ABSENT


async def speaks_modern(connection: Connection, caller: Caller, *, is_remote: bool) -> bool | None:
    """Whether the server speaks 2026-07-28; None when that could not be found out."""
    connection.modern = True
    connection.caller = caller
    connection.declared = connection.usable(caller.capabilities if caller.modern else askable(caller))
    try:
        async with asyncio.timeout(_PROBE_S):
            result = await connection.ask("server/discover", {}, caller)
        answer = jsonrpc.value(result, _Discovered)
    except Failed as error:
        if error.failure.code in OF_LOGIN:
            raise
        # Only what the server itself says tells what it speaks: not a network, and not one who guards it.
        is_its_own = error.error or not is_remote or error.failure.facts.get("http_status") in _KNOWS_NOT
        return False if is_its_own else None
    except (TimeoutError, jsonrpc.Malformed):
        return None if is_remote else False
    _discovered(connection, answer)
    return MODERN_REVISION in answer.supportedVersions


def _discovered(connection: Connection, answer: _Discovered) -> None:
    connection.revision = MODERN_REVISION
    connection.instructions = _text(bytes(answer.instructions))
    connection.announces = _ANNOUNCES.search(bytes(answer.capabilities)) is not None
    connection.offers = _offers(bytes(answer.capabilities))


async def initialize(connection: Connection, caller: Caller) -> None:
    """Shake hands with an older server, in the client's own revision; raises `Failed`."""
    connection.modern = False
    connection.caller = caller
    connection.declared = connection.usable(askable(caller) if caller.modern else caller.capabilities)
    revision = LEGACY_REVISIONS[-1] if caller.modern else caller.revision
    params = {
        "protocolVersion": msgspec.json.encode(revision),
        "capabilities": connection.declared,
        "clientInfo": caller.info or b'{"name":"mcpctl","version":"0"}',
    }
    try:
        result = await connection.ask("initialize", params, caller)
    except Failed as error:
        if MODERN_REVISION.encode() in error.error:
            # It speaks only the newer revision, and says so; what it has, it says only when it is asked.
            connection.modern = True
            connection.revision = MODERN_REVISION
            with contextlib.suppress(Failed, jsonrpc.Malformed):
                _discovered(connection, jsonrpc.value(await connection.ask("server/discover", {}, caller), _Discovered))
            return
        raise
    answer = jsonrpc.members(result)
    connection.server_info = answer.get("serverInfo", b"")
    version = answer.get("protocolVersion", b'""')
    connection.revision = version.strip(b'"').decode("utf-8", "replace")
    connection.instructions = _text(answer.get("instructions", b""))
    connection.runs_tasks = _runs_tasks(answer.get("capabilities", b""))
    connection.offers = _offers(answer.get("capabilities", b""))
    connection.logs = b'"logging"' in answer.get("capabilities", b"")
    connection.notify("notifications/initialized", {})


def _runs_tasks(capabilities: bytes) -> bool:
    for name in ("tasks", "requests", "tools", "call"):
        capabilities = jsonrpc.members_or_empty(capabilities).get(name, b"")
    return capabilities.startswith(b"{")


def _offers(capabilities: bytes) -> frozenset[str]:
    declared = jsonrpc.members_or_empty(capabilities).items()
    offered = {name: value for name, value in declared if value.startswith(b"{") or value == b"true"}
    parts = {f"{name}.{part}" for name, value in offered.items()
             for part, is_so in jsonrpc.members_or_empty(value).items() if is_so == b"true"}  # fmt: skip
    return frozenset(offered) | parts


def _text(value: bytes) -> str:
    """A JSON text of a server's, cut; whatever is none counts as an empty one."""
    try:
        return jsonrpc.value(value or b'""', str)[: bounds.INSTRUCTIONS]
    except jsonrpc.Malformed:
        return ""
