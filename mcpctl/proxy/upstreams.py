"""The upstream servers: each started when first needed, kept warm, started again by the next call after it died."""

import asyncio
import importlib
import math
import os
import re
import sys
import time
from collections.abc import Coroutine, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import msgspec
from msgspec import Raw

from mcpctl import posix
from mcpctl.config import Server
from mcpctl.errors import warn
from mcpctl.launching import CannotLaunch, endpoint, launch
from mcpctl.proxy import jsonrpc
from mcpctl.proxy.connection import Caller, Connection, Exchange, NoAnswer, askable
from mcpctl.proxy.listing import Listing
from mcpctl.proxy.pipes import Turn
from mcpctl.proxy.server_processes import ServerProcesses
from mcpctl.proxy.stdio import Stdio

_PROBE_S = 2.0
_MAX_BACKOFF_S = 60.0
_LONGEST_SAID = 500
_KNOWS_NOT = re.compile(r"HTTP 4(00|04|05|06|15)\b")
# Whatever else a server says of what it can do, odd types included, is not looked at.
_ANNOUNCES = re.compile(rb'"tools"\s*:\s*\{[^{}]*"listChanged"\s*:\s*true')


class Events(Protocol):
    """What an upstream tells."""

    def listed(self, upstream: "Upstream", definitions: list[bytes]) -> Coroutine[Any, Any, None]:
        """It has listed its tools, each definition as JSON."""

    def message(self, upstream: "Upstream", connection: Connection, message: jsonrpc.Message) -> None:
        """It has sent a request or notification that is not about listing or progress."""

    @property
    def log_level(self) -> bytes:
        """What the client wants servers to log, in JSON; empty while it has not said."""

    def gone(self, connection: Connection) -> None:
        """A connection has ended."""

    def known_era(self, upstream: "Upstream") -> bool | None:
        """Whether it is known to speak 2026-07-28; None when it was never asked."""

    def era_found(self, upstream: "Upstream", modern: bool) -> None:
        """`server/discover` has shown what it speaks."""


class _Discovered(msgspec.Struct):
    """What is used of the answer to `server/discover`."""

    supportedVersions: list[str] = []
    capabilities: Raw = jsonrpc.ABSENT


class DidNotStart(Exception):
    """Why a server cannot be used now."""


