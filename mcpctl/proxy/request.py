"""One request of a client's between its coming and its one answer: a tool call, a prompt, a resource, a completion.

Its `Spec` says which of them it is. All of them go the same way: decided on, put on record, sent, and answered once.
While its client or a person is asked something the request waits, and `Dispatcher.again` is the one way back.
"""

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType

from msgspec import Raw
from msgspec.structs import replace

from mcpctl.base.failure import Failed, Failure
from mcpctl.base.models import Tool
from mcpctl.catalog.features import FeatureOwner
from mcpctl.config.policy_settings import PolicyRule
from mcpctl.policy.decide import ALLOW, ASK, CALL, KEPT, RESUME, Subject, Verdict
from mcpctl.policy.view import View
from mcpctl.proxy import input_rounds, translate
from mcpctl.proxy.input_rounds import InputRounds, Parked, told_apart
from mcpctl.proxy.questions import Questions, can_be_asked
from mcpctl.proxy.spec import AT_ONCE, Barring, Dispatcher, Incoming, Looked, Spec
from mcpctl.store.recordable import Json
from mcpctl.upstreams.connection import TASKS_RESULT, Exchange, Reply, unpassable
from mcpctl.upstreams.question import Question
from mcpctl.wire import jsonrpc
from mcpctl.wire.threads import beside

_NOBODY = "it wants to know something first, and nobody can be asked here"


