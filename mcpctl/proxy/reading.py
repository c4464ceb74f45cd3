"""One prompt that is got, or one resource that is read: from its request to its one answer."""

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import msgspec
from msgspec import Raw

from mcpctl import feature_names, tool_keys
from mcpctl.catalog.features import Owner
from mcpctl.failure import Failure, failed
from mcpctl.policy import words
from mcpctl.policy.view import View
from mcpctl.proxy import input_rounds, refusals, tool_result, translate
from mcpctl.proxy.client_side import CallRequest
from mcpctl.proxy.input_rounds import InputRounds
from mcpctl.proxy.parking import HANDLE, Parked, told_apart
from mcpctl.proxy.questions import can_be_asked
from mcpctl.store.recordable import Json
from mcpctl.store.recorder import new_id
from mcpctl.store.redact import mask
from mcpctl.upstreams.connection import GET, READ, Connection, Exchange, Reply, unpassable
from mcpctl.upstreams.question import Question
from mcpctl.wire import jsonrpc
from mcpctl.wire.messages import beside

if TYPE_CHECKING:
    from mcpctl.proxy.feature_requests import FeatureRequests

NAMED_BY = {GET: "name", READ: "uri"}
"""The member of a request's params that says what is asked for."""
_KINDS = {GET: "prompt", READ: "resource"}
_LISTS = {GET: feature_names.PROMPTS, READ: feature_names.RESOURCES}
OWN = b"own-"
"""How the ids begin of those that are no request of the client's: its own are JSON."""
_NOT_OPEN = "this requestState is not open (a question waits for ten minutes, once); ask for it again"
_CANNOT_ASK = "it wants to know something first, and nobody can be asked here"


