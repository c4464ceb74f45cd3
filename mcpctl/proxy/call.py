"""One call between its start and its one answer: on record, to its server, back to its client."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Raw

from mcpctl import tool_keys
from mcpctl.failure import Failure
from mcpctl.models import Tool
from mcpctl.policy.decide import ALLOW, CALL, KEPT, RESUME, Subject, Verdict
from mcpctl.policy.view import View
from mcpctl.proxy import argument_help, input_rounds, refusals, task_calls, tool_result, translate
from mcpctl.proxy.call_record import CallRecord
from mcpctl.proxy.client_side import CallRequest
from mcpctl.proxy.input_rounds import InputRounds
from mcpctl.proxy.parking import Parked, told_apart
from mcpctl.proxy.questions import can_be_asked
from mcpctl.proxy.tool_result import ToolResult
from mcpctl.store.recordable import Json
from mcpctl.upstreams import connection as upstream
from mcpctl.upstreams.connection import Connection, Exchange, Reply
from mcpctl.upstreams.question import Question
from mcpctl.wire import jsonrpc
from mcpctl.wire.messages import beside

if TYPE_CHECKING:
    from mcpctl.proxy.execute import Execute


class Call(Reply):
    """One call between its start and its one answer."""

    __slots__ = (
        "_exchange", "_execute", "_questions", "_rounds", "_was_renewed", "arguments", "arguments_digest",
        "consent", "done", "extra",
        "listing", "name", "parent_id", "parked", "record", "request", "responses", "server", "tool", "verdict",
        "view",
    )  # fmt: skip

    def __init__(
        self, execute: "Execute", request: CallRequest, view: View, server: str, name: str, arguments: bytes
    ) -> None:
        self.request = request
        self.view = view
        self.server = server
        self.name = name
        self.arguments = arguments
        self.extra = request.extra
        self.tool: Tool | None = None
        self.listing = KEPT
        self.parked: Parked | None = None
        """The call that this one goes on with."""
        self.responses: Mapping[str, bytes] = {}
        """The client's answers to what was asked, by the keys that it saw."""
        self.arguments_digest = ""
        """What `consent.digest_of` gives for the arguments, where that was asked for."""
        self.verdict = Verdict(ALLOW)
        """What was last decided."""
        self.consent: str | None = None
        """What the user has said yes to, of this call."""
        self.parent_id: str | None = None
        self.record = CallRecord(self, execute.recorder)
        self.done = False
        self._questions = 0
        """How many questions of its server's an older client is being asked."""
        self._was_renewed = False
        self._execute = execute
        self._exchange: Exchange | None = None
        self._rounds: InputRounds | None = None
        execute.in_flight[request.id] = self
        execute.idle.clear()

    @property
    def key(self) -> str:
        """The tool's key, as it was asked for."""
        return tool_keys.join(self.server, self.name)

    @property
    def record_id(self) -> str:
        """Its id on record."""
        return self.record.id

    @property
    def subject(self) -> Subject:
        """What is to be decided on, as far as it is known."""
        return Subject(
            RESUME if self.parked else CALL, self.server, self.name, self.tool, self.view, self.request.execute_class,
            self.arguments_digest, self.listing, self._execute.recorder.session_id, self.consent,
        )  # fmt: skip

    # ---- to its server

    def go(self) -> None:
        """Forward it, on record first; or go on with the call that it was parked as."""
        self.record.start()
        self.record.note_exception()
        parked, self.parked = self.parked, None
        if parked and parked.exchange:
            self._adopt(parked, parked.exchange)
            return
        params = {"name": msgspec.json.encode(self.name), **self.extra}
        if self.arguments:
            params["arguments"] = self.arguments
        if task_calls.runs_as_task(self.tool):
            params |= task_calls.PARAMS
        self._exchange = Exchange(upstream.CALL, params, self.request.meta, self.request.caller, self, self.tool)
        self._execute.send(self.server, self._exchange, self)

    def _adopt(self, parked: Parked, exchange: Exchange) -> None:
        """Be the call that goes on with a parked one, with the answers that this request brings."""
        parked.record_id = self.record_id
        self._exchange, exchange.reply = exchange, self
        parked.take(self, self.responses)
        if parked.outcome:
            parked.outcome(self)
        elif parked.open:
            self._park(parked)
        else:
            self._execute.watch(self.server, exchange)

    def repeat(self, extra: Mapping[str, bytes]) -> None:
        """Call the tool again, with these members of its params: a call of its own, decided on anew."""
        self.parent_id, self.record = self.record_id, CallRecord(self, self._execute.recorder)
        self.extra = extra
        self._execute.again(self)

    def not_taken(self, exchange: Exchange) -> bool:
        """A server that had gone, or has forgotten us, is connected anew; twice would be a circle."""
        if self._was_renewed or exchange is not self._exchange or exchange.method != upstream.CALL:
            return False
        self._was_renewed = True
        if exchange.timer:
            exchange.timer.cancel()
        self._exchange = None
        self._execute.again(self)
        return True

    def may_be_sent(self) -> bool:
        """Whether what has waited for its server may be sent as things are now; if not, it is decided on anew."""
        if self._execute.allows(self):
            return True
        if self._exchange and self._exchange.timer:
            self._exchange.timer.cancel()
        self._exchange = None
        self._execute.again(self)
        return False

    def cancel(self, params: dict[str, bytes]) -> None:
        """Take it back upstream, and answer nothing."""
        self.record.start()
        if self._exchange:
            self._execute.cancel_upstream(self.server, self._exchange, params)
        self.record.end("cancelled")
        self._end()

    # ---- what its server asks and says meanwhile

    def question(self, question: Question) -> bool:
        """Ask the client what the tool wants to know; whether it can be asked."""
        caller = self.request.caller
        if not can_be_asked(caller, question.method):
            return False
        if not caller.modern:
            return self._ask_older(question)
        # The call goes on upstream meanwhile.
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
        if exchange and exchange.timer:
            exchange.timer.cancel()  # the time of people does not count
        return True

    def not_asked(self, question: Question) -> None:
        """Put on record what the client was not asked."""
        self._execute.asked.refused(self.server, question.method, question.params, self.record_id)

    def ask(self, question: Question, asked: object = None) -> None:
        """Ask a client of 2026-07-28, before anything is sent (`asked`, by us) or in the middle; its answer comes with
        the call that goes on."""
        self.record.start()
        parked = Parked(self.key, self.record_id, self._exchange, self._execute.asked)
        parked.arguments_digest, parked.consent, parked.asked = told_apart(self.arguments), self.consent, asked
        parked.question(question)
        self._park(parked)

    def _park(self, parked: Parked) -> None:
        if parked.exchange and parked.exchange.timer:
            parked.exchange.timer.cancel()  # the time of people does not count
        result = refusals.own(parked.required(self._execute.parking.park(parked)), self.request.caller, complete=False)
        self._exchange = None
        self.record.end("input_required", response=result)
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

    def refuse(self, failure: Failure) -> None:
        """Answer that it did not happen, or did not end."""
        self.record.refuse(failure)
        if not self.done:
            self._execute.client.refused(self.request, failure, self.record_id)
            self._end()

    def reject(self, message: str, code: int = jsonrpc.INVALID_PARAMS) -> None:
        """Answer a request that breaks the protocol, or breaks us, with a JSON-RPC error."""
        self.record.start()
        error = jsonrpc.error_object(code, f"mcpctl: {message}")
        self.record.end("failed", error=error)
        self._answer_error(error)

    def interrupt(self) -> None:
        """Answer that the session ends before the tool has answered."""
        self.refuse(Failure("interrupted", was_sent=self._exchange is not None and self._exchange.was_sent))

    def failed(self, failure: Failure) -> None:
        """Answer that the upstream gave no answer."""
        self.refuse(failure.about(server=self.server))

    def result(self, result: memoryview) -> None:
        """Pass on the server's result; a long one is looked at beside the event loop."""
        if awaited := task_calls.awaited(result, self._exchange, self.request.caller, self):
            connection, self._exchange = self._connection, awaited
            assert connection
            self._execute.watch(self.server, awaited)
            connection.send(awaited)  # no other knows of the task
            return
        caller, values = self.request.caller, self._execute.recorder.values
        look = partial(tool_result.look, result, caller, self._connection, values, masks=self._masks)
        if len(result) <= tool_result.AT_ONCE:
            self._pass_on(look())
        else:
            beside(look).add_done_callback(self._looked_at)

    @property
    def _masks(self) -> bool:
        return self.view.config.policy.masks

    def _looked_at(self, done: "asyncio.Future[ToolResult]") -> None:
        if self.done:
            return  # taken back, or given up, meanwhile
        try:
            self._pass_on(done.result())
        except Exception as error:
            self.failed(upstream.unpassable(error))

    @property
    def _connection(self) -> Connection | None:
        return self._exchange.connection if self._exchange else None

    def _pass_on(self, result: ToolResult) -> None:
        if result.wants_input:
            self._want_input(result)
            return
        is_long = len(result.result) > self.view.config.least_limit
        if not (is_long and self._execute.shortening.begin(self, result)):
            self.deliver(result)

    def deliver(self, result: ToolResult, short: bytes | None = None) -> None:
        """Put a result on record, and answer with it, or with what stands for it."""
        self.record.end(
            "tool_error" if result.is_error else "ok", response=result.result, recorded=result.recorded,
            delivered=None if short is None else len(short),
        )  # fmt: skip
        if result.is_error:
            self._with_help(result.answer, translate.with_block, self._answer)
        else:
            self._answer(result.answer if short is None else short)

    def _want_input(self, result: ToolResult) -> None:
        """Pass on that the tool wants input; for an older client, ask it and call the tool again."""
        connection, text = self._connection, bytes(result.result)
        assert connection
        if not self.request.caller.modern:
            self.record.end("input_required", response=text, recorded=result.recorded)
            self._exchange = None
            self._rounds = self._rounds or InputRounds(self, self._execute.questions, self._execute.asked)
            self._rounds.begin(text, connection.may_put)
            return
        try:
            named = translate.with_names(text, self.server, connection.may_put)
        except jsonrpc.Malformed:
            self.refuse(Failure("bad_answer", {"reason": input_rounds.ODD}))
            return
        if named is None:
            self._execute.asked.refused_all(self.server, text, self.record_id)
            self.refuse(Failure("may_not_ask", {"reason": input_rounds.MAY_NOT_ASK}))
            return
        self.record.end("input_required", response=text, recorded=result.recorded)
        ask = partial(self._execute.asked.opened, self.server, call_id=self.record_id)
        self._execute.parents.remember(self.key, named, self.record_id, self.consent, ask)
        self._answer(translate.for_client(named, translate.head(named), self.request.caller, connection))

    def error(self, error: bytes) -> None:
        """Pass on the server's error."""
        error = self._execute.recorder.values.masked(error) if self._masks else error
        self.record.end("failed", error=error)
        self._with_help(error, translate.with_data, self._answer_error)

    def _with_help(self, answer: Json, add: Callable[[bytes, str], Json], then: Callable[[Any], None]) -> None:
        if self.tool is None or self.request.as_sent:
            then(answer)
        else:
            argument_help.give(self.tool, self.arguments, answer, add, then)

    def _answer(self, result: Json) -> None:
        if not self.done:
            self._execute.client.answer(self.request, result)
            self._end()

    def _answer_error(self, error: bytes) -> None:
        if not self.done:
            self._execute.client.error(self.request, error)
            self._end()

    def _end(self) -> None:
        """Nothing more is owed to the client."""
        self.done = True
        if self._rounds:
            self._rounds.end()
        self._execute.ended(self)
