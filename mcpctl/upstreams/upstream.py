"""One upstream server: started when first needed, kept warm, started again by the next call after it died."""

import asyncio
import math
import sys
import time
from collections.abc import Awaitable, Collection, Mapping
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Protocol

from msgspec import Raw

from mcpctl.base import bounds, posix
from mcpctl.base.callers import Caller
from mcpctl.base.errors import warn
from mcpctl.base.failure import Failed, Failure
from mcpctl.base.texts import printable
from mcpctl.config.server_settings import STDIO, Server
from mcpctl.policy import words
from mcpctl.secrets.redact import mask
from mcpctl.store.server_logs import ServerLogs
from mcpctl.upstreams.connection import LISTEN, OF_CLIENTS, Connection, Exchange
from mcpctl.upstreams.server_lists import ServerLists
from mcpctl.upstreams.stdio import Stdio
from mcpctl.upstreams.transports import Transports, initialize, speaks_modern, why_not_started
from mcpctl.wire import jsonrpc
from mcpctl.wire.writer import Readers

_MAX_BACKOFF_S = 60.0
_LONGEST_SAID = 500
_MOST_SAID = 50  # lines of one read that are printed for a person: others wait meanwhile
_LAST_CALLS_S = 60.0  # how long the calls of a server whose entry has changed keep the changed one from starting
_LOOK_S = 0.05


class UpstreamEvents(Protocol):
    """The owner of upstreams: told what happens to them, and asked for what they need."""

    @property
    def logs(self) -> ServerLogs: ...
    def log_level(self, holder: str) -> bytes:
        """The level that servers of these clients are to log, in JSON; empty while none of them has said."""

    def room(self, server: str, kind: str) -> AbstractAsyncContextManager[None]:
        """Room for one more process; raises `Failed`."""

    def exposed(self, name: str) -> Collection[str]:
        """The kinds of its features that clients see."""

    def connected(self, connection: Connection) -> None: ...
    def gone(self, connection: Connection) -> None: ...
    def listed(self, upstream: "Upstream", connection: Connection, definitions: list[bytes]) -> Awaitable[None]:
        """The server has listed its tools on this connection, each as JSON; returns when they are known."""

    def features_listed(
        self, upstream: "Upstream", connection: Connection, kind: str, definitions: list[bytes]
    ) -> Awaitable[None]:
        """The same for its features of one kind."""

    def tools_known(self, name: str, holder: str) -> None:
        """The server's list is known, and is of the current connection."""

    def message(self, connection: Connection, message: jsonrpc.Message) -> None:
        """The server has sent a request or notification, other than of listing or progress."""

    def failed(self, upstream: "Upstream", failure: str | None, code: str = "") -> None:
        """Why it has failed just now, and the code of that; None when it works."""

    async def known_era(self, upstream: "Upstream") -> bool | None:
        """Whether it is known to speak 2026-07-28; None when it was never asked."""

    def era_found(self, upstream: "Upstream", modern: bool) -> None:
        """`server/discover` has shown what it speaks."""


