"""One call between its start and its one answer: on record, to its server, back to its client."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from mcpctl import tool_keys
from mcpctl.catalog.features import Owner
from mcpctl.failure import Failed, Failure
from mcpctl.models import Tool
from mcpctl.policy.decide import ALLOW, CALL, KEPT, RESUME, Subject, Verdict
from mcpctl.policy.view import View
from mcpctl.proxy import argument_help, task_calls, tool_result, translate
from mcpctl.proxy.call_record import CallRecord
from mcpctl.proxy.client_side import CallRequest
from mcpctl.proxy.forwarded import Forwarded
from mcpctl.proxy.parking import Parked
from mcpctl.proxy.tool_result import ToolResult
from mcpctl.store.recordable import Json
from mcpctl.tool_keys import OWN
from mcpctl.upstreams import connection as upstream
from mcpctl.upstreams.connection import Exchange
from mcpctl.upstreams.question import Question
from mcpctl.wire import jsonrpc

if TYPE_CHECKING:
    from mcpctl.proxy.execute import Execute


class Call(Forwarded):
    """One call between its start and its one answer."""

    __slots__ = (
        "arguments_digest", "fetched", "listing", "name", "owner", "parent_id", "parked", "record", "responses",
        "server", "tool", "verdict", "view",
    )  # fmt: skip
    server: str

    def __init__(
        self, execute: "Execute", request: CallRequest, view: View, server: str, name: str, arguments: bytes
    ) -> None:
        super().__init__(execute, request, arguments)
        self.view = view
        self.server = server
        self.name = name
        self.tool: Tool | None = None
        self.owner: Owner | Failed | None = None
        """Where it is to read a resource for the model: whose that is, or why it is nobody's, once that is known."""
        self.fetched: Subject | None = None
        """Reading that, as the policy decides on it."""
        self.listing = KEPT
        self.parked: Parked | None = None
        """The call that this one goes on with."""
        self.responses: Mapping[str, bytes] = {}
        """The client's answers to what was asked, by the keys that it saw."""
        self.arguments_digest = ""
        """What `consent.digest_of` gives for the arguments, where that was asked for."""
        self.verdict = Verdict(ALLOW)
        """What was last decided."""
        self.parent_id: str | None = None
        self.record = CallRecord(self, execute.recorder)
        execute.in_flight.add(self)

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
        if self.fetched:
            return self.fetched._replace(
                arguments_digest=self.arguments_digest, session=self._execute.recorder.session_id, consent=self.consent
            )
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
            self._adopt(parked, parked.exchange, self.responses)
            return
        params = {"name": msgspec.json.encode(self.name), **self.extra}
        if self.arguments:
            params["arguments"] = self.arguments
        if task_calls.runs_as_task(self.tool):
            params |= task_calls.PARAMS
        self._exchange = Exchange(upstream.CALL, params, self.request.meta, self.request.caller, self, self.tool)
        self._execute.send(self.server, self._exchange, self)

    def repeat(self, extra: Mapping[str, bytes]) -> None:
        """Call the tool again, with these members of its params: a call of its own, decided on anew."""
        self.parent_id, self.record = self.record_id, CallRecord(self, self._execute.recorder)
        self.extra = extra
        self._again()

    def _again(self) -> None:
        self._execute.again(self)

    def _is_allowed(self) -> bool:
        return self._execute.allows(self)

    def cancel(self, params: dict[str, bytes]) -> None:
        """Take it back upstream, and answer nothing."""
        self.record.start()
        if self._exchange:
            self._execute.cancel_upstream(self.server, self._exchange, params)
        self.record.end("cancelled")
        self._end()

    def ask(self, question: Question, asked: object = None) -> None:
        """As `Forwarded` has it; on record from then on, if it was not before."""
        self.record.start()
        super().ask(question, asked)

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
        self._look(len(result), look, self._pass_on)

    @property
    def _masks(self) -> bool:
        return self.view.config.policy.masks

    def _pass_on(self, result: ToolResult) -> None:
        if result.wants_input:
            self._ask_first(bytes(result.result), result.recorded)
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

    def _record_wanted_input(self, result: Json, recorded: bytes | None = None) -> None:
        self.record.end("input_required", response=result, recorded=recorded)

    def error(self, error: bytes) -> None:
        """Pass on the server's error."""
        error = self._execute.recorder.values.masked(error) if self._masks else error
        self.record.end("failed", error=error)
        self._with_help(error, translate.with_data, self._answer_error)

    def _with_help(self, answer: Json, add: Callable[[bytes, str], Json], then: Callable[[Any], None]) -> None:
        if self.tool is None or self.request.as_sent or self.server == OWN:
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
        super()._end()
        self._execute.ended(self)
