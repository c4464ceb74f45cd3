"""One connection to a server, whatever carries it: what was asked and not answered, in the era it was connected in."""

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from operator import is_

import msgspec
from msgspec import Raw
from msgspec.structs import replace

from mcpctl.base.callers import MODERN_REVISION, SHARED, Caller, translated
from mcpctl.base.errors import warn
from mcpctl.base.failure import Failed, Failure, failed
from mcpctl.base.models import Tool
from mcpctl.config.server_settings import ASKS
from mcpctl.secrets.redact import mask
from mcpctl.upstreams.question import ELICIT, ROOTS, SAMPLE, Question
from mcpctl.wire import jsonrpc
from mcpctl.wire.jsonrpc import Json


class Reply:
    """Who gets what becomes of a request: one of `result`, `error` and `failed`, once, unless it takes it back."""

    __slots__ = ()
    is_parked = False  # whether its client has been answered meanwhile, and is to come back

    def result(self, result: memoryview) -> None: ...
    def error(self, error: bytes) -> None: ...
    def failed(self, failure: Failure) -> None: ...
    def progress(self, params: dict[str, bytes]) -> None: ...
    def not_taken(self, exchange: "Exchange") -> bool:
        """The server has certainly not begun with the request; returns whether it is tried again instead of failing."""
        return False

    def question(self, question: Question) -> bool:
        """The server asks something in the middle of the request; returns whether anybody can be asked."""
        return False

    def not_asked(self, question: Question) -> None:
        """The client was not asked what the server asks in the middle of the request."""

    def log(self, raw: Raw) -> None:
        """The server logs something in the middle of the request: the params of `notifications/message`."""

    def may_be_sent(self) -> bool:
        """Whether a request that had to wait may be sent as things are now; if not, others see to it."""
        return True


class Exchange(msgspec.Struct, eq=False):
    """One request to an upstream and who gets its outcome."""

    method: str
    params: Mapping[str, Json]
    meta: Mapping[str, bytes]
    caller: Caller
    reply: Reply
    tool: Tool | None = None
    id: bytes = b""
    connection: "Connection | None" = None
    was_sent: bool = False
    timer: asyncio.TimerHandle | None = None
    other: jsonrpc.Message | None = None  # a message in the HTTP response to it that has the id of no request

    def failed(self, failure: Failure) -> None:
        """End it without an answer; whether it was sent is known here alone."""
        if self.timer:
            self.timer.cancel()
        self.reply.failed(replace(failure, was_sent=self.was_sent))


def unanswered(method: str, params: Mapping[str, Json], caller: Caller) -> Exchange:
    return Exchange(method, params, {}, caller, Reply())


class _Awaited(Reply):
    def __init__(self, method: str, future: "asyncio.Future[bytes]") -> None:
        self._method = method
        self._future = future

    def result(self, result: memoryview) -> None:
        if not self._future.done():
            self._future.set_result(bytes(result))

    def error(self, error: bytes) -> None:
        answer = mask(error[:300].decode("utf-8", "replace"))
        self._fail(failed("refused", f"its answer to {self._method} is an error", said=f": {answer}").failure, error)

    def failed(self, failure: Failure) -> None:
        self._fail(failure)

    def _fail(self, failure: Failure, error: bytes = b"") -> None:
        if not self._future.done():
            self._future.set_exception(Failed(failure, error))


