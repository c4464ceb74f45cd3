"""What follows when a server of 2026-07-28 answers an older client that it wants input: round after round.

The rounds are made here: the client is asked, and the server is asked the same again with its answers, until it has
answered. A client of 2026-07-28 makes them itself.
"""

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from typing import Protocol

from mcpctl.base.callers import Caller
from mcpctl.base.failure import Failure
from mcpctl.proxy import translate
from mcpctl.proxy.questions import QuestionLog, Questions, can_be_asked
from mcpctl.upstreams import question
from mcpctl.upstreams.question import Question
from mcpctl.wire import jsonrpc

_MAX_ROUNDS = 10
_SHORTEST_WAIT_S, _LONGEST_WAIT_S = 0.05, 0.25
ODD = "the server asks for input in a way that cannot be understood; nothing more was done"
MAY_NOT_ASK = "the server asks for what it may not ask (may_ask in the configuration); nothing more was done"
_CANNOT_ASK = "the server asks for input before it goes on, which this client cannot give; nothing more was done"
_TOO_MANY = f"the server has asked for input {_MAX_ROUNDS} times; it was left"


class Repeated(Protocol):
    """A request that is made again with the client's answers."""

    server: str
    caller: Caller

    @property
    def record_id(self) -> str:
        """The id of its latest round on record."""

    def repeat(self, extra: Mapping[str, bytes]) -> None:
        """Ask for the same again, with these members of its params."""

    def refuse(self, failure: Failure) -> None:
        """Answer that it did not end."""


class InputRounds:
    """The rounds of one request of an older client's."""

    def __init__(self, call: Repeated, questions: Questions, log: QuestionLog) -> None:
        self._call = call
        self._questions = questions
        self._log = log
        self._number = 0
        self._pause: asyncio.TimerHandle | None = None
        self._open: set[bytes] = set()
        """The questions that the client has not answered."""

    def begin(self, result: bytes, may_put: Callable[[str], bool]) -> None:
        """Ask what `result` wants to know, as far as its server may, then call again with the answers."""
        self._number += 1
        try:
            self._take(result, may_put)
        except jsonrpc.Malformed:
            self._fail("bad_answer", ODD)

    def _take(self, result: bytes, may_put: Callable[[str], bool]) -> None:
        members = jsonrpc.members(result)
        questions = {key: question.question_in(request) for key, request in question.input_requests(result).items()}
        state = {"requestState": members["requestState"]} if "requestState" in members else {}
        if self._number > _MAX_ROUNDS:
            self._fail("too_many_rounds", _TOO_MANY)
        elif not all(may_put(method) for method, _ in questions.values()):
            self._log.refused_all(self._call.server, result, self._call.record_id)
            self._fail("may_not_ask", MAY_NOT_ASK)
        elif not all(can_be_asked(self._call.caller.capabilities, method) for method, _ in questions.values()):
            self._log.refused_all(self._call.server, result, self._call.record_id)
            self._fail("cannot_ask", _CANNOT_ASK)
        elif questions:
            self._ask(questions, state)
        else:
            wait = min(_SHORTEST_WAIT_S * 2 ** (self._number - 1), _LONGEST_WAIT_S)
            self._pause = asyncio.get_running_loop().call_later(wait, self._call.repeat, state)

    def end(self) -> None:
        """Ask and call no more."""
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
                said = translate.message_of(error)
                self._fail("not_answered", f"the client did not answer what the server asked: {said}")
            else:
                take(result)

        server = self._call.server
        question_ = Question(method, question.named(method, params, server), answered, server=server)
        id_ = self._questions.ask(self._log.followed(question_, server, self._call.record_id), self._call)
        self._open.add(id_)

    def _fail(self, code: str, reason: str) -> None:
        self._call.refuse(Failure(code, {"reason": reason}))
