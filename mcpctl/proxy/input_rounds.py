"""Rounds of a request that wants input before it goes on: parked for a newer client, made here for an older one.

A server of 2026-07-28 answers an older client's request with questions: the client is asked, and the server is asked
the same again with the answers, until it has answered. A client of 2026-07-28 makes such rounds itself.
"""

import asyncio
import hashlib
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

import msgspec

from mcpctl.base import bounds
from mcpctl.base.callers import Caller
from mcpctl.base.failure import Failure
from mcpctl.policy.consent import digest_of
from mcpctl.proxy import translate
from mcpctl.proxy.questions import MOST_OPEN, QuestionLog, Questions, can_be_asked
from mcpctl.upstreams.connection import Exchange, Reply
from mcpctl.upstreams.question import Question, input_requests, named, question_in
from mcpctl.wire import jsonrpc

HANDLE = b'"mcpctl-'  # beginning of every `requestState` of ours
_OPEN_S = 600.0
_MAX_ROUNDS = 10
_SHORTEST_WAIT_S, _LONGEST_WAIT_S = 0.05, 0.25
ODD = "the server asks for input in a way that cannot be understood; nothing more was done"
MAY_NOT_ASK = "the server asks for what it may not ask (may_ask in the configuration); nothing more was done"
_CANNOT_ASK = "the server asks for input before it goes on, which this client cannot give; nothing more was done"
_TOO_MANY = f"the server has asked for input {_MAX_ROUNDS} times; it was left"


@dataclass(eq=False)
class Parked(Reply):
    """A call or read between two requests of its client: it goes on upstream meanwhile, if it was sent already."""

    server: str
    key: str
    record_id: str
    exchange: Exchange | None  # the exchange that was sent; None while the client is asked before anything is
    record: QuestionLog
    open: dict[str, Question] = field(default_factory=dict)
    outcome: Callable[[Reply], None] | None = None  # the upstream's answer meanwhile, for the request that goes on
    timer: asyncio.TimerHandle | None = None
    numbered: int = 0
    arguments_digest: str = ""  # the request that goes on brings the same arguments
    consent: str | None = None
    form: Any = None  # the `consent_forms.ConsentForm` of a question that is asked before anything is sent
    is_parked = True

    def question(self, question: Question) -> bool:
        self.numbered += 1
        is_ours = question.connection is None
        followed = question if is_ours else self.record.followed(question, question.server, self.record_id)
        self.open[str(self.numbered)] = followed
        return True

    def not_asked(self, question: Question) -> None:
        self.record.refused(question.server, question.method, question.params, self.record_id)

    def close(self) -> None:
        for question in self.open.values():
            question.closed()

    def required(self, handle: bytes) -> bytes:
        requests = {
            key: jsonrpc.object_of({"method": msgspec.json.encode(question.method), "params": question.params})
            for key, question in self.open.items()
        }
        return jsonrpc.object_of(
            {"resultType": b'"input_required"', "inputRequests": jsonrpc.object_of(requests), "requestState": handle}
        )

    def take(self, call: Reply, responses: Mapping[str, bytes]) -> None:
        """Pass on the answers that have come with `call`; questions without an answer stay open."""
        for key, response in responses.items():
            if question := self.open.pop(key, None):
                question.answered(call, response, b"")

    # The upstream's answer is kept until the client comes back.

    def result(self, result: memoryview) -> None:
        """Keep a copy: the memory that it came in is the reader's."""
        kept = bytes(result)
        self.outcome = lambda reply: reply.result(memoryview(kept))

    def error(self, error: bytes) -> None:
        self.outcome = lambda reply: reply.error(error)

    def failed(self, failure: Failure) -> None:
        self.outcome = lambda reply: reply.failed(failure)


def told_apart(arguments: bytes) -> str:
    """A digest of a call's arguments; of long ones, how they are written matters, too."""
    return digest_of(arguments) if len(arguments) <= bounds.LITTLE else hashlib.sha256(arguments).hexdigest()