class Connection(ABC):
    """A connected server. Speaks the era it was connected in; requests of callers of the other are translated."""

    def __init__(self, on_message: "OnMessage", on_gone: "OnGone") -> None:
        self.server = ""
        self.holder = ""  # whose clients it is for
        self.idle_since = time.monotonic()  # when its last request was answered
        self.may_ask: Collection[str] = ASKS
        self.was_refused_roots = False  # whether its server asked for folders while no call of its was in flight
        self.modern = False
        self.revision = ""
        self.server_info = b""
        self.instructions = ""
        self.caller: Caller | None = None  # the client for whom it was connected, in whose name its tools are listed
        self.declared = b"{}"  # the client's capabilities as its server was told, in JSON
        self.announces = False  # whether a server of 2026-07-28 tells those who listen that its lists have changed
        self.offers: frozenset[str] = frozenset()  # `tools`, `resources`, `resources.subscribe`, `completions`, …
        self.logs = False  # whether an older server can be told what to log
        self.has_listed = False  # whether the list that is known of its server's tools is its own
        self.runs_tasks = False
        self.log_level = b""
        self.gone = asyncio.Event()
        self.hung_up = False
        self.pending: dict[bytes, Exchange] = {}  # the requests that are not answered, by their ids there
        self._on_message = on_message
        self._on_gone = on_gone
        self._loop = asyncio.get_running_loop()
        self._last_id = 0
        self._kept_meta: tuple[tuple[object, ...], bytes] = (None, None, None), b""
        """The `_meta` that was sent last, where the next one may be the same, and what it was made of."""

    keeps_stderr = False  # whether more than its last words is kept, in the log of its server

    @property
    def is_full(self) -> bool:
        return False

    @property
    def is_over(self) -> bool:
        """Whether nothing of it is left."""
        return self.gone.is_set()

    @property
    def last_words(self) -> str:
        """The server's last words, as `Failure.said` has them, without what looks like a secret; or empty."""
        return ""

    async def ready(self) -> None:
        return

    @abstractmethod
    def how_it_ended(self) -> str:
        """Why it is gone, in words of ours."""

    @abstractmethod
    def write(self, *pieces: Json, exchange: Exchange | None = None) -> None:
        """Send a line, which the pieces are together; `exchange` is the request that it is."""

    @abstractmethod
    async def stop(self) -> None:
        """End it; returns when it is gone."""

    def send(self, exchange: Exchange) -> None:
        """Forward a request, its params as they came."""
        if not self.modern and (level := exchange.meta.get(jsonrpc.LOG_LEVEL_KEY)):
            is_alone = not self.pending and self.holder != SHARED
            if is_alone or severity(level) < severity(self.log_level):  # others keep what they have asked for
                self.set_log_level(level, exchange.caller)
        self._last_id += 1
        exchange.id, exchange.connection, exchange.was_sent = b"%d" % self._last_id, self, True
        if self.was_refused_roots and exchange.method == TOOLS_CALL:
            # Many older servers ask as soon as they are connected, and again when they hear that something has changed.
            self.was_refused_roots = False
            self.notify("notifications/roots/list_changed", {})
        params = exchange.params
        if (exchange.meta or self.modern) and (meta := self._meta(exchange)):
            params = {**params, "_meta": meta}
        self.pending[exchange.id] = exchange
        self.write(*jsonrpc.request_pieces(exchange.id, exchange.method, params), exchange=exchange)

    def hear_out(self, message: jsonrpc.Message) -> None:
        try:
            self._received(message)
        except Exception as error:
            # One message's fault must cost neither those after it nor the stream that they come in.
            warn(f"internal error: {error!r}")

    def awaited(self, id_: bytes | Raw) -> Exchange | None:
        """The request that has this id here. Some servers send ids back as strings or floats."""
        text = bytes(id_)
        return self.pending.get(text) or self.pending.get(text.strip(b'"').removesuffix(b".0"))

    def may_put(self, method: str) -> bool:
        """Whether its server may ask this; a method that is not a question is not judged."""
        return method not in ASKABLE or ASKABLE[method] in self.may_ask

    def usable(self, capabilities: bytes) -> bytes:
        """A client's capabilities without those that its server may not use."""
        refused = set(ASKS).difference(self.may_ask)
        if not refused:
            return capabilities
        declared = jsonrpc.members_or_empty(capabilities).items()
        return jsonrpc.object_of({name: value for name, value in declared if name not in refused})

    def cancel(self, exchange: Exchange, params: Mapping[str, bytes]) -> None:
        # Its number may be another request's here, if it was sent to an earlier process.
        if self.pending.get(exchange.id) is exchange:
            del self.pending[exchange.id]
            if exchange.method == TASKS_RESULT:
                self.send(unanswered("tasks/cancel", exchange.params, exchange.caller))
            self.notify("notifications/cancelled", {**params, "requestId": exchange.id})

    def set_log_level(self, level: bytes, caller: Caller) -> None:
        """Tell an older server what to log, in JSON; one of 2026-07-28 is told with each request."""
        if level == self.log_level:
            return
        self.log_level = level
        if self.logs and not self.modern:
            self.send(unanswered("logging/setLevel", {"level": level}, caller))

    def notify(self, method: str, params: Mapping[str, bytes]) -> None:
        self.write(jsonrpc.notification(method, jsonrpc.object_of(params) if params else b""))

    async def ask(self, method: str, params: Mapping[str, bytes], caller: Caller) -> bytes:
        if self.hung_up:
            raise Failed(self.ended())  # nobody is notified of an end that has passed
        answer: asyncio.Future[bytes] = self._loop.create_future()
        exchange = Exchange(method, params, {}, caller, _Awaited(method, answer))
        self.send(exchange)
        try:
            return await answer
        finally:
            if method == "initialize":
                self.pending.pop(exchange.id, None)  # the protocol has no way to take it back
            else:
                # Nobody waits for it any more: what it holds open is let go.
                self.cancel(exchange, {"reason": b'"nobody waits for it"'})

    def _meta(self, exchange: Exchange) -> bytes:
        of = exchange.meta, exchange.caller, self.log_level
        if all(map(is_, of, self._kept_meta[0])):
            return self._kept_meta[1]
        meta = dict(exchange.meta)
        if "progressToken" in meta:
            meta["progressToken"] = exchange.id
        if exchange.caller.modern and not self.modern:
            meta = {name: value for name, value in meta.items() if name not in _ENVELOPE}
        if self.modern and jsonrpc.VERSION_KEY not in meta:
            meta |= envelope(exchange.caller)
            if self.log_level:
                meta[jsonrpc.LOG_LEVEL_KEY] = self.log_level
        if jsonrpc.CAPABILITIES_KEY in meta:
            meta[jsonrpc.CAPABILITIES_KEY] = self.usable(meta[jsonrpc.CAPABILITIES_KEY])
        encoded = jsonrpc.object_of(meta) if meta else b""
        if "progressToken" not in meta:
            self._kept_meta = of, encoded
        return encoded

    def _received(self, message: jsonrpc.Message) -> None:
        if message.method is not None:
            self._on_message(self, message)
            return
        exchange = self.awaited(message.id)
        if exchange is None:
            return
        del self.pending[exchange.id]
        if not self.pending:
            self.idle_since = time.monotonic()
        if exchange.timer:
            exchange.timer.cancel()
        try:
            if message.error not in jsonrpc.NOTHING:
                exchange.reply.error(bytes(message.error))
            elif message.result != jsonrpc.ABSENT:
                # A view: a result of 20 MB is never copied on its way.
                exchange.reply.result(memoryview(message.result))
            else:
                exchange.failed(Failure("bad_answer", {"reason": "its answer has neither result nor error"}))
        except Exception as error:
            exchange.failed(unpassable(error))
            raise

    def calls(self) -> list[Reply]:
        """Who waits for what its server may ask about: tool calls, the latest first, and then what is read."""
        waiting = list(reversed(self.pending.values()))
        return [each.reply for methods in (CALLS, READS) for each in waiting if each.method in methods]

    def ended(self) -> Failure:
        """Why those who wait for it wait for nothing."""
        facts = {"reason": f"it ended ({self.how_it_ended()})", "said": self.last_words}
        return Failure("server_died", {**facts, "logs_of": self.server} if self.keeps_stderr else facts)

    def _is_gone(self, why: Failure) -> None:
        self.hung_up = True
        self.gone.set()
        self._on_gone(self)
        pending, self.pending = self.pending, {}
        for exchange in pending.values():
            exchange.failed(why)


