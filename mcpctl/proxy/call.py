"""One call between its start and its one answer: on record, to its server, back to its client."""

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from mcpctl import bounds, hints
from mcpctl.models import Tool
from mcpctl.proxy import jsonrpc, refusals, translate
from mcpctl.proxy.connection import Caller, Connection, Exchange, Failure
from mcpctl.proxy.input_rounds import Rounds
from mcpctl.proxy.messages import beside
from mcpctl.proxy.questions import Parked, Question
from mcpctl.store.recorder import Json, OpenCall

if TYPE_CHECKING:
    from mcpctl.proxy.execute import Execute

_HELP_WAIT_S = 1.0
_helping = ThreadPoolExecutor(1, "help")
_AFTER_SENDING = ("server_died", "timed_out", "answer_unreadable")
"""Failures after which a call that was sent may have taken effect."""


@dataclass(slots=True)
class Asked:
    """A `tool_execute` as the client sent it, and where its answer goes."""

    id: bytes
    caller: Caller
    answer: Callable[["Asked", Json], None]
    answer_error: Callable[["Asked", bytes], None]
    progress: Callable[["Asked", dict[str, bytes]], None] | None = None
    refused: Callable[[str, str], None] | None = None
    """Gets the code and message of a refusal of ours, instead of `answer`."""
    meta: Mapping[str, bytes] = field(default_factory=dict)
    extra: Mapping[str, bytes] = field(default_factory=dict)
    """Members of the request's params that are no concern of ours, such as `inputResponses`."""
    only: str | None = None
    """What alone may be called this way, one of `hints.PERMISSIONS`; None for anything."""