class Parking:
    def __init__(self, give_up: Callable[[Parked], None]) -> None:
        self._parked: dict[bytes, Parked] = {}
        self._give_up = give_up

    def __contains__(self, handle: bytes) -> bool:
        return handle in self._parked

    def __len__(self) -> int:
        return len(self._parked)

    def park(self, parked: Parked) -> bytes:
        if len(self._parked) >= MOST_OPEN:
            self._expire(next(iter(self._parked)))
        handle = HANDLE + uuid.uuid4().hex.encode() + b'"'
        self._parked[handle] = parked
        parked.timer = asyncio.get_running_loop().call_later(_OPEN_S, self._expire, handle)
        if parked.exchange:
            parked.exchange.reply = parked
        return handle

    def resume(self, handle: bytes, key: str, arguments: bytes) -> Parked | None:
        parked = self._parked.get(handle)
        if parked is None or parked.key != key or parked.arguments_digest != told_apart(arguments):
            return None
        del self._parked[handle]
        if parked.timer:
            parked.timer.cancel()
        return parked

    def close(self) -> None:
        for parked in self._parked.values():
            parked.close()

    def _expire(self, handle: bytes) -> None:
        parked = self._parked.pop(handle)
        if parked.timer:
            parked.timer.cancel()
        self._give_up(parked)


class Repeated(Protocol):
    server: str
    caller: Caller

    def repeat(self, extra: Mapping[str, bytes]) -> None: ...
    def refuse(self, failure: Failure) -> None: ...


class InputRounds:
    def __init__(self, call: Repeated, questions: Questions, log: QuestionLog) -> None:
        self._call = call
        self._questions = questions
        self._log = log
        self._number = 0
        self._record_id = ""
        self._pause: asyncio.TimerHandle | None = None
        self._open: set[bytes] = set()

    def begin(self, result: bytes, may_put: Callable[[str], bool], record_id: str) -> None:
        """Ask the client what `result` wants, as far as its server may ask, then repeat the request with it."""
        self._number, self._record_id = self._number + 1, record_id
        try:
            self._take(result, may_put)
        except jsonrpc.Malformed:
            self._fail("bad_answer", ODD)

    def _take(self, result: bytes, may_put: Callable[[str], bool]) -> None:
        members = jsonrpc.members(result)
        questions = {key: question_in(request) for key, request in input_requests(result).items()}
        state = {"requestState": members["requestState"]} if "requestState" in members else {}
        if self._number > _MAX_ROUNDS:
            self._fail("too_many_rounds", _TOO_MANY)
        elif not all(may_put(method) for method, _ in questions.values()):
            self._log.refused_all(self._call.server, result, self._record_id)
            self._fail("may_not_ask", MAY_NOT_ASK)
        elif not all(can_be_asked(self._call.caller.capabilities, method) for method, _ in questions.values()):
            self._log.refused_all(self._call.server, result, self._record_id)
            self._fail("cannot_ask", _CANNOT_ASK)
        elif questions:
            self._ask(questions, state)
        else:
            wait = bounds.back_off(self._number, _SHORTEST_WAIT_S, _LONGEST_WAIT_S)
            self._pause = asyncio.get_running_loop().call_later(wait, self._call.repeat, state)

    def end(self) -> None:
        if self._pause:
            self._pause.cancel()
        for id_ in self._open:
            self._questions.withdraw(id_, {})
        self._open.clear()

    def _ask(self, questions: Mapping[str, tuple[str, bytes]], state: Mapping[str, bytes]) -> None:
        responses: dict[str, bytes] = {}

        def take(key: str, response: bytes) -> None:
            responses[key] = response
            if len(responses) == len(questions):
                self._call.repeat({**state, "inputResponses": jsonrpc.object_of(responses)})

        for key, (method, params) in questions.items():
            self._ask_one(method, params, partial(take, key))

    def _ask_one(self, method: str, params: bytes, take: Callable[[bytes], None]) -> None:
        def answered(_: object, result: bytes, error: bytes) -> None:
            self._open.discard(id_)
            if error:
                message = translate.message_of(error)
                self._fail("not_answered", f"the client did not answer what the server asked: {message}")
            else:
                take(result)

        server = self._call.server
        question = Question(method, named(method, params, server), answered, server=server)
        id_ = self._questions.ask(self._log.followed(question, server, self._record_id), self._call)
        self._open.add(id_)

    def _fail(self, code: str, reason: str) -> None:
        self._call.refuse(Failure(code, {"reason": reason}))
