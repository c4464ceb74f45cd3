"""The upstream servers: each started when first needed, kept warm, started again by the next call after it died."""

import asyncio
import math
import os
import re
import sys
import time
from collections.abc import Coroutine, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import msgspec
from msgspec import Raw

from mcpctl import bounds, posix
from mcpctl.config import Server
from mcpctl.errors import warn
from mcpctl.proxy import jsonrpc
from mcpctl.proxy.connection import Caller, Connection, Exchange, Failure, NoAnswer, askable
from mcpctl.proxy.listing import Listing
from mcpctl.proxy.server_processes import ServerProcesses
from mcpctl.proxy.stdio import Stdio
from mcpctl.proxy.turn import Turn
from mcpctl.server_environment import CannotLaunch, endpoint, launch
from mcpctl.store.redact import mask

if TYPE_CHECKING:
    from mcpctl.proxy.remote import Remote

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

    def failed(self, upstream: "Upstream", failure: str | None) -> None:
        """Why it has failed just now; None when it works."""

    async def known_era(self, upstream: "Upstream") -> bool | None:
        """Whether it is known to speak 2026-07-28; None when it was never asked."""

    def era_found(self, upstream: "Upstream", modern: bool) -> None:
        """`server/discover` has shown what it speaks."""


class _Discovered(msgspec.Struct):
    """What is used of the answer to `server/discover`."""

    supportedVersions: list[str] = []
    capabilities: Raw = jsonrpc.ABSENT