class Reading(Reply):
    """One of them between its start and its one answer, which goes to `answer` or to `fail`."""

    def __init__(
        self,
        requests: "FeatureRequests",
        request: CallRequest,
        method: str,
        name: str,
        answer: Callable[[Json], None],
        fail: "Callable[[Reading, Failure, bytes], None]",
    ) -> None:
        """`name` is what the client calls it. `fail` gets the server's error, too, where it answered with one."""
        self.request = request
        self.method = method
        self.name = name
        self.owner = Owner("", name)
        """Whose it is, and what it is there, once that is known."""
        self.view: View = requests.first_view(request.caller)
        self.extra = request.extra
        self.done = False
        self.has_looked = False
        """Whether servers of which nothing was known were asked on its account."""
        self._requests = requests
        self._answer = answer
        self._fail = fail
        self._exchange: Exchange | None = None
        self._rounds: InputRounds | None = None
        self._questions = 0
        self._was_renewed = False
        self._begin()

    def _begin(self) -> None:
        self.record_id, self._is_recorded = new_id(), False
        self._started = time.time()

    @property
    def server(self) -> str:
        """The name of the server that it goes to."""
        return self.owner.server

    @property
    def _arguments(self) -> bytes:
        return self.request.extra.get("arguments", b"")

    @property
    def key(self) -> str:
        """What decisions on record call it."""
        name = feature_names.join(_LISTS[self.method], self.owner.uri)
        return tool_keys.join(self.server, name) if self.server else name

    # ---- to its server

    def forward(self) -> None:
        """Forward it: only what names it is changed, and only where its server calls it otherwise. Or go on with the
        one that was parked."""
        state = self.request.extra.get("requestState", b"")
        if state.startswith(HANDLE) and self._exchange is None:
            self._go_on(state)
            return
        self._requests.goes_on(self)
        extra, named_by = self.extra, NAMED_BY[self.method]
        if self.owner.uri != self.name:
            extra = {**extra, named_by: msgspec.json.encode(self.owner.uri)}
        self._exchange = Exchange(self.method, extra, self.request.meta, self.request.caller, self)
        self._requests.send(self.server, self._exchange)

    def _go_on(self, state: bytes) -> None:
        """Be the one that was parked under this handle, with the answers that this request brings."""
        parked = self._requests.session.execute.parking.resume(state, self.key, self._arguments)
        if parked is None or parked.exchange is None:
            self.refuse(Failure("not_open", {"reason": _NOT_OPEN}))
            return
        parked.record_id = self.record_id
        self._exchange, parked.exchange.reply = parked.exchange, self
        parked.take(self, jsonrpc.members_or_empty(self.request.extra.get("inputResponses", b"")))
        if parked.outcome:
            parked.outcome(self)
        elif parked.open:
            self._park(parked)
        else:
            self._requests.watch(self.server, parked.exchange)

    def repeat(self, extra: Mapping[str, bytes]) -> None:
        """Ask again, with these members more in its params."""
        self._begin()
        self.extra = {**self.request.extra, **extra}
        self._requests.again(self)

    def not_taken(self, exchange: Exchange) -> bool:
        """A server that had gone, or has forgotten us, is connected anew; twice would be a circle."""
        if self._was_renewed or exchange is not self._exchange:
            return False
        self._was_renewed = True
        self._ask_again()
        return True

    def may_be_sent(self) -> bool:
        """Whether what has waited for its server may be sent as things are now; if not, it is decided on anew."""
        if self._requests.allows(self):
            return True
        self._ask_again()
        return False

    def _ask_again(self) -> None:
        self._stop_timer()
        self._exchange = None
        self._requests.again(self)

    def cancel(self, params: Mapping[str, bytes]) -> None:
        """Take it back upstream, and answer nothing."""
        if self._exchange:
            self._requests.cancel_upstream(self.server, self._exchange, params)
        self._record("cancelled")
        self._end()

    def _stop_timer(self) -> None:
        if self._exchange and self._exchange.timer:
            self._exchange.timer.cancel()

    # ---- what its server asks and says meanwhile

    def question(self, question: Question) -> bool:
        """Ask the client what its server wants to know; whether it can be asked."""
        session, exchange = self._requests.session, self._exchange
        if self.request.id.startswith(OWN) or not can_be_asked(self.request.caller, question.method):
            return False
        if self.request.caller.modern:
            # It goes on upstream meanwhile.
            parked = Parked(self.key, self.record_id, exchange, session.execute.asked)
            parked.arguments_digest = told_apart(self._arguments)
            parked.question(question)
            self._park(parked)
            return True
        if not session.is_reading:
            return False
        followed = session.execute.asked.followed(question, self.server, self.record_id)

        def closed() -> None:
            followed.closed()
            self._questions -= 1
            if exchange and exchange is self._exchange and not self._questions and not self.done:
                self._requests.watch(self.server, exchange)

        session.questions.ask(replace(followed, closed=closed), self)
        self._questions += 1
        self._stop_timer()  # the time of people does not count
        return True

    def _park(self, parked: Parked) -> None:
        self._stop_timer()  # the time of people does not count
        handle = self._requests.session.execute.parking.park(parked)
        result = refusals.own(parked.required(handle), self.request.caller, complete=False)
        self._exchange = None
        self._record("input_required", size=len(result))
        self._end()
        self._answer(result)

    def not_asked(self, question: Question) -> None:
        """Put on record what the client was not asked."""
        asked = self._requests.session.execute.asked
        asked.refused(self.server, question.method, question.params, self.record_id)

    def log(self, raw: Raw) -> None:
        """Pass on what the server logs; a client of 2026-07-28 hears nothing without a level in its request."""
        level = self.request.meta.get(jsonrpc.LOG_LEVEL_KEY, b"null") if self.request.caller.modern else None
        self._requests.session.log(raw, level)

    def progress(self, params: dict[str, bytes]) -> None:
        """Pass on how far it is, to a client that has asked."""
        if token := self.request.meta.get("progressToken"):
            self._requests.session.progress({**params, "progressToken": token})

    # ---- back to who asks

    def result(self, result: memoryview) -> None:
        """Pass on the server's result; a long one is looked at beside the event loop."""
        if self.done:
            return
        look = partial(self._looked, result, self._exchange.connection if self._exchange else None)
        if len(result) <= tool_result.AT_ONCE:
            self._pass_on(result, *look())
        else:
            beside(look).add_done_callback(partial(self._pass_on_later, result))

    def _looked(self, result: Json, connection: Connection | None) -> tuple[bool, Json]:
        """Whether it wants input first, and the result as the client's era has it; in any thread."""
        head, caller, policy = translate.head(result), self.request.caller, self.view.config.policy
        if translate.is_waiting(head):
            return True, result
        if policy.masks:
            result = self._requests.recorder.values.masked(bytes(result))
            head = translate.head(result)
        answer = translate.for_client(result, head, caller, connection)
        if self.method == READ and caller.modern and connection and not connection.modern:
            answer = translate.cacheable(bytes(answer))
        return False, answer

    def _pass_on_later(self, result: memoryview, looked: "asyncio.Future[tuple[bool, Json]]") -> None:
        if self.done:
            return  # taken back, or given up, meanwhile
        try:
            self._pass_on(result, *looked.result())
        except Exception as error:
            self.failed(unpassable(error))

    def _pass_on(self, result: memoryview, wants_input: bool, answer: Json) -> None:
        if wants_input:
            self._want_input(bytes(result))
            return
        self._record("ok", size=len(result))
        self._end()
        self._answer(answer)

    def _want_input(self, result: bytes) -> None:
        """Pass on that the server wants input; for an older client, ask it and ask the server again."""
        session, connection = self._requests.session, self._exchange and self._exchange.connection
        assert connection
        self._record("input_required", size=len(result))
        if not self.request.caller.modern:
            self._exchange = None
            self._rounds = self._rounds or InputRounds(self, session.questions, session.execute.asked)
            self._rounds.begin(result, connection.may_put)
            return
        try:
            named = translate.with_names(result, self.server, connection.may_put)
        except jsonrpc.Malformed:
            self.refuse(Failure("bad_answer", {"reason": input_rounds.ODD}))
            return
        if self.request.id.startswith(OWN):
            session.execute.asked.refused_all(self.server, result, self.record_id)
            self.refuse(Failure("cannot_ask", {"reason": _CANNOT_ASK}))
            return
        if named is None:
            session.execute.asked.refused_all(self.server, result, self.record_id)
            self.refuse(Failure("may_not_ask", {"reason": input_rounds.MAY_NOT_ASK}))
            return
        ask = partial(session.execute.asked.opened, self.server, call_id=self.record_id)
        session.execute.parents.remember(self.key, named, self.record_id, None, ask)
        self._end()
        self._answer(translate.for_client(named, translate.head(named), self.request.caller, connection))

    def error(self, error: bytes) -> None:
        """Pass on the server's error."""
        if self.done:
            return
        connection = self._exchange.connection if self._exchange else None
        policy = self.view.config.policy
        if policy.masks:
            error = self._requests.recorder.values.masked(error)
        self._record("failed", error=error)
        said = mask(error[:300].decode("utf-8", "replace"))
        failure = failed("refused", f"its answer to {self.method} is an error", said=f": {said}").failure
        self._end()
        if self.method == READ and connection and connection.modern is not self.request.caller.modern:
            error = refusals.read_error(error, modern=self.request.caller.modern)
        self._fail(self, failure.about(server=self.server), error)

    def failed(self, failure: Failure) -> None:
        """Answer that its server gave no answer."""
        self.refuse(failure.about(server=self.server))

    def interrupt(self) -> None:
        """Answer that the session ends before its server has answered."""
        self.refuse(Failure("interrupted"))

    def refuse(self, failure: Failure) -> None:
        """Answer that it did not happen, or did not end."""
        if self.done:
            return
        status = "denied" if failure.code in words.DENIED else "failed"
        if failure.code in words.OF_FEATURE | words.DENIED:
            self._requests.recorder.decision_made(
                self.key, "denied", failure.code, call_id=self.record_id, token_id=self.view.token_id,
                origin=self.view.origin,
            )  # fmt: skip
        message = words.for_person(failure).message
        error = msgspec.json.encode({"code": failure.code, "message": message})
        self._record("interrupted" if failure.code == "interrupted" else status, error=error)
        self._end()
        self._fail(self, failure, b"")

    def _record(self, status: str, *, size: int = 0, error: bytes = b"null") -> None:
        """Put its outcome on record, which each round has once."""
        if self._is_recorded:
            return
        self._is_recorded = True
        self._requests.recorder.read_finished(
            self.record_id, _KINDS[self.method], self.server or None, self.owner.uri, status, started=self._started,
            response_bytes=size, error=error, origin=self.view.origin,
        )  # fmt: skip

    def _end(self) -> None:
        """Nothing more is owed to whoever asks."""
        self.done = True
        self._stop_timer()
        if self._rounds:
            self._rounds.end()
        self._requests.ended(self)