class Upstream:
    """One configured server, started or not."""

    def __init__(
        self,
        name: str,
        server: Server,
        config_path: Path,
        processes: ServerProcesses,
        turn: Turn,
        events: Events,
        *,
        verbose: bool = False,
    ) -> None:
        self.name = name
        self.server = server
        self.down_since: float | None = None
        self.last_failure = ""
        self.start_s = 0.0
        self._config_path = config_path
        self._processes = processes
        self._turn = turn
        self._events = events
        self._verbose = verbose
        self._connection: Connection | None = None
        self._live: set[Connection] = set()
        self._queue: list[Exchange] = []
        self._starting: asyncio.Task[None] | None = None
        self._listing = Listing(name, server.start_timeout_s, self._is_current, partial(events.listed, self))
        self._failures = 0
        self._not_before = 0.0

    @property
    def connection(self) -> Connection | None:
        """The connection that answers now, if there is one."""
        return self._connection

    def _is_current(self, connection: Connection) -> bool:
        return connection is self._connection

    def send(self, exchange: Exchange) -> None:
        """Forward a request, starting the server first where that is needed. Sent once, whatever happens."""
        self.watch(exchange)
        if self._connection:
            exchange.on_not_taken = self._not_taken
            self._connection.send(exchange)
        else:
            self._enqueue(exchange)

    def watch(self, exchange: Exchange) -> None:
        """Bound the time that a request may take from now."""
        if timeout := self.server.call_timeout_s:
            exchange.timer = asyncio.get_running_loop().call_later(timeout, self._timed_out, exchange)

    def _enqueue(self, exchange: Exchange) -> None:
        self._queue.append(exchange)
        self._start(exchange.caller)

    def _not_taken(self, exchange: Exchange) -> None:
        """A server that had gone, or has forgotten us, is connected anew; twice would be a circle."""
        exchange.on_not_taken = None
        self._enqueue(exchange)

    def cancel(self, exchange: Exchange, params: dict[str, bytes]) -> None:
        """Take a request back."""
        if exchange.timer:
            exchange.timer.cancel()
        if exchange in self._queue:
            self._queue.remove(exchange)
        elif self._connection:
            self._connection.cancel(exchange, params)

    async def connected(self, caller: Caller) -> Connection:
        """Its connection, started if needed; raises `DidNotStart`."""
        if self._connection is None:
            self._start(caller)
            if self._starting:
                await asyncio.shield(self._starting)
        if self._connection is None:
            raise DidNotStart(self._why_down())
        return self._connection

    async def refresh(self, caller: Caller) -> None:
        """List its tools now, once for all who ask meanwhile; raises `DidNotStart` or `NoAnswer`."""
        begun = self._listing.begun
        await self._listing.complete(await self.connected(caller), caller, begun)

    async def stop(self) -> None:
        """End every process it has started."""
        if self._starting:
            self._starting.cancel()
        await asyncio.gather(*map(self._stop, list(self._live)))

    async def _stop(self, connection: Connection) -> None:
        await connection.stop()
        if isinstance(connection, Stdio):
            self._tell_left(connection.detached, "it has detached itself")
            self._tell_left(connection.unended, "it cannot be ended")

    def _tell_left(self, processes: Mapping[int, str], why: str) -> None:
        for pid, name in processes.items():
            if posix.is_running(pid):
                warn(f"server '{self.name}' leaves process {pid} ({name}) running: {why}")

    def _start(self, caller: Caller) -> None:
        if self._starting is not None:
            return
        if time.monotonic() < self._not_before:
            self._fail_queue(self._why_down())
            return
        self._starting = asyncio.create_task(self._started(caller), name=f"start {self.name}")

    async def _started(self, caller: Caller) -> None:
        began = time.monotonic()
        try:
            async with asyncio.timeout(self.server.start_timeout_s or None):
                connection = await self._connect(caller)
            self.start_s = time.monotonic() - began
            self._connected(connection, caller)
        except TimeoutError:
            self._did_not_start(f"no answer within {self.server.start_timeout_s:g} s" + self._heard())
        except FileNotFoundError as error:
            self._did_not_start(_no_command(str(error.filename)))
        except PermissionError as error:
            self._did_not_start(_no_program(str(error.filename)))
        except OSError as error:
            what = f": {error.filename!r}" if error.filename else ""
            self._did_not_start(f"{error.strerror or error}{what}")
        except CannotLaunch as error:
            self._did_not_start(f"{error.message}; {error.hint}")
        except Exception as error:
            # An answer that is none, a NUL in an argument: whatever it is, those who wait are told.
            self._did_not_start(str(error))
        finally:
            self._starting = None

    def _connected(self, connection: Connection, caller: Caller) -> None:
        if connection.hung_up:
            raise NoAnswer(f"it ended ({connection.how_it_ended()})")
        self._connection = connection
        if level := self._events.log_level:
            connection.set_log_level(level, caller)
        self._failures = 0
        self.down_since = None
        queue, self._queue = self._queue, []
        for exchange in queue:
            try:
                connection.send(exchange)
            except Exception as error:
                exchange.failed("cannot_send", f"this request cannot be sent: {error}")
        if connection.announces:
            self._listing.listen(connection, caller)
        self._listing.begin(connection, caller)

    def _heard(self) -> str:
        said = next((c.last_words for c in self._live if c.last_words), "")
        return f"; its last words: {said}" if said else ""

    def _did_not_start(self, why: str) -> None:
        for connection in self._live:
            asyncio.create_task(self._stop(connection))  # noqa: RUF006 - it ends by itself, and stop() waits for it
        # The first try again is free; a server that keeps failing is asked less and less often.
        self._failures += 1
        delay = 0.0 if self._failures == 1 else min(2.0 ** (self._failures - 2), _MAX_BACKOFF_S)
        self._not_before = time.monotonic() + delay
        self.down_since = self.down_since or time.time()
        self.last_failure = f"server '{self.name}' {'cannot be used' if self.server.url else 'did not start'}: {why}"
        self._fail_queue(self._why_down())

    def _why_down(self) -> str:
        wait = math.ceil(self._not_before - time.monotonic())
        return f"{self.last_failure}; it is tried again in {wait} s" if wait > 0 else self.last_failure

    def _fail_queue(self, why: str) -> None:
        queue, self._queue = self._queue, []
        for exchange in queue:
            exchange.failed("server_did_not_start", why)

    async def _connect(self, caller: Caller) -> Connection:
        if caller.modern and self._events.known_era(self) is not False:
            connection = await self._open()
            modern = await self._probe(connection, caller)
            if modern is not None:
                self._events.era_found(self, modern)
            if modern:
                return connection
            # What an old server makes of an unknown first request is anyone's guess: a fresh one is not.
            await connection.stop()
        connection = await self._open()
        await self._handshake(connection, caller)
        return connection

    async def _open(self) -> Connection:
        if not self.server.url:
            connection: Connection = self._spawn()
            self._live.add(connection)
            return connection
        where = endpoint(self.server, self._config_path)
        await asyncio.to_thread(importlib.import_module, "mcpctl.proxy.remote")
        from mcpctl.proxy.remote import TRANSPORTS

        remote = TRANSPORTS[where.transport](self.server, where, on_message=self._message, on_gone=self._gone)
        self._live.add(remote)
        await remote.ready()
        return remote

    def _spawn(self) -> Stdio:
        return Stdio(
            launch(self.server, self._config_path),
            self._processes,
            self._turn,
            on_message=self._message,
            on_gone=self._gone,
            on_stderr=self._stderr if self._verbose else lambda _: None,
        )

    async def _probe(self, connection: Connection, caller: Caller) -> bool | None:
        """Whether it speaks 2026-07-28; None when that could not be found out."""
        connection.modern = True
        try:
            async with asyncio.timeout(_PROBE_S):
                result = await connection.ask("server/discover", {}, caller)
            answer = msgspec.json.decode(result, type=_Discovered)
        except NoAnswer as error:
            # Only what the server itself says tells what it speaks: not a network, and not one who guards it.
            return False if error.error or not self.server.url or _KNOWS_NOT.match(str(error)) else None
        except (TimeoutError, msgspec.MsgspecError):
            return None if self.server.url else False
        connection.revision = jsonrpc.MODERN_REVISION
        connection.announces = _ANNOUNCES.search(bytes(answer.capabilities)) is not None
        return jsonrpc.MODERN_REVISION in answer.supportedVersions

    async def _handshake(self, connection: Connection, caller: Caller) -> None:
        connection.modern = False
        revision = jsonrpc.LEGACY_REVISIONS[-1] if caller.modern else caller.revision
        params = {
            "protocolVersion": msgspec.json.encode(revision),
            "capabilities": askable(caller) if caller.modern else caller.capabilities,
            "clientInfo": caller.info or b'{"name":"mcpctl","version":"0"}',
        }
        try:
            result = await connection.ask("initialize", params, caller)
        except NoAnswer as error:
            if jsonrpc.MODERN_REVISION.encode() in error.error:
                # It speaks only the newer revision, and says so; no probe is needed to know.
                connection.modern = True
                connection.revision = jsonrpc.MODERN_REVISION
                return
            raise
        answer = jsonrpc.members(result)
        connection.server_info = answer.get("serverInfo", b"")
        version = answer.get("protocolVersion", b'""')
        connection.revision = version.strip(b'"').decode("utf-8", "replace")
        connection.logs = b'"logging"' in answer.get("capabilities", b"")
        connection.notify("notifications/initialized", {})

    def _message(self, connection: Connection, message: jsonrpc.Message) -> None:
        if message.method == "notifications/progress":
            self._progress(connection, message.params)
        elif message.method == "notifications/tools/list_changed" and self._is_current(connection):
            self._listing.begin(connection, None)
        elif message.method == "ping" and jsonrpc.is_id(message.id):
            connection.write(jsonrpc.result(bytes(message.id), b"{}"))
        else:
            self._events.message(self, connection, message)

    def _progress(self, connection: Connection, raw: Raw) -> None:
        params = jsonrpc.members_or_empty(raw)
        token = params.get("progressToken", b"").strip(b'"')
        exchange = connection.pending.get(int(token)) if token.isdigit() and len(token) < 20 else None
        if exchange and exchange.on_progress:
            exchange.on_progress(params)

    def _gone(self, connection: Connection) -> None:
        self._events.gone(connection)
        if connection.is_over:
            self._live.discard(connection)
        if self._is_current(connection):
            self._connection = None
            self.down_since = time.time()
            lost = f"was lost ({connection.how_it_ended()})" if self.server.url else "ended"
            self.last_failure = f"server '{self.name}' {lost}"

    def _stderr(self, data: bytes) -> None:
        for line in data.decode("utf-8", "replace").splitlines():
            said = "".join(c if c.isprintable() else "?" for c in line[:_LONGEST_SAID])
            print(f"[{self.name}] {said}", file=sys.stderr)  # noqa: T201

    def _timed_out(self, exchange: Exchange) -> None:
        self.cancel(exchange, {"reason": b'"timed out"'})
        seconds = self.server.call_timeout_s
        exchange.failed("timed_out", f"no answer within {seconds:g} s (call_timeout_s)")


def _no_command(name: str) -> str:
    if os.sep not in name:
        if " " in name.strip():
            return f"no such command: {name!r}; write its first word as command and the rest as args"
        return f"no such command on the PATH: {name!r}; install it, or write its absolute path"
    if Path(name).exists():
        return f"what its first line names to run it is not there: {name!r}"
    return f"there is no file {name!r}"


def _no_program(name: str) -> str:
    if Path(name).is_dir():
        return f"its command is a folder: {name!r}"
    return f"its command may not be executed: {name!r}; if it is a program: chmod +x"