class Request(Reply):
    awaited: "asyncio.Future[bytes] | None" = None  # set where not a client but mcpctl itself waits for the answer
    barring: Barring | None = None  # a further reason why it may not be sent, where something else decides on it, too
    is_found = True  # whether it is known what it asks for: it is not on record before
    tool: Tool | None = None
    owner: FeatureOwner | Failed | None = None  # the owner of a prompt or resource, or why it has none, once known
    fetched: Subject | None = None  # the reading of that for a model, as the policy decides on it
    listing = KEPT
    has_looked = False  # whether servers of which nothing was known were asked on its account
    verdict = Verdict(ALLOW)
    arguments_digest = ""  # `consent.digest_of` the arguments, where that was needed
    unanswered: Failure | None = None  # the refusal where the question about it gets no answer, once it is asked
    consent: str | None = None  # the `binding` that the user has said yes to
    counts_for: Sequence[PolicyRule] | None = None  # the limits that it counts for, once it does
    parked: Parked | None = None  # the request that this one goes on with
    responses: Mapping[str, bytes] = MappingProxyType({})
    work: "asyncio.Task[None] | None" = None  # the task that looks into it before it is sent
    timer: asyncio.TimerHandle | None = None
    done = False
    exchange: Exchange | None = None
    _rounds: InputRounds | None = None
    _questions = 0  # open questions of its server to an older client
    _was_renewed = False

    def __init__(
        self, dispatch: Dispatcher["Request"], spec: Spec["Request"], incoming: Incoming, view: View, key: str,
        server: str, name: str, passed: Json,
    ) -> None:  # fmt: skip
        """`key` tells what it asks for; `server` is empty if not known; `passed` are its arguments in JSON."""
        self._dispatch = dispatch
        self.spec = spec
        self.incoming = incoming
        self.caller = incoming.caller
        self.view = view
        self.key = key
        self.server = server
        self.name = name
        self.passed = passed
        self.extra = incoming.extra
        self.execute_class = incoming.execute_class
        self.parent_id = incoming.replays
        self.record = spec.record(self)

    @property
    def questions(self) -> Questions:
        return self._dispatch.questions

    @property
    def arguments(self) -> bytes:
        """A copy for whoever looks into the arguments; to be sent and recorded they need not be copied."""
        return bytes(self.passed)

    @property
    def subject(self) -> Subject:
        session = self._dispatch.recorder.session_id
        if self.fetched:
            return self.fetched._replace(arguments_digest=self.arguments_digest, session=session, consent=self.consent)
        return Subject(
            RESUME if self.parked else CALL, self.server, self.name, self.tool, self.view, self.execute_class,
            self.arguments_digest, self.listing, session, self.consent, is_direct=bool(self.incoming.via),
            is_counted=self.counts_for is not None,
        )  # fmt: skip

    @property
    def is_at_work(self) -> bool:
        """Whether the running task is still the one that decides on it: it was not sent or ended meanwhile."""
        return self.work is asyncio.current_task()

    # ---- to its server

    def go(self) -> None:
        """Forward it, on record first; or go on with the request that was parked."""
        self.record.start()
        if self.verdict.failure or self.verdict.ruling:
            self.record.note_exception()
        parked, self.parked = self.parked, None
        if parked and parked.exchange:
            self._adopt(parked, parked.exchange)
            return
        self.exchange = self.spec.exchange(self)
        self._dispatch.send(self, self.exchange)

    def _adopt(self, parked: Parked, exchange: Exchange) -> None:
        parked.record_id = self.record.id
        self.exchange, exchange.reply = exchange, self
        parked.take(self, self.responses)
        if parked.outcome:
            parked.outcome(self)
        elif parked.open:
            self._park(parked)
        else:
            self._dispatch.watch(self.server, exchange)

    def repeat(self, extra: Mapping[str, bytes]) -> None:
        """Ask for the same again, with these members of its params: on record as another, and decided on again."""
        self.parent_id, self.record = self.record.id, self.spec.record(self)
        self.extra = {**self.incoming.extra, **extra} if self.spec.keeps_params else extra
        self._dispatch.again(self)

    def not_taken(self, exchange: Exchange) -> bool:
        """Reconnect once if the server was gone or lost our session."""
        if self._was_renewed or exchange is not self.exchange or exchange.method == TASKS_RESULT:
            return False
        self._was_renewed = True
        self._send_again()
        return True

    def may_be_sent(self) -> bool:
        """Whether a request that waited for its server may be sent as things are now; else it is decided on again."""
        if self.done:
            return False
        if self._dispatch.allows(self):
            return True
        self._send_again()
        return False

    def _send_again(self) -> None:
        self._stop_clock()
        self.exchange = None
        self._dispatch.again(self)

    def cancel(self, params: dict[str, bytes]) -> None:
        self.record.start()
        if self.exchange:
            self._dispatch.cancel_upstream(self.server, self.exchange, params)
        self.record.end("cancelled")
        self.end()

    def give_up(self, failure: Failure) -> None:
        if self.exchange:
            self._dispatch.cancel_upstream(self.server, self.exchange, {"reason": b'"it took too long"'})
        self.refuse(failure)

    def interrupt(self) -> None:
        interrupted = Failure("interrupted", was_sent=self.exchange is not None and self.exchange.was_sent)
        self.refuse(self.unanswered if self.unanswered and self.verdict.outcome == ASK else interrupted)

    def _stop_clock(self) -> None:
        if self.exchange and self.exchange.timer:
            self.exchange.timer.cancel()

    # ---- the client or a person is asked first

    def question(self, question: Question) -> bool:
        if self.awaited or not self.spec.may_ask or not can_be_asked(self.caller.capabilities, question.method):
            return False
        if not self.caller.modern:
            return self._ask_older(question)
        self.ask(question)
        return True

    def _ask_older(self, question: Question) -> bool:
        exchange, followed = self.exchange, self._dispatch.question_log.followed(question, self.server, self.record.id)

        def closed() -> None:
            followed.closed()
            self._questions -= 1
            if exchange and exchange is self.exchange and not self._questions and not self.done:
                self._dispatch.watch(self.server, exchange)

        if not self._dispatch.client.is_reading:
            return False
        self._dispatch.questions.ask(replace(followed, closed=closed), self)
        self._questions += 1
        self._stop_clock()  # the time of people does not count
        return True

    def not_asked(self, question: Question) -> None:
        self._dispatch.question_log.refused(self.server, question.method, question.params, self.record.id)

    def ask(self, question: Question, form: object = None) -> None:
        """Ask a newer client, before anything is sent (with our `form`) or in the middle; another request answers."""
        self.record.start()
        parked = Parked(self.server, self.key, self.record.id, self.exchange, self._dispatch.question_log)
        parked.arguments_digest, parked.consent, parked.form = told_apart(self.arguments), self.consent, form
        parked.question(question)
        self._park(parked)

    def _park(self, parked: Parked) -> None:
        self._stop_clock()  # the time of people does not count
        result = translate.own_result(parked.required(self._dispatch.parking.park(parked)), self.caller, complete=False)
        self.exchange = None
        values = self._dispatch.recorder.values
        recorded = values.json(parked.form.on_record(result)) if parked.form else None
        self.record.end("input_required", response=result, recorded=recorded)
        self.answer(result)

    def _ask_first(self, result: bytes, recorded: bytes) -> None:
        """Pass on that its server wants input first; for an older client, ask it and ask the server again."""
        dispatch = self._dispatch
        assert self.exchange
        connection = self.exchange.connection
        assert connection
        if not self.caller.modern:
            self.record.end("input_required", response=result, recorded=recorded)
            self.exchange = None
            self._rounds = self._rounds or InputRounds(self, dispatch.questions, dispatch.question_log)
            self._rounds.begin(result, connection.may_put, self.record.id)
            return
        try:
            named = translate.with_names(result, self.server, connection.may_put)
        except jsonrpc.Malformed:
            self.refuse(Failure("bad_answer", {"reason": input_rounds.ODD}))
            return
        if named is None or self.awaited:
            code, why = ("cannot_ask", _NOBODY) if self.awaited else ("may_not_ask", input_rounds.MAY_NOT_ASK)
            dispatch.question_log.refused_all(self.server, result, self.record.id)
            self.refuse(Failure(code, {"reason": why}))
            return
        self.record.end("input_required", response=result, recorded=recorded)
        ask = partial(dispatch.question_log.opened, self.server, call_id=self.record.id)
        dispatch.parents.remember(self.key, named, self.record.id, self.consent, ask)
        self.answer(translate.for_client(named, translate.head(named), self.caller, connection))

    # ---- back to its client

    def log(self, raw: Raw) -> None:
        """A client of 2026-07-28 gets no log messages without a level in its request."""
        level = self.incoming.meta.get(jsonrpc.LOG_LEVEL_KEY, b"null") if self.caller.modern else None
        self._dispatch.client.log(raw, level)

    def progress(self, params: dict[str, bytes]) -> None:
        if token := self.incoming.meta.get("progressToken"):
            self._dispatch.client.progress({**params, "progressToken": token})

    def result(self, result: memoryview) -> None:
        """Pass on the server's result; a long one is looked at beside the event loop."""
        exchange = self.exchange
        if self.done or exchange is None or ("task" in exchange.params and self._awaits_task(exchange, result)):
            return
        if len(result) <= AT_ONCE:
            self._pass_on(self.spec.look(self, exchange.connection, result))
        else:
            beside(self.spec.look, self, exchange.connection, result).add_done_callback(self._looked)

    def _awaits_task(self, exchange: Exchange, result: memoryview) -> bool:
        """Ask for the result of the task that a call was answered with; whether it was answered with one."""
        awaited = translate.awaited(result, exchange, self.caller, self)
        connection = exchange.connection
        if awaited and connection:
            self.exchange = awaited
            self._dispatch.watch(self.server, awaited)
            connection.send(awaited)  # no other knows of the task
        return awaited is not None

    def _looked(self, done: "asyncio.Future[Looked]") -> None:
        if self.done:
            return  # taken back, or given up, meanwhile
        try:
            self._pass_on(done.result())
        except Exception as error:
            self.failed(unpassable(error))

    def _pass_on(self, result: Looked) -> None:
        if result.wants_input:
            self._ask_first(bytes(result.result), result.recorded)
        else:
            self.spec.deliver(self, result)

    def error(self, error: bytes) -> None:
        if not self.done:
            self.spec.error(self, error)

    def failed(self, failure: Failure) -> None:
        self.refuse(failure.about(server=self.server))

    def refuse(self, failure: Failure) -> None:
        if not self.done:
            if self.counts_for and not failure.was_sent:
                self._dispatch.count_no_more(self, self.counts_for)
            self.record.refuse(failure)
            self.spec.refuse(self, failure)

    def reject(self, message: str, code: int = jsonrpc.INVALID_PARAMS) -> None:
        if not self.done:
            self.spec.reject(self, message, code)

    def answer(self, result: Json) -> None:
        if not self.done:
            if self.awaited is None:
                self._dispatch.client.answer(self.incoming, result)
            elif not self.awaited.done():
                self.awaited.set_result(bytes(result))
            self.end()

    def answer_error(self, error: bytes) -> None:
        if not self.done:
            self._dispatch.client.error(self.incoming, error)
            self.end()

    def end(self) -> None:
        self.done = True
        if self._rounds:
            self._rounds.end()
        if self.timer:
            self.timer.cancel()
        self._dispatch.ended(self)
        # They refer to each other, and what is large would be there until garbage is collected.
        self.passed, self.exchange = b"", None
