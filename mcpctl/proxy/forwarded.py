"""What is forwarded to a server for a client: a call, a prompt that is got, a resource that is read.

Here is what all of them have in common: what becomes of one whose server has gone, and what its server asks and says
before it has answered.
"""

import asyncio
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from msgspec import Raw

from mcpctl.failure import Failure
from mcpctl.proxy import input_rounds, refusals, tool_result, translate
from mcpctl.proxy.client_side import CallRequest
from mcpctl.proxy.input_rounds import InputRounds
from mcpctl.proxy.parking import Parked, told_apart
from mcpctl.proxy.questions import can_be_asked
from mcpctl.store.recordable import Json
from mcpctl.upstreams.connection import TASK_RESULT, Connection, Exchange, Reply, unpassable
from mcpctl.upstreams.question import Question
from mcpctl.wire import jsonrpc
from mcpctl.wire.messages import beside

if TYPE_CHECKING:
    from mcpctl.proxy.execute import Execute

T = TypeVar("T")
_NOBODY = "it wants to know something first, and nobody can be asked here"


class Forwarded(Reply):
    """One request of a client's between its start and its one answer."""

    __slots__ = (
        "_exchange", "_execute", "_questions", "_rounds", "_was_renewed", "arguments", "consent", "done", "extra",
        "request",
    )  # fmt: skip
    is_own = False
    """Whether it is a request of mcpctl's own, of which no client is asked anything in the middle."""

    def __init__(self, execute: "Execute", request: CallRequest, arguments: bytes) -> None:
        self.request = request
        self.arguments = arguments
        self.extra = request.extra
        self.consent: str | None = None
        """What the user has said yes to, of this call."""
        self.done = False
        self._execute = execute
        self._exchange: Exchange | None = None
        self._rounds: InputRounds | None = None
        self._questions = 0
        """How many questions of its server's an older client is being asked."""
        self._was_renewed = False

    @property
    @abstractmethod
    def server(self) -> str:
        """The name of its server."""

    @property
    @abstractmethod
    def key(self) -> str:
        """What is asked for, as decisions on record call it."""

    @property
    @abstractmethod
    def record_id(self) -> str:
        """Its id on record."""

    @abstractmethod
    def repeat(self, extra: Mapping[str, bytes]) -> None:
        """Ask for the same again, with these members of its params: on record as another, decided on anew."""

    @abstractmethod
    def refuse(self, failure: Failure) -> None:
        """Answer that it did not happen, or did not end."""

    @abstractmethod
    def _again(self) -> None:
        """Have it decided on anew, and sent or refused."""

    @abstractmethod
    def _is_allowed(self) -> bool:
        """Whether it may be sent as things are now."""

    @abstractmethod
    def _record_wanted_input(self, result: Json, recorded: bytes | None = None) -> None:
        """Put on record that the client is asked something first; `recorded` is as in `Recorder`."""

    @abstractmethod
    def _answer(self, result: Json) -> None:
        """Give its one answer."""

    # ---- to its server

    def _adopt(self, parked: Parked, exchange: Exchange, responses: Mapping[str, bytes]) -> None:
        """Go on with a parked one, with the answers that this request brings."""
        parked.record_id = self.record_id
        self._exchange, exchange.reply = exchange, self
        parked.take(self, responses)
        if parked.outcome:
            parked.outcome(self)
        elif parked.open:
            self._park(parked)
        else:
            self._execute.watch(self.server, exchange)

    def not_taken(self, exchange: Exchange) -> bool:
        """A server that had gone, or has forgotten us, is connected anew; twice would be a circle."""
        if self._was_renewed or exchange is not self._exchange or exchange.method == TASK_RESULT:
            return False
        self._was_renewed = True
        self._send_anew()
        return True

    def may_be_sent(self) -> bool:
        """Whether what has waited for its server may be sent as things are now; if not, it is decided on anew."""
        if self._is_allowed():
            return True
        self._send_anew()
        return False

    def _send_anew(self) -> None:
        self._stop_timer()
        self._exchange = None
        self._again()

    def _stop_timer(self) -> None:
        if self._exchange and self._exchange.timer:
            self._exchange.timer.cancel()

    @property
    def _connection(self) -> Connection | None:
        return self._exchange.connection if self._exchange else None

    # ---- what its server asks and says meanwhile

    def question(self, question: Question) -> bool:
        """Ask the client what its server wants to know; whether it can be asked."""
        caller = self.request.caller
        if self.is_own or not can_be_asked(caller, question.method):
            return False
        if not caller.modern:
            return self._ask_older(question)
        # It goes on upstream meanwhile.
        self.ask(question)
        return True

    def _ask_older(self, question: Question) -> bool:
        exchange, followed = self._exchange, self._execute.asked.followed(question, self.server, self.record_id)

        def closed() -> None:
            followed.closed()
            self._questions -= 1
            if exchange and exchange is self._exchange and not self._questions and not self.done:
                self._execute.watch(self.server, exchange)

        if not self._execute.ask_older(replace(followed, closed=closed), self):
            return False
        self._questions += 1
        self._stop_timer()  # the time of people does not count
        return True

    def not_asked(self, question: Question) -> None:
        """Put on record what the client was not asked."""
        self._execute.asked.refused(self.server, question.method, question.params, self.record_id)

    def ask(self, question: Question, asked: object = None) -> None:
        """Ask a client of 2026-07-28, before anything is sent (`asked`, by us) or in the middle; its answer comes with
        the request that goes on."""
        parked = Parked(self.key, self.record_id, self._exchange, self._execute.asked)
        parked.arguments_digest, parked.consent, parked.asked = told_apart(self.arguments), self.consent, asked
        parked.question(question)
        self._park(parked)

    def _park(self, parked: Parked) -> None:
        self._stop_timer()  # the time of people does not count
        result = refusals.own(parked.required(self._execute.parking.park(parked)), self.request.caller, complete=False)
        self._exchange = None
        self._record_wanted_input(result)
        self._answer(result)

    def log(self, raw: Raw) -> None:
        """Pass on what the server logs; a client of 2026-07-28 hears nothing without a level in its request."""
        level = self.request.meta.get(jsonrpc.LOG_LEVEL_KEY, b"null") if self.request.caller.modern else None
        self._execute.client.log(raw, level)

    def progress(self, params: dict[str, bytes]) -> None:
        """Pass on how far it is, to a client that has asked."""
        if token := self.request.meta.get("progressToken"):
            self._execute.client.progress({**params, "progressToken": token})

    # ---- back to its client

    def failed(self, failure: Failure) -> None:
        """Answer that its server gave no answer."""
        self.refuse(failure.about(server=self.server))

    def _look(self, size: int, look: Callable[[], T], pass_on: Callable[[T], None]) -> None:
        """Pass on what `look` finds in a result of this size; a long one is looked at beside the event loop."""
        if size <= tool_result.AT_ONCE:
            pass_on(look())
            return

        def looked_at(done: "asyncio.Future[T]") -> None:
            if self.done:
                return  # taken back, or given up, meanwhile
            try:
                pass_on(done.result())
            except Exception as error:
                self.failed(unpassable(error))

        beside(look).add_done_callback(looked_at)

    def _ask_first(self, result: bytes, recorded: bytes | None = None) -> None:
        """Pass on that its server wants input first; for an older client, ask it and ask the server again."""
        connection, execute, caller = self._connection, self._execute, self.request.caller
        assert connection
        if not caller.modern:
            self._record_wanted_input(result, recorded)
            self._exchange = None
            self._rounds = self._rounds or InputRounds(self, execute.questions, execute.asked)
            self._rounds.begin(result, connection.may_put)
            return
        try:
            named = translate.with_names(result, self.server, connection.may_put)
        except jsonrpc.Malformed:
            self.refuse(Failure("bad_answer", {"reason": input_rounds.ODD}))
            return
        if named is None or self.is_own:
            code, why = ("cannot_ask", _NOBODY) if self.is_own else ("may_not_ask", input_rounds.MAY_NOT_ASK)
            execute.asked.refused_all(self.server, result, self.record_id)
            self.refuse(Failure(code, {"reason": why}))
            return
        self._record_wanted_input(result, recorded)
        ask = partial(execute.asked.opened, self.server, call_id=self.record_id)
        execute.parents.remember(self.key, named, self.record_id, self.consent, ask)
        self._answer(translate.for_client(named, translate.head(named), caller, connection))

    def _end(self) -> None:
        """Nothing more is owed to whoever asks."""
        self.done = True
        if self._rounds:
            self._rounds.end()