class DidNotStart(NoAnswer):
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
        self.last_failure = Failure("server_did_not_start", "")
        self.start_s = 0.0
        self._config_path = config_path
        self._processes = processes
        self._turn = turn
        self._events = events
        self._verbose = verbose
        self._connection: Connection | None = None
        self._live: set[Connection] = set()
        self._opened: list[Connection] = []
        """The connections that were made to start it this time."""
        self._queue: list[Exchange] = []
        self._starting: asyncio.Task[None] | None = None
        self._listing = Listing(name, server.start_timeout_s, self._is_current, partial(events.listed, self))
        self._failures = 0
        self._not_before = 0.0
        self._is_ending = False

    @property
    def connection(self) -> Connection | None:
        """The connection that answers now, if there is one."""
        return self._connection

    def _is_current(self, connection: Connection) -> bool:
        return connection is self._connection

    def send(self, exchange: Exchange) -> None:
        """Forward a request, starting the server first where that is needed. Sent once, whatever happens."""
        self.watch(exchange)
        if self._connection is None:
            self._enqueue(exchange)
        elif self._connection.is_full:
            unread = f"it has left {bounds.MESSAGE >> 20} MB of what it was sent unread; this was not sent"
            exchange.failed(Failure("server_busy", unread))
        else:
            exchange.on_not_taken = self._not_taken
            self._connection.send(exchange)

    def watch(self, exchange: Exchange) -> None:
        """Bound the time that a request may take from now."""
        if timeout := self.server.call_timeout_s:
            exchange.timer = asyncio.get_running_loop().call_later(timeout, self._timed_out, exchange)

    def _enqueue(self, exchange: Exchange) -> None:
        self._queue.append(exchange)
        self._start(exchange.caller)

    def _not_taken(self, exchange: Exchange) -> None:
        """A server that had gone, or has forgotten us, is connected anew; twice would be a circle."""
        exchange.on_not_taken = exchange.connection = None
        self._enqueue(exchange)

    def cancel(self, exchange: Exchange, params: dict[str, bytes]) -> None:
        """Take a request back."""
        if exchange.timer:
            exchange.timer.cancel()
        if exchange in self._queue:
            self._queue.remove(exchange)
        elif exchange.connection:
            exchange.connection.cancel(exchange, params)

    async def connected(self, caller: Caller) -> Connection:
        """Its connection, started if needed; raises `DidNotStart`."""
        if self._connection is None:
            self._start(caller)
            if self._starting:
                await asyncio.shield(self._starting)
        if self._connection is None:
            raise DidNotStart(self._why_down())
        return self._connection

    async def refresh(self, caller: Caller, wait_s: float | None = None) -> None:
        """List its tools now, once for all who ask meanwhile; raises `DidNotStart` or `NoAnswer`.

        Once it is connected, its list is waited for as long as `wait_s`: then raises `TimeoutError`.
        """
        begun = self._listing.begun
        connection = await self.connected(caller)
        async with asyncio.timeout(wait_s):
            await self._listing.complete(connection, caller, begun)

    async def stop(self) -> None:
        """End every process it has started."""
        self._is_ending = True
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
            self._did_not_start(f"no answer within {self.server.start_timeout_s:g} s", self._heard())
        except FileNotFoundError as error:
            self._did_not_start(_no_command(str(error.filename)))
        except PermissionError as error:
            self._did_not_start(_no_program(str(error.filename)))
        except OSError as error:
            what = f": {error.filename!r}" if error.filename else ""
            self._did_not_start(f"{error.strerror or error}{what}")
        except CannotLaunch as error:
            self._did_not_start(f"{error.message}; {error.hint}")
        except NoAnswer as error:
            self._did_not_start(error.failure.message, error.failure.said)
        except Exception as error:
            # An answer that is none, a NUL in an argument, an HTTP request that failed: those who wait are told.
            words, said = getattr(error, "words", ""), getattr(error, "said", "")
            self._did_not_start(words or "it cannot be started", said if words else f": {error}")
        finally:
            self._starting = None

    def _connected(self, connection: Connection, caller: Caller) -> None:
        if connection.hung_up:
            raise NoAnswer(_ended(connection))
        self._connection = connection
        if level := self._events.log_level:
            connection.set_log_level(level, caller)
        self._failures = 0
        self.down_since = None
        self._events.failed(self, None)
        queue, self._queue = self._queue, []
        for exchange in queue:
            try:
                connection.send(exchange)
            except Exception as error:
                exchange.failed(Failure("cannot_send", "this request cannot be sent", f": {error}"))
        if connection.announces:
            self._listing.listen(connection, caller)
        self._listing.begin(connection, caller)

    def _heard(self) -> str:
        return next((each.last_words for each in self._opened if each.last_words), "")

    def _did_not_start(self, why: str, said: str = "") -> None:
        # What an earlier connection is still at work on comes to its end there.
        for connection in self._opened:
            asyncio.create_task(self._stop(connection))  # noqa: RUF006 - it ends by itself, and stop() waits for it
        # The first try again is free; a server that keeps failing is asked less and less often.
        self._failures += 1
        delay = 0.0 if self._failures == 1 else min(2.0 ** (self._failures - 2), _MAX_BACKOFF_S)
        self._not_before = time.monotonic() + delay
        self.down_since = self.down_since or time.time()
        how = "cannot be used" if self.server.url else "did not start"
        self.last_failure = Failure("server_did_not_start", f"server '{self.name}' {how}: {why}", said)
        self._events.failed(self, str(self.last_failure))
        self._fail_queue(self._why_down())

    def _why_down(self) -> Failure:
        wait = math.ceil(self._not_before - time.monotonic())
        if wait <= 0:
            return self.last_failure
        failure = self.last_failure
        return Failure(failure.code, f"{failure.message}; it is tried again in {wait} s", failure.said)

    def _fail_queue(self, why: Failure) -> None:
        queue, self._queue = self._queue, []
        for exchange in queue:
            exchange.failed(why)

    async def _connect(self, caller: Caller) -> Connection:
        self._opened = []
        if caller.modern and await self._events.known_era(self) is not False:
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
            return self._made(self._spawn())
        where = endpoint(self.server, self._config_path)
        # Aside: the first one loads an HTTP client, which takes 0.1 s.
        kind = await asyncio.to_thread(_transport, where.transport)
        remote = kind(self.server, where, self._turn, self._message, self._gone)
        self._made(remote)
        await remote.ready()
        return remote

    def _made(self, connection: Connection) -> Connection:
        self._live.add(connection)
        self._opened.append(connection)
        return connection

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
            answer = jsonrpc.value(result, _Discovered)
        except NoAnswer as error:
            # Only what the server itself says tells what it speaks: not a network, and not one who guards it.
            return False if error.error or not self.server.url or _KNOWS_NOT.match(error.failure.message) else None
        except (TimeoutError, jsonrpc.Malformed):
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
            self.last_failure = Failure("server_died", f"server '{self.name}' {lost}", connection.last_words)
            if not self._is_ending:
                self._events.failed(self, str(self.last_failure))

    def _stderr(self, data: bytes) -> None:
        for line in data.decode("utf-8", "replace").splitlines():
            said = "".join(c if c.isprintable() else "?" for c in mask(line[:_LONGEST_SAID]))
            print(f"[{self.name}] {said}", file=sys.stderr)  # noqa: T201

    def _timed_out(self, exchange: Exchange) -> None:
        self.cancel(exchange, {"reason": b'"timed out"'})
        seconds = self.server.call_timeout_s
        exchange.failed(Failure("timed_out", f"no answer within {seconds:g} s (call_timeout_s)"))


def _transport(name: str) -> "type[Remote]":
    if name == "sse":
        from mcpctl.proxy.sse import Sse

        return Sse
    from mcpctl.proxy.streamable_http import StreamableHttp

    return StreamableHttp


def _ended(connection: Connection) -> Failure:
    return Failure("server_died", f"it ended ({connection.how_it_ended()})", connection.last_words)


def _no_command(name: str) -> str:
    if os.sep not in name:
        if " " in name.strip():
            return f"no such command: {name!r}; write its first word as command and the rest as args"
        return f"no such command on the PATH: {name!r}; install it, or write its absolute path"
    if Path(name).exists():
        return f"the interpreter in the #! line of {name!r} does not exist"
    return f"there is no file {name!r}"


def _no_program(name: str) -> str:
    if Path(name).is_dir():
        return f"its command is a folder: {name!r}"
    return f"its command may not be executed: {name!r}; if it is a program: chmod +x"
