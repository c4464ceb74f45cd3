"""What a server asks of the client in the middle of a call: elicitation, sampling, roots; between all pairs of eras.

An older client is sent a request, and its answer goes back to whoever asked. A client of 2026-07-28 is never sent one:
its call is answered with `input_required`, and goes on with the responses that its retry brings. Between two sides of
2026-07-28 none of this is needed, and nothing is kept.
"""

import asyncio
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import msgspec

from mcpctl.proxy import jsonrpc
from mcpctl.proxy.connection import ASKABLE, Caller, Connection, Exchange, Failure

HANDLE = b'"mcpctl-'
"""How every `requestState` of ours begins."""
_OPEN_S = 600.0
_MAX_OPEN = 1000
_TOO_MANY = jsonrpc.error_object(jsonrpc.INTERNAL_ERROR, "too many questions are open; the client was not waited for")

Answered = Callable[[bytes, bytes], None]
"""Gets the result of the client's answer, or the error."""


def can_be_asked(caller: Caller, method: str) -> bool:
    """Whether the client has declared that it can be asked this."""
    declared = jsonrpc.members_or_empty(caller.capabilities)
    return declared.get(ASKABLE.get(method, ""), b"null") not in (b"null", b"false")


@dataclass(slots=True)
class _Sent:
    answered: Answered
    connection: Connection | None
    id: bytes


class Questions:
    """The requests that an older client was sent and has not answered."""

    def __init__(self, send: Callable[[bytes], None]) -> None:
        self._send = send
        self._sent: dict[bytes, _Sent] = {}
        self._last = 0

    def forward(self, connection: Connection, message: jsonrpc.Message) -> None:
        """Ask the client what a server asks, and give that server the answer as it comes."""
        id_ = bytes(message.id)

        def answered(result: bytes, error: bytes) -> None:
            connection.write(jsonrpc.error(id_, error) if error else jsonrpc.result(id_, result))

        self.ask(str(message.method), bytes(message.params) or b"{}", answered, connection, id_)

    def ask(
        self, method: str, params: bytes, answered: Answered, connection: Connection | None = None, id_: bytes = b""
    ) -> bytes:
        """Ask the client; the id that the question has there. The oldest of very many is given up."""
        if len(self._sent) >= _MAX_OPEN:
            self._give_up(next(iter(self._sent)))
        self._last += 1
        ours = b'"mcpctl-%d"' % self._last
        self._sent[ours] = _Sent(answered, connection, id_)
        self._send(jsonrpc.request(ours, method, params))
        return ours

    def _give_up(self, ours: bytes) -> None:
        answered = self._sent[ours].answered
        self.withdraw(ours, {})
        # Later: it may be whoever is asking now.
        asyncio.get_running_loop().call_soon(answered, b"", _TOO_MANY)

    def answered(self, message: jsonrpc.Message) -> None:
        """Take the client's answer; one to a question that is open no more is dropped."""
        sent = self._sent.pop(bytes(message.id), None)
        if sent:
            error = bytes(message.error)
            sent.answered(bytes(message.result) or b"{}", b"" if error == b"null" else error)

    def withdraw(self, ours: bytes, params: Mapping[str, bytes]) -> None:
        """Tell the client that a question needs no answer any more."""
        if self._sent.pop(ours, None):
            told = jsonrpc.object_of({**params, "requestId": ours})
            self._send(jsonrpc.notification("notifications/cancelled", told))

    def withdrawn(self, connection: Connection, params: Mapping[str, bytes]) -> None:
        """A server takes its question back."""
        for ours, sent in list(self._sent.items()):
            if sent.connection is connection and sent.id == params.get("requestId", b""):
                self.withdraw(ours, params)

    def gone(self, connection: Connection) -> None:
        """A server has gone, and with it what it asked."""
        for ours, sent in list(self._sent.items()):
            if sent.connection is connection:
                self.withdraw(ours, {"reason": b'"the server has ended"'})


@dataclass(slots=True)
class Question:
    """A request of an older server's, in the middle of a call of a client of 2026-07-28."""

    connection: Connection
    id: bytes
    method: str
    params: bytes

    def answer(self, result: bytes) -> None:
        """Give the server the client's answer."""
        self.connection.write(jsonrpc.result(self.id, result))


@dataclass(slots=True)
class Parked:
    """A call that goes on upstream while its client gathers the answers to what was asked."""

    key: str
    exchange: Exchange
    record_id: str
    open: dict[str, Question] = field(default_factory=dict)
    """What was asked and not answered, by the key that the client sees."""
    outcome: Callable[[Exchange], None] | None = None
    """What the upstream did meanwhile, to be done again to whoever waits next."""
    timer: asyncio.TimerHandle | None = None
    numbered: int = 0

    def add(self, question: Question) -> None:
        """One question more."""
        self.numbered += 1
        self.open[str(self.numbered)] = question

    def required(self, handle: bytes) -> bytes:
        """The result that asks for input."""
        requests = {
            key: jsonrpc.object_of({"method": msgspec.json.encode(asked.method), "params": asked.params})
            for key, asked in self.open.items()
        }
        return jsonrpc.object_of(
            {"resultType": b'"input_required"', "inputRequests": jsonrpc.object_of(requests), "requestState": handle}
        )

    def take(self, responses: Mapping[str, bytes]) -> None:
        """Pass on the answers that have come; what was not answered stays open."""
        for key, response in responses.items():
            if question := self.open.pop(key, None):
                question.answer(response)

    def hold(self) -> None:
        """Keep what the upstream answers until the client comes back."""

        def keep(done: Callable[[Exchange], None]) -> None:
            self.outcome = done

        self.exchange.on_result = lambda result: keep(_later_result(bytes(result)))
        self.exchange.on_error = lambda error: keep(lambda exchange: exchange.on_error(error))
        self.exchange.on_failure = lambda failure: keep(_later_failure(failure))
        self.exchange.on_progress = None


class Parking:
    """The parked calls, by handle. What nobody comes back for is given up after ten minutes."""

    def __init__(self, give_up: Callable[[Parked], None]) -> None:
        self._parked: dict[bytes, Parked] = {}
        self._give_up = give_up

    def park(self, parked: Parked) -> bytes:
        """Keep a call; the handle that brings it back, as JSON."""
        if len(self._parked) >= _MAX_OPEN:
            self._expired(next(iter(self._parked)))
        handle = HANDLE + uuid.uuid4().hex.encode() + b'"'
        self._parked[handle] = parked
        parked.timer = asyncio.get_running_loop().call_later(_OPEN_S, self._expired, handle)
        parked.hold()
        return handle

    def resume(self, handle: bytes, key: str) -> Parked | None:
        """The call that was parked under this handle, if it is one of this tool."""
        parked = self._parked.get(handle)
        if parked is None or parked.key != key:
            return None
        del self._parked[handle]
        if parked.timer:
            parked.timer.cancel()
        return parked

    def of(self, connection: Connection) -> Parked | None:
        """The call that was parked last on this connection."""
        return next((p for p in reversed(self._parked.values()) if p.exchange.connection is connection), None)

    def _expired(self, handle: bytes) -> None:
        parked = self._parked.pop(handle)
        if parked.timer:
            parked.timer.cancel()
        self._give_up(parked)


def _later_result(result: bytes) -> Callable[[Exchange], None]:
    return lambda exchange: exchange.on_result(memoryview(result))


def _later_failure(failure: Failure) -> Callable[[Exchange], None]:
    return lambda exchange: exchange.on_failure(failure)
