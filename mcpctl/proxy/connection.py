"""One connection to a server, whatever carries it: what was asked and not answered, in the era it was connected in."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from msgspec import Raw

from mcpctl.models import Tool
from mcpctl.proxy import jsonrpc
from mcpctl.store.recorder import Client
from mcpctl.store.redact import mask


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks: the revision, identity and capabilities of the client's request, JSON as it sent them."""

    revision: str
    info: bytes = b""
    capabilities: bytes = b"{}"
    client: Client = field(default_factory=Client)

    @property
    def modern(self) -> bool:
        """Whether the request carries its own envelope."""
        return self.revision == jsonrpc.MODERN_REVISION


@dataclass(frozen=True, slots=True)
class Failure:
    """Why there is no answer of the upstream's own."""

    code: str
    message: str
    """What happened, in words of ours alone: models are told it."""
    said: str = ""
    """What the server had to say of it, with the words that join it to the message: for people and the record."""

    def __str__(self) -> str:
        return self.message + self.said


@dataclass(slots=True)
class Exchange:
    """One request to an upstream and where its outcome goes: exactly one of the three is called, once."""

    method: str
    params: Mapping[str, bytes]
    meta: Mapping[str, bytes]
    caller: Caller
    on_result: Callable[[memoryview], None]
    on_error: Callable[[bytes], None]
    on_failure: Callable[[Failure], None]
    on_progress: Callable[[dict[str, bytes]], None] | None = None
    on_not_taken: Callable[["Exchange"], None] | None = None
    """Called instead of the three, once, when the server certainly has not taken it."""
    tool: Tool | None = None
    """The tool that it calls, where it is known."""
    id: int = 0
    connection: "Connection | None" = None
    """The connection that it was sent on."""
    timer: asyncio.TimerHandle | None = None

    def failed(self, failure: Failure) -> None:
        """End it without an answer."""
        if self.timer:
            self.timer.cancel()
        self.on_failure(failure)


def unanswered(method: str, params: Mapping[str, bytes], caller: Caller) -> Exchange:
    """A request whose outcome is nobody's business."""
    return Exchange(
        method, params, {}, caller, on_result=lambda _: None, on_error=lambda _: None, on_failure=lambda _: None
    )


class NoAnswer(Exception):
    """A request of ours, or a server as a whole, that failed; carries the error object when there is one."""

    def __init__(self, failure: Failure, error: bytes = b"") -> None:
        super().__init__(str(failure))
        self.failure = failure
        self.error = error