class Upstream:
    def __init__(
        self, name: str, server: Server, transports: Transports, events: UpstreamEvents, holder: str,
        readers: Readers, *, after: "asyncio.Task[None] | None" = None, verbose: bool = False,
    ) -> None:  # fmt: skip
        """`after` is the end of the one whose place it takes, which finishes its calls first."""
        self.name = name
        self.server = server
        self.holder = holder
        self._readers = readers
        self.connection: Connection | None = None
        self.down_since: float | None = None
        self.last_failure = Failure("server_did_not_start", {"server": name})
        self.start_s = 0.0
        self._transports = transports
        self._events = events
        self._verbose = verbose
        self._after = after
        self._live: set[Connection] = set()
        self._opened: list[Connection] = []
        self._queue: list[Exchange] = []
        self._starting: asyncio.Task[None] | None = None
        self._lists = ServerLists(
            name, server.start_timeout_s, self._is_current, self._listed, partial(events.features_listed, self),
            partial(events.exposed, name),
        )  # fmt: skip
        self._failures = 0
        self._not_before = 0.0
        self._is_ending = False

    def _is_current(self, connection: Connection) -> bool:
        return connection is self.connection

    async def _listed(self, connection: Connection, definitions: list[bytes]) -> None:
        await self._events.listed(self, connection, definitions)
        if self.connection:
            self.connection.has_listed = self.connection is connection
        self._events.tools_known(self.name, self.holder)

    # ---- requests

    def send(self, exchange: Exchange) -> None:
        """Forward a request, starting the server first where that is needed. Sent once, whatever happens."""
        if self.server.call_timeout_s:
            self.watch(exchange)
        if self.connection is None:
            self._queue.append(exchange)
            self._start(exchange.caller)
        elif self.connection.is_full:
            unread = f"it has left {bounds.MESSAGE >> 20} MB of what it was sent unread; this was not sent"
            exchange.failed(Failure("server_busy", {"reason": unread}))
        else:
            self.connection.send(exchange)

    def watch(self, exchange: Exchange) -> None:
        if timeout := self.server.call_timeout_s:
            exchange.timer = asyncio.get_running_loop().call_later(timeout, self._time_out, exchange)

    def cancel(self, exchange: Exchange, params: dict[str, bytes]) -> None:
        if exchange.timer:
            exchange.timer.cancel()
        if exchange in self._queue:
            self._queue.remove(exchange)
        elif exchange.connection:
            exchange.connection.cancel(exchange, params)

    def _time_out(self, exchange: Exchange) -> None:
        self.cancel(exchange, {"reason": b'"timed out"'})
        reason = f"no answer within {self.server.call_timeout_s:g} s (call_timeout_s)"
        exchange.failed(Failure("timed_out", {"reason": reason}))

    async def connected(self, caller: Caller) -> Connection:
        if self.connection is None:
            self._start(caller)
            if self._starting:
                await asyncio.shield(self._starting)
        if self.connection is None:
            raise Failed(self._why_down())
        return self.connection

    async def refresh(self, caller: Caller, wait_s: float | None = None) -> None:
        """List its tools now, once for all who ask meanwhile; raises `Failed`. Once it is connected, its list is waited
        for as long as `wait_s`: then raises `TimeoutError`."""
        begun = self._lists.tools.begun
        connection = await self.connected(caller)
        async with asyncio.timeout(wait_s):
            await self._lists.tools.complete(connection, caller, begun)

    async def refresh_all(self, caller: Caller) -> Exception | None:
        """List its tools now, then all else; raises why its tools cannot be listed, returns why the rest cannot."""
        begun = self._lists.features.begun
        await self.refresh(caller)
        try:
            await self._lists.features.complete(await self.connected(caller), caller, begun)
        except Exception as error:
            return error
        return None

    def list_features(self) -> None:
        if self.connection:
            self._lists.features.begin(self.connection, None)

    # ---- the end

    def remove(self, failure: Failure) -> None:
        """Answer whoever waits for it that it is gone from the configuration; it takes nothing more."""
        self._is_ending = True
        self._fail_queue(failure)
        for connection in self._live:
            for exchange in [each for each in connection.pending.values() if each.method in OF_CLIENTS]:
                self.cancel(exchange, {"reason": b'"the server was removed"'})
                exchange.failed(failure)

    async def finish(self) -> None:
        """Let the calls that it has come to their end, as long as they take, then end it."""
        self._is_ending = True
        while self._queue or any(each.method in OF_CLIENTS for live in self._live for each in live.pending.values()):
            await asyncio.sleep(_LOOK_S)  # calls end in many ways, and it is not urgent
        await self.stop()

    async def stop(self) -> None:
        self._is_ending = True
        if self._starting:
            self._starting.cancel()
        await asyncio.gather(*map(self._stop, list(self._live)))

    @property
    def processes(self) -> int:
        return len(self._live)

    @property
    def is_idle(self) -> bool:
        pending = self.connection.pending.values() if self.connection else ()
        return self.connection is not None and not any(each.method != LISTEN for each in pending)

    @property
    def idle_since(self) -> float:
        return self.connection.idle_since if self.connection else math.inf

    async def rest(self) -> None:
        """End what runs of it; the next request starts it again."""
        connection, self.connection = self.connection, None
        if connection:
            await self._stop(connection)

    async def _stop(self, connection: Connection) -> None:
        await connection.stop()
        if isinstance(connection, Stdio):
            detached, unended = "it has detached itself", "it cannot be ended"
            for processes, why in ((connection.detached, detached), (connection.unended, unended)):
                for pid, name in processes.items():
                    if posix.is_running(pid):
                        warn(f"server '{self.name}' leaves process {pid} ({name}) running: {why}")

    # ---- the start

    def _start(self, caller: Caller) -> None:
        if self._starting is not None:
            return
        if self._is_ending:  # whatever it started now, nobody would end
            facts = {"server": self.name, "did": "cannot be used", "reason": "it is ending"}
            self.last_failure = Failure("server_did_not_start", facts)
            self._fail_queue(self.last_failure)
            return
        if time.monotonic() < self._not_before:
            self._fail_queue(self._why_down())
            return
        self._starting = asyncio.create_task(self._started(caller), name=f"start {self.name}")

    async def _started(self, caller: Caller) -> None:
        if self._after:
            await asyncio.wait([self._after], timeout=_LAST_CALLS_S)
        began = time.monotonic()
        try:
            async with asyncio.timeout(self.server.start_timeout_s or None):
                connection = await self._connect(caller)
            self.start_s = time.monotonic() - began
            self._connected(connection, caller)
        except Exception as error:
            self._did_not_start(error)
        finally:
            self._starting = None

    def _connected(self, connection: Connection, caller: Caller) -> None:
        if connection.hung_up:
            raise Failed(connection.ended())
        self.connection = connection
        if level := self._events.log_level(self.holder):
            connection.set_log_level(level, caller)
        self._failures = 0
        self.down_since = None
        self._events.failed(self, None)
        queue, self._queue = self._queue, []
        for exchange in queue:
            try:
                if exchange.reply.may_be_sent():
                    connection.send(exchange)
            except Exception as error:
                exchange.failed(Failure("cannot_send", {"reason": "this request cannot be sent", "said": f": {error}"}))
        self._lists.begin(connection, caller)
        self._events.connected(connection)

    def _did_not_start(self, error: Exception) -> None:
        # Requests to an earlier connection come to their end there.
        for connection in self._opened:
            asyncio.create_task(self._stop(connection))  # noqa: RUF006 - it ends by itself, and stop() waits for it
        if isinstance(error, Failed) and error.failure.code == "server_busy":
            self.last_failure = error.failure
            self._fail_queue(self.last_failure)
            return
        self.last_failure = Failure("server_did_not_start", self._why_not_started(error))
        if isinstance(error, Failed) and error.failure.code == "needs_login":
            self.last_failure, self._failures = error.failure.about(server=self.name), 0
        # The first try again is free, and so is one after a login; a server that keeps failing is asked less and less.
        self._failures += 1
        delay = 0.0 if self._failures == 1 else bounds.back_off(self._failures - 1, 1.0, _MAX_BACKOFF_S)
        self._not_before = time.monotonic() + delay
        self.down_since = self.down_since or time.time()
        self._events.failed(self, words.in_brief(self.last_failure), self.last_failure.code)
        self._fail_queue(self._why_down())

    def _why_not_started(self, error: Exception) -> Mapping[str, str]:
        reason, said = why_not_started(error, self.server.start_timeout_s)
        if isinstance(error, TimeoutError):
            said = next((each.last_words for each in self._opened if each.last_words), "")
        did = "did not start" if self.server.kind == STDIO else "cannot be used"
        return {**self._facts(did, said), "reason": reason}

    def _facts(self, did: str, said: str) -> Mapping[str, str]:
        facts = {"server": self.name, "did": did, "said": said}
        return {**facts, "logs_of": self.name} if self.server.kind == STDIO else facts

    def _why_down(self) -> Failure:
        wait = math.ceil(self._not_before - time.monotonic())
        return self.last_failure.about(retry_s=wait) if wait > 0 else self.last_failure

    def _fail_queue(self, failure: Failure) -> None:
        queue, self._queue = self._queue, []
        for exchange in queue:
            exchange.failed(failure)

    async def _connect(self, caller: Caller) -> Connection:
        self._opened = []
        if caller.modern and await self._events.known_era(self) is not False:
            connection = await self._open()
            modern = await speaks_modern(connection, caller, is_remote=self.server.kind != STDIO)
            if modern is not None:
                self._events.era_found(self, modern)
            if modern:
                return connection
            # An old server may do anything after an unknown first request; a fresh one does not.
            await connection.stop()
        connection = await self._open()
        await initialize(connection, caller)
        return connection

    async def _open(self) -> Connection:
        async with self._events.room(self.name, self.server.kind):
            connection = await self._transports.open(
                self.server, self._message, self._gone, self._stderr, self._readers
            )
            connection.server, connection.holder, connection.may_ask = self.name, self.holder, self.server.may_ask
            self._live.add(connection)
        self._opened.append(connection)
        await connection.ready()
        return connection

    # ---- what it says

    def _message(self, connection: Connection, message: jsonrpc.Message) -> None:
        if message.method == "notifications/progress":
            self._progress(connection, message.params)
        elif message.method == "ping" and message.id not in jsonrpc.NOTHING:
            connection.write(jsonrpc.result(bytes(message.id), b"{}"))
        elif not self._lists.changed(connection, message.method):
            self._events.message(connection, message)

    def _progress(self, connection: Connection, raw: Raw) -> None:
        params = jsonrpc.members_or_empty(raw)
        exchange = connection.awaited(params.get("progressToken", b""))
        if exchange:
            exchange.reply.progress(params)

    def _gone(self, connection: Connection) -> None:
        self._events.gone(connection)
        if connection.is_over:
            self._live.discard(connection)
        if self._is_current(connection):
            self.connection = None
            self.down_since = time.time()
            did = "ended" if self.server.kind == STDIO else f"was lost ({connection.how_it_ended()})"
            self.last_failure = Failure("server_died", self._facts(did, connection.last_words))
            if not self._is_ending:
                self._events.failed(self, words.in_brief(self.last_failure), self.last_failure.code)

    def _stderr(self, pid: int, data: bytes) -> None:
        self._events.logs.take(self.name, pid, data)
        if not self._verbose:
            return
        lines = data.decode("utf-8", "replace").splitlines()
        more = [f"… {len(lines) - _MOST_SAID} more lines at once"] if len(lines) > _MOST_SAID else []
        for line in (*lines[:_MOST_SAID], *more):
            print(f"[{self.name}] {printable(mask(line[:_LONGEST_SAID]))}", file=sys.stderr)  # noqa: T201
