"""How a configured server is reached, as a process or at its URL, and in which era; and why it could not be."""

import asyncio
import contextlib
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import Raw

from mcpctl.base import bounds, posix
from mcpctl.base.callers import LEGACY_REVISIONS, MODERN_REVISION, Caller
from mcpctl.base.failure import OF_LOGIN, Failed
from mcpctl.base.paths import Paths
from mcpctl.config import entry_secrets
from mcpctl.config.server_environment import CannotLaunch, Endpoint, Launch, endpoint, launch
from mcpctl.config.server_settings import OPENAPI, STDIO, Server
from mcpctl.upstreams.connection import Connection, OnGone, OnMessage, told
from mcpctl.upstreams.stdio import ServerProcesses, Stdio
from mcpctl.wire import jsonrpc
from mcpctl.wire.threads import apart
from mcpctl.wire.writer import Readers

if TYPE_CHECKING:
    from mcpctl.config.api_environment import Api
    from mcpctl.upstreams.http_api.connection import HttpApi
    from mcpctl.upstreams.remote import Remote

_PROBE_S = 2.0
_KNOWS_NOT = (400, 404, 405, 406, 415)  # HTTP statuses of a server that refuses what it does not know, not who asks
# Whatever else a server says of what it can do, odd types included, is not looked at.
_ANNOUNCES = re.compile(rb'"(?:tools|prompts|resources)"\s*:\s*\{[^{}]*"listChanged"\s*:\s*true')
OnStderr = Callable[[int, bytes], None]  # takes what a process has written to stderr; nothing, when it has ended


class Transports:
    """Opens connections to servers. A connection is `ready` later, and ends by its `stop`."""

    def __init__(self, paths: Paths) -> None:
        # It may hold tokens that no server gets, and servers run as the same user.
        posix.hide_environment()
        self._paths = paths
        self._processes = ServerProcesses()

    async def open(
        self, server: Server, on_message: OnMessage, on_gone: OnGone, on_stderr: OnStderr, readers: Readers
    ) -> Connection:
        """A connection to a server, read as long as `readers` may; raises OSError, `CannotLaunch` or `Failed`."""
        # Aside: what an entry takes its values from, a command or a file, may take its time.
        if server.kind == STDIO:
            started = await apart(_launch, server, self._paths.config)
            return Stdio(started, self._processes, readers, on_message, on_gone, on_stderr)
        if server.kind == OPENAPI:
            entry, secrets = await apart(_api, server, self._paths.config)
            kind_of_api = await apart(_http_api)
            return kind_of_api(server, entry, secrets, self._paths, readers, on_message, on_gone)
        where = await apart(_endpoint, server, self._paths.config)
        # The first one loads an HTTP client, which takes 0.1 s.
        kind = await apart(_remote, where.transport)
        from mcpctl.oauth.bearer import Bearer  # loaded by then

        return kind(server, where, readers, on_message, on_gone, Bearer.of(self._paths, where))

    def close(self) -> None:
        """Open nothing more, once every connection has ended."""
        self._processes.close()


def _launch(server: Server, config: Path) -> Launch:
    started = launch(server, config)
    given = {name: value for name, value in started.env.items() if os.environ.get(name) != value or name in server.env}
    entry_secrets.learn_of(server, env=given, args=started.argv)
    return started


def _endpoint(server: Server, config: Path) -> Endpoint:
    where = endpoint(server, config)
    secret = where.oauth.client_secret if where.oauth else ""
    entry_secrets.learn_of(server, headers=where.headers, url=where.url, client_secret=secret)
    return where


def _api(server: Server, config: Path) -> "tuple[Api, list[str]]":
    from mcpctl.config.api_environment import api

    entry = api(server, config)
    entry_secrets.learn_of(server, headers=entry.headers, url=entry.url)
    return entry, entry_secrets.learn_of_api(server, entry.secrets)


def _http_api() -> "type[HttpApi]":
    from mcpctl.upstreams.http_api.connection import HttpApi

    return HttpApi


def _remote(transport: str) -> "type[Remote]":
    from mcpctl.upstreams.http_transports import Sse, StreamableHttp

    return Sse if transport == "sse" else StreamableHttp


def why_not_started(error: Exception, start_timeout_s: float) -> tuple[str, str]:
    """Why a server could not be used, in words of ours, and what it or the system said of it."""
    if isinstance(error, Failed):
        facts = error.failure.facts
        return str(facts.get("reason") or facts.get("did", "")), error.failure.said
    if isinstance(error, TimeoutError):
        return f"no answer within {start_timeout_s:g} s", ""
    if isinstance(error, FileNotFoundError):
        return _no_command(str(error.filename)), ""
    if isinstance(error, PermissionError):
        name = str(error.filename)
        why = f"may not be executed: {name!r}; if it is a program: chmod +x"
        return f"its command {f'is a folder: {name!r}' if Path(name).is_dir() else why}", ""
    if isinstance(error, OSError):
        return f"{error.strerror or error}{f': {error.filename!r}' if error.filename else ''}", ""
    if isinstance(error, CannotLaunch):
        return f"{error.message}; {error.hint}", ""
    # An answer that is none, a NUL in an argument, an HTTP request that failed: their words are for those who wait.
    return "it cannot be started", f": {error}"


def _no_command(name: str) -> str:
    if os.sep not in name:
        if " " in name.strip():
            return f"no such command: {name!r}; write its first word as command and the rest as args"
        return f"no such command on the PATH: {name!r}; install it, or write its absolute path"
    if Path(name).exists():
        return f"the interpreter in the #! line of {name!r} does not exist"
    return f"there is no file {name!r}"


# ---- the protocol era


class _Discovered(msgspec.Struct):
    supportedVersions: list[str] = []
    capabilities: Raw = jsonrpc.ABSENT
    instructions: Raw = jsonrpc.ABSENT


async def speaks_modern(connection: Connection, caller: Caller, *, is_remote: bool) -> bool | None:
    """Whether the server speaks 2026-07-28; None when that could not be found out."""
    connection.modern = True
    connection.caller = caller
    connection.declared = connection.usable(told(caller, modern=True))
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
    connection.declared = connection.usable(told(caller, modern=False))
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
    capabilities = answer.get("capabilities", b"")
    connection.offers = _offers(capabilities)
    connection.logs = b'"logging"' in capabilities
    for name in ("tasks", "requests", "tools", "call"):
        capabilities = jsonrpc.members_or_empty(capabilities).get(name, b"")
    connection.runs_tasks = capabilities.startswith(b"{")
    connection.notify("notifications/initialized", {})


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