class Call:
    """One call between its start and its one answer."""

    __slots__ = (
        "_exchange", "_execute", "_record", "_rounds", "arguments", "asked", "done", "name", "parent_id", "record_id",
        "recorded", "server", "tool",
    )  # fmt: skip

    def __init__(self, execute: "Execute", asked: Asked, server: str, name: str, arguments: bytes) -> None:
        self.asked = asked
        self.server = server
        self.name = name
        self.arguments = arguments
        self.tool: Tool | None = None
        self.done = False
        self._execute = execute
        self._exchange: Exchange | None = None
        self._record: OpenCall | None = None
        self._rounds: Rounds | None = None
        self.parent_id: str | None = None
        self.record_id = ""
        self.recorded = False
        execute.in_flight[asked.id] = self
        execute.idle.clear()

    def record_start(self, tool: Tool | None) -> None:
        """Put the call on record, with the hints that its tool declares at this moment."""
        asked = self.asked
        self.recorded = True
        self._record = self._execute.recorder.call_started(
            self.server, self.name, self.arguments or b"{}",
            request_id=asked.id, annotations=hints.snapshot(tool), client=asked.caller.client,
            parent_id=self.parent_id,
        )  # fmt: skip
        self.record_id = self._record.id

    def is_with(self, connection: Connection) -> bool:
        """Whether a server is at work on it, over this connection."""
        exchange = self._exchange
        return exchange is not None and connection.pending.get(exchange.id) is exchange

    @property
    def connection(self) -> Connection | None:
        """The connection that it went to, if it was sent."""
        return self._exchange.connection if self._exchange else None

    @property
    def key(self) -> str:
        """The tool's key, as it was asked for."""
        return f"{self.server}:{self.name}" if self.name else self.server

    def send(self, tool: Tool | None, extra: Mapping[str, bytes] | None = None) -> None:
        """Forward it: on record first. `extra` are members of its params besides the tool's name and arguments."""
        self.tool = tool
        self.record_start(tool)
        asked = self.asked
        params = {"name": msgspec.json.encode(self.name), **(asked.extra if extra is None else extra)}
        if self.arguments:
            params["arguments"] = self.arguments
        self._exchange = Exchange(
            "tools/call", params, asked.meta, asked.caller,
            on_result=self._result, on_error=self._error, on_failure=self.fail,
            on_progress=self._progress if "progressToken" in asked.meta else None,
            tool=tool,
        )  # fmt: skip
        self._execute.upstreams[self.server].send(self._exchange)

    def cancel(self, params: dict[str, bytes]) -> None:
        """Take it back upstream, and answer nothing."""
        if not self.recorded:
            self.record_start(None)
        if self._exchange:
            self._execute.upstreams[self.server].cancel(self._exchange, params)
        self.finish("cancelled")
        self.end()

    def ask(self, question: Question) -> None:
        """Answer a client of 2026-07-28 that the tool wants input; the call goes on upstream meanwhile."""
        assert self._exchange
        parked = Parked(self.key, self._exchange, self.record_id)
        parked.add(question)
        self._park(parked)

    def _park(self, parked: Parked) -> None:
        if parked.exchange.timer:
            parked.exchange.timer.cancel()  # the time of people does not count
        result = refusals.own(parked.required(self._execute.parking.park(parked)), self.asked.caller)
        self._exchange = None
        self.finish("input_required", response=result)
        self._answer(result)

    def adopt(self, parked: Parked, responses: Mapping[str, bytes], tool: Tool | None) -> None:
        """Be the call that goes on with a parked one, with the answers that this request brings."""
        self.tool, self.parent_id = tool, parked.record_id
        self.record_start(tool)
        parked.record_id = self.record_id
        exchange = self._exchange = parked.exchange
        exchange.on_result, exchange.on_error, exchange.on_failure = self._result, self._error, self.fail
        exchange.on_progress = self._progress if "progressToken" in self.asked.meta else None
        parked.take(responses)
        if parked.outcome:
            parked.outcome(exchange)
        elif parked.open:
            self._park(parked)
        else:
            self._execute.upstreams[self.server].watch(exchange)

    def refuse(self, status: str, code: str, message: str, in_full: str = "") -> None:
        """Answer with a refusal of our own that a model can act on; people and the record are told it `in_full`."""
        told = in_full or message
        self.finish(status, error=msgspec.json.encode({"code": code, "message": told}))
        if self.asked.refused and not self.done:
            self.asked.refused(code, told)
            self.end()
        else:
            self._answer(refusals.result(message, self.asked.caller))

    def reject(self, message: str, code: int = jsonrpc.INVALID_PARAMS) -> None:
        """Answer a request that breaks the protocol, or breaks us, with a JSON-RPC error."""
        if not self.recorded:
            self.record_start(None)
        error = jsonrpc.error_object(code, f"mcpctl: {message}")
        self.finish("failed", error=error)
        self._answer_error(error)

    def fail(self, failure: Failure) -> None:
        """Answer that the upstream gave no answer. What a server says of it is for people, and no model reads it."""
        message = failure.message
        if not message.startswith("server '"):
            message = f"server '{self.server}': {message}"
        effect = why = ""
        if self.connection and failure.code in _AFTER_SENDING:
            effect = ". The call was sent and may have taken effect; it was not sent again"
        if failure.said:
            see = f"servers check {self.server}" if self.connection is None else f"calls show {self.record_id[:8]}"
            why = f". The user can see why with: mcpctl {see}"
        self.refuse("failed", failure.code, f"{message}{effect}{why}", f"{message}{failure.said}{effect}")

    def finish(self, status: str, *, response: Json = b"null", error: bytes = b"null") -> None:
        """Put the outcome on record."""
        if self._record:
            self._execute.recorder.call_finished(self._record, status, response=response, error=error)
            self._record = None

    def end(self) -> None:
        """Nothing more is owed to the client."""
        self.done = True
        if self._rounds:
            self._rounds.end()
        execute = self._execute
        if execute.in_flight.get(self.asked.id) is self:
            del execute.in_flight[self.asked.id]
        if not execute.in_flight:
            execute.idle.set()

    def _answer(self, result: Json) -> None:
        if not self.done:
            self.asked.answer(self.asked, result)
            self.end()

    def _answer_error(self, error: bytes) -> None:
        if not self.done:
            self.asked.answer_error(self.asked, error)
            self.end()

    def _result(self, result: memoryview) -> None:
        if len(result) <= bounds.AT_ONCE:
            self._answered(result, translate.head(result), None)
            return
        asked, connection = self.asked, self.connection

        def looked_at() -> tuple[translate.Head, Json]:
            top = translate.head(result)
            return top, translate.for_client(result, top, asked.caller, connection)

        read = beside(looked_at)
        read.add_done_callback(lambda done: self._read(result, done))

    def _read(self, result: memoryview, done: "asyncio.Future[tuple[translate.Head, Json]]") -> None:
        if self.done:
            return  # taken back, or given up, meanwhile
        try:
            self._answered(result, *done.result())
        except Exception as error:
            failure = Failure("bad_answer", f"its answer cannot be passed on ({type(error).__name__})")
            self.fail(failure)

    def _answered(self, result: memoryview, top: translate.Head, answer: Json | None) -> None:
        failed = bytes(top.is_error) == b"true"
        waiting = bytes(top.result_type) == b'"input_required"'
        self.finish("tool_error" if failed else "input_required" if waiting else "ok", response=result)
        if waiting and not self.asked.caller.modern:
            self._next_round(bytes(result))
            return
        if waiting:
            self._execute.parents.asked(self.key, bytes(result), self.record_id)
        if answer is None:
            answer = translate.for_client(result, top, self.asked.caller, self.connection)
        if failed:
            self._with_help(answer, translate.with_block, self._answer)
        else:
            self._answer(answer)

    def _next_round(self, result: bytes) -> None:
        self._exchange = None
        if self._rounds is None:
            refuse = partial(self.refuse, "failed")
            self._rounds = Rounds(self.asked.caller, self._execute.questions, self._again, refuse)
        self._rounds.begin(result)

    def _again(self, extra: Mapping[str, bytes]) -> None:
        self.parent_id = self.record_id
        self.send(self.tool, extra)

    def _error(self, error: bytes) -> None:
        self.finish("failed", error=error)
        self._with_help(error, translate.with_data, self._answer_error)

    def _with_help(self, answer: Json, add: Callable[[bytes, str], Json], then: Callable[[Any], None]) -> None:
        """Compare the arguments with the schema aside, where neither an import nor a strange schema holds up others.

        An answer waits for its help no longer than a moment: another server's schemas may take long.
        """
        if self.tool is None:
            then(answer)
            return
        tool, arguments = self.tool, self.arguments

        def helped() -> Json:
            text = refusals.help_with(tool, arguments)
            return add(bytes(answer), text) if text else answer

        loop = asyncio.get_running_loop()
        checked = loop.run_in_executor(_helping, helped)
        too_late = loop.call_later(_HELP_WAIT_S, checked.cancel)

        def give(done: "asyncio.Future[Json]") -> None:
            too_late.cancel()
            # Without help its own answer, as it came, still stands.
            then(answer if done.cancelled() or done.exception() else done.result())

        checked.add_done_callback(give)

    def _progress(self, params: dict[str, bytes]) -> None:
        if self.asked.progress:
            self.asked.progress(self.asked, {**params, "progressToken": self.asked.meta["progressToken"]})