OnMessage = Callable[[Connection, jsonrpc.Message], None]
OnGone = Callable[[Connection], None]


def unpassable(error: Exception) -> Failure:
    return Failure("bad_answer", {"reason": f"its answer cannot be passed on ({type(error).__name__})"})


TOOLS_CALL, LISTEN, TASKS_RESULT = "tools/call", "subscriptions/listen", "tasks/result"
PROMPTS_GET, RESOURCES_READ, COMPLETION = "prompts/get", "resources/read", "completion/complete"
CALLS = (TOOLS_CALL, TASKS_RESULT)  # the requests that are a tool call, or go on with one
READS = (PROMPTS_GET, RESOURCES_READ)
OF_CLIENTS = frozenset((*CALLS, *READS, COMPLETION))  # requests made for a client, which waits for the answer
ASKABLE = {ROOTS: "roots", SAMPLE: "sampling", ELICIT: "elicitation"}  # a server's questions, each with its capability
_ENVELOPE = (jsonrpc.VERSION_KEY, jsonrpc.CLIENT_INFO_KEY, jsonrpc.CAPABILITIES_KEY, jsonrpc.LOG_LEVEL_KEY)


SEVERITIES = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")  # of RFC 5424
SEVERITY = {msgspec.json.encode(level): number for number, level in enumerate(SEVERITIES)}


def severity(level: bytes) -> int:
    """A level of log messages, in JSON, as a number; the highest where it is none."""
    return SEVERITY.get(level, len(SEVERITIES))


def told(caller: Caller, *, modern: bool) -> bytes:
    """The capabilities that a server of this era is told of a client."""
    return caller.capabilities if caller.modern == modern else translated(caller.capabilities)


def envelope(caller: Caller) -> dict[str, bytes]:
    """The `_meta` members that every 2026-07-28 request carries, for `caller`."""
    members = {jsonrpc.VERSION_KEY: b'"%b"' % MODERN_REVISION.encode()}
    if caller.info:
        members[jsonrpc.CLIENT_INFO_KEY] = caller.info
    return {**members, jsonrpc.CAPABILITIES_KEY: told(caller, modern=True)}