class Connection(ABC):
    """A connected server. Speaks the era it was connected in; requests of callers of the other are translated."""

    def __init__(
        self, on_message: Callable[["Connection", jsonrpc.Message], None], on_gone: Callable[["Connection"], None]
    ) -> None:
        self.modern = False
        self.revision = ""
        self.server_info = b""
        self.announces = False
        """Whether a server of 2026-07-28 tells those who listen that its tools have changed."""
        self.logs = False
        """Whether an older server can be told what to log."""
        self.log_level = b""
        self.gone = asyncio.Event()
        self.hung_up = False
        self.pending: dict[int, Exchange] = {}
        self._on_message = on_message
        self._on_gone = on_gone
        self._loop = asyncio.get_running_loop()
        self._last_id = 0

    @property
    def is_full(self) -> bool:
        """Whether it has left so much unread that it is sent nothing more."""
        return False

    @property
    @abstractmethod
    def is_over(self) -> bool:
        """Whether nothing of it is left."""

    @property
    @abstractmethod
    def last_words(self) -> str:
        """What it said of itself lately, as `Failure.said` has it, without what looks like a secret; or nothing."""

    @abstractmethod
    def how_it_ended(self) -> str:
        """Why it is gone, in words of ours."""

    @abstractmethod
    def write(self, line: bytes, exchange: Exchange | None = None) -> None:
        """Send a line that is complete; `exchange` is the request that it is."""

    @abstractmethod
    async def stop(self) -> None:
        """End it; returns when it is gone."""

    def send(self, exchange: Exchange) -> None:
        """Forward a request, its params as they came."""
        if not self.modern and (level := exchange.meta.get(jsonrpc.LOG_LEVEL_KEY)):
            self.set_log_level(level, exchange.caller)
        self._last_id = exchange.id = self._last_id + 1
        exchange.connection = self
        id_ = b"%d" % exchange.id
        line = jsonrpc.request(id_, exchange.method, self._params(exchange, id_))
        self.pending[exchange.id] = exchange
        self.write(line, exchange)

    def cancel(self, exchange: Exchange, params: Mapping[str, bytes]) -> None:
        """Take a request back; a late answer to it is dropped."""
        # Its number may be another request's here, if it was sent to an earlier process.
        if self.pending.get(exchange.id) is exchange:
            del self.pending[exchange.id]
            self.notify("notifications/cancelled", {**params, "requestId": b"%d" % exchange.id})

    def set_log_level(self, level: bytes, caller: Caller) -> None:
        """Tell an older server what to log, in JSON; one of 2026-07-28 is told with each request."""
        if level == self.log_level:
            return
        self.log_level = level
        if self.logs and not self.modern:
            self.send(unanswered("logging/setLevel", {"level": level}, caller))

    def notify(self, method: str, params: Mapping[str, bytes]) -> None:
        """Send a notification."""
        self.write(jsonrpc.notification(method, jsonrpc.object_of(params) if params else b""))

    async def ask(self, method: str, params: Mapping[str, bytes], caller: Caller) -> bytes:
        """A request of our own: its result, or `NoAnswer`."""
        answer: asyncio.Future[bytes] = self._loop.create_future()

        def fail(failure: Failure, error: bytes = b"") -> None:
            if not answer.done():
                answer.set_exception(NoAnswer(failure, error))

        def refuse(error: bytes) -> None:
            said = mask(error[:300].decode("utf-8", "replace"))
            fail(Failure("refused", f"its answer to {method} is an error", f": {said}"), error)

        exchange = Exchange(
            method, params, {}, caller,
            on_result=lambda result: None if answer.done() else answer.set_result(bytes(result)),
            on_error=refuse,
            on_failure=fail,
        )  # fmt: skip
        self.send(exchange)
        try:
            return await answer
        finally:
            if method == "initialize":
                self.pending.pop(exchange.id, None)  # the protocol has no way to take it back
            else:
                # Nobody waits for it any more: what it holds open is let go.
                self.cancel(exchange, {"reason": b'"nobody waits for it"'})

    def _params(self, exchange: Exchange, id_: bytes) -> bytes:
        meta = exchange.meta
        if meta:
            meta = dict(meta)
            if "progressToken" in meta:
                meta["progressToken"] = id_
            if exchange.caller.modern and not self.modern:
                meta = {name: value for name, value in meta.items() if name not in _ENVELOPE}
        if self.modern and jsonrpc.VERSION_KEY not in meta:
            meta = {**meta, **envelope(exchange.caller)}
            if self.log_level:
                meta[jsonrpc.LOG_LEVEL_KEY] = self.log_level
        if not meta:
            return jsonrpc.object_of(exchange.params)
        return jsonrpc.object_of({**exchange.params, "_meta": jsonrpc.object_of(meta)})

    def _received(self, message: jsonrpc.Message) -> None:
        if message.method is not None:
            self._on_message(self, message)
            return
        exchange = self._answered(message.id)
        if exchange is None:
            return
        if exchange.timer:
            exchange.timer.cancel()
        try:
            self._deliver(exchange, message)
        except Exception as error:
            exchange.on_failure(Failure("bad_answer", f"its answer cannot be passed on ({type(error).__name__})"))
            raise

    def _deliver(self, exchange: Exchange, message: jsonrpc.Message) -> None:
        result = memoryview(message.result)
        if memoryview(message.error).nbytes and bytes(message.error) != b"null":
            exchange.on_error(bytes(message.error))
        elif result.nbytes:
            # A view: a result of 20 MB is never copied on its way.
            exchange.on_result(result)
        else:
            exchange.on_failure(Failure("bad_answer", "its answer has neither result nor error"))

    def _answered(self, raw: Raw) -> Exchange | None:
        """Whose answer has this id: nobody waits for another."""
        # Some servers send ids back as strings or floats.
        text = bytes(raw).strip(b'"').removesuffix(b".0")
        return self.pending.pop(int(text), None) if text.isdigit() and len(text) < 20 else None

    def _is_gone(self, why: Failure) -> None:
        """Nothing comes from it any more: whoever waits is told."""
        self.hung_up = True
        self.gone.set()
        self._on_gone(self)
        pending, self.pending = self.pending, {}
        for exchange in pending.values():
            exchange.failed(why)


LISTEN = "subscriptions/listen"
ASKABLE = {"roots/list": "roots", "sampling/createMessage": "sampling", "elicitation/create": "elicitation"}
"""What a server may ask of a client in the middle of a call, and the capability that says that it can."""
_ENVELOPE = (jsonrpc.VERSION_KEY, jsonrpc.CLIENT_INFO_KEY, jsonrpc.CAPABILITIES_KEY, jsonrpc.LOG_LEVEL_KEY)


def envelope(caller: Caller) -> dict[str, bytes]:
    """The `_meta` members that every 2026-07-28 request carries, for `caller`."""
    found = {jsonrpc.VERSION_KEY: b'"%b"' % jsonrpc.MODERN_REVISION.encode()}
    if caller.info:
        found[jsonrpc.CLIENT_INFO_KEY] = caller.info
    return {**found, jsonrpc.CAPABILITIES_KEY: caller.capabilities if caller.modern else askable(caller)}


def askable(caller: Caller) -> bytes:
    """Of the client's capabilities those that are translated for a server of the other era."""
    declared = jsonrpc.members_or_empty(caller.capabilities)
    return jsonrpc.object_of({name: value for name, value in declared.items() if name in ASKABLE.values()})
