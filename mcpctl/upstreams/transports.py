"""How a configured server is reached: as a process of ours, or at its URL; and why it could not be."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from mcpctl.base import posix
from mcpctl.base.failure import Failed
from mcpctl.base.paths import Paths
from mcpctl.config import entry_secrets
from mcpctl.config.command_values import CannotLaunch
from mcpctl.config.server_environment import Endpoint, Launch, endpoint, launch
from mcpctl.config.server_settings import STDIO, Server
from mcpctl.upstreams.connection import Connection
from mcpctl.upstreams.stdio import ServerProcesses, Stdio
from mcpctl.wire import jsonrpc
from mcpctl.wire.threads import apart
from mcpctl.wire.writer import Turn

if TYPE_CHECKING:
    from mcpctl.upstreams.remote import Remote

OnMessage = Callable[[Connection, jsonrpc.Message], None]
OnGone = Callable[[Connection], None]
OnStderr = Callable[[int, bytes], None]
"""Takes what a process has written to stderr; nothing, when it has ended."""


class Transports(Protocol):
    """Opens connections to servers. A connection is `ready` later, and ends by its `stop`."""

    async def open(self, server: Server, on_message: OnMessage, on_gone: OnGone, on_stderr: OnStderr) -> Connection:
        """A connection to a server; raises OSError, `CannotLaunch` or `Failed`."""

    def close(self) -> None:
        """Open nothing more, once every connection has ended."""


class RealTransports:
    def __init__(self, paths: Paths, turn: Turn) -> None:
        # It may hold tokens that no server gets, and servers run as the same user.
        posix.hide_environment()
        self._paths = paths
        self._turn = turn
        self._processes = ServerProcesses()

    async def open(self, server: Server, on_message: OnMessage, on_gone: OnGone, on_stderr: OnStderr) -> Connection:
        # Aside: what an entry takes its values from, a command or a file, may take its time.
        if server.kind == STDIO:
            started = await apart(_launch, server, self._paths.config)
            return Stdio(started, self._processes, self._turn, on_message, on_gone, on_stderr)
        where = await apart(_endpoint, server, self._paths.config)
        # The first one loads an HTTP client, which takes 0.1 s.
        kind = await apart(_remote, where.transport)
        from mcpctl.oauth.bearer import Bearer  # loaded by then

        return kind(server, where, self._turn, on_message, on_gone, Bearer.of(self._paths, where))

    def close(self) -> None:
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
