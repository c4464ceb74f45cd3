"""The calls and reads of a client of 2026-07-28 that wait while it gathers what was asked of it."""

import asyncio
import hashlib
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from mcpctl.base import bounds
from mcpctl.base.failure import Failure
from mcpctl.policy.consent import digest_of
from mcpctl.proxy.questions import MOST_OPEN, QuestionLog
from mcpctl.upstreams.connection import Exchange, Reply
from mcpctl.upstreams.question import Question
from mcpctl.wire import jsonrpc

HANDLE = b'"mcpctl-'
"""How every `requestState` of ours begins."""
_OPEN_S = 600.0


@dataclass(eq=False)
class Parked(Reply):
    """A call or read between two requests of its client: it goes on upstream meanwhile, if it was sent already."""

    server: str
    key: str
    record_id: str
    exchange: Exchange | None
    """What was sent upstream; None while the client is asked before anything is."""
    record: QuestionLog
    open: dict[str, Question] = field(default_factory=dict)
    """What was asked and not answered, by the key that the client sees."""
    outcome: Callable[[Reply], None] | None = None
    """What the upstream did meanwhile, to be done again to whoever waits next."""
    timer: asyncio.TimerHandle | None = None
    numbered: int = 0
    arguments_digest: str = ""
    """What tells its arguments from others: who goes on with it brings the same."""
    consent: str | None = None
    """What the user has said yes to, of this call."""
    form: Any = None
    """What the user was asked before anything is sent: a `consent_forms.ConsentForm`."""
    is_parked = True

    def question(self, question: Question) -> bool:
        """One question more, for when the client comes back."""
        self.numbered += 1
        is_ours = question.connection is None
        followed = question if is_ours else self.record.followed(question, question.server, self.record_id)
        self.open[str(self.numbered)] = followed
        return True

    def not_asked(self, question: Question) -> None:
        """Put on record what the client was not asked."""
        self.record.refused(question.server, question.method, question.params, self.record_id)

    def close(self) -> None:
        """Nobody answers any more."""
        for question in self.open.values():
            question.closed()

    def required(self, handle: bytes) -> bytes:
        """The result that asks for input."""
        requests = {
            key: jsonrpc.object_of({"method": msgspec.json.encode(question.method), "params": question.params})
            for key, question in self.open.items()
        }
        return jsonrpc.object_of(
            {"resultType": b'"input_required"', "inputRequests": jsonrpc.object_of(requests), "requestState": handle}
        )

    def take(self, call: Reply, responses: Mapping[str, bytes]) -> None:
        """Pass on the answers that have come with `call`; what was not answered stays open."""
        for key, response in responses.items():
            if question := self.open.pop(key, None):
                question.answered(call, response, b"")

    # What the upstream answers is kept until the client comes back.

    def result(self, result: memoryview) -> None:
        """Keep its result; the memory that it came in is the reader's."""
        kept = bytes(result)
        self.outcome = lambda reply: reply.result(memoryview(kept))

    def error(self, error: bytes) -> None:
        """Keep its error."""
        self.outcome = lambda reply: reply.error(error)

    def failed(self, failure: Failure) -> None:
        """Keep why there is no answer."""
        self.outcome = lambda reply: reply.failed(failure)


def told_apart(arguments: bytes) -> str:
    """What tells a call's arguments from others; of long ones, how they are written counts, too."""
    return digest_of(arguments) if len(arguments) <= bounds.LITTLE else hashlib.sha256(arguments).hexdigest()


class Parking:
    """The parked calls, by handle. What nobody comes back for is given up after ten minutes."""

    def __init__(self, give_up: Callable[[Parked], None]) -> None:
        self._parked: dict[bytes, Parked] = {}
        self._give_up = give_up

    def park(self, parked: Parked) -> bytes:
        """Keep a call; the handle that brings it back, as JSON."""
        if len(self._parked) >= MOST_OPEN:
            self._expire(next(iter(self._parked)))
        handle = HANDLE + uuid.uuid4().hex.encode() + b'"'
        self._parked[handle] = parked
        parked.timer = asyncio.get_running_loop().call_later(_OPEN_S, self._expire, handle)
        if parked.exchange:
            parked.exchange.reply = parked
        return handle

    def resume(self, handle: bytes, key: str, arguments: bytes) -> Parked | None:
        """The call that was parked under this handle, if it is one of this tool with these arguments."""
        parked = self._parked.get(handle)
        if parked is None or parked.key != key or parked.arguments_digest != told_apart(arguments):
            return None
        del self._parked[handle]
        if parked.timer:
            parked.timer.cancel()
        return parked

    def close(self) -> None:
        """Nobody comes back for any of them."""
        for parked in self._parked.values():
            parked.close()

    def _expire(self, handle: bytes) -> None:
        parked = self._parked.pop(handle)
        if parked.timer:
            parked.timer.cancel()
        self._give_up(parked)
