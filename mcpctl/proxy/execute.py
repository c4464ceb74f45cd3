"""One `tool_execute`: find the tool, permit it, put it on record, forward it, put its outcome on record, answer."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

import msgspec

from mcpctl.catalog import hints
from mcpctl.catalog.cache import Catalog
from mcpctl.models import Tool
from mcpctl.proxy import jsonrpc, metatools, refusals, translate
from mcpctl.proxy.connection import Caller, Connection, Exchange, Failure
from mcpctl.proxy.questions import HANDLE, Parked, Parking, Question, Questions
from mcpctl.proxy.rounds import Parents, Rounds
from mcpctl.proxy.upstreams import DidNotStart, Upstream
from mcpctl.store.recorder import Json, OpenCall, Recorder

_INTERRUPTED = "the session is ending before the tool has answered; the call may have taken effect"
_NOT_OPEN = "this requestState is not open (a tool's question waits for ten minutes, once); call the tool again"


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


class Execute:
    """Runs calls against the upstreams. Holds those in flight, by the client's request id."""

    def __init__(
        self,
        catalog: Catalog,
        upstreams: Mapping[str, Upstream],
        recorder: Recorder,
        questions: Questions,
        look_at_toolset: Callable[[], None],
    ) -> None:
        self._look_at_toolset = look_at_toolset
        self.in_flight: dict[bytes, Call] = {}
        self.idle = asyncio.Event()
        self.idle.set()
        self.catalog = catalog
        self.upstreams = upstreams
        self.recorder = recorder
        self.questions = questions
        self.parking = Parking(self._give_up)
        self.parents = Parents()
        self._looking: dict[Call, asyncio.Task[None]] = {}
        """The calls that wait for their server's list, in the order in which they came."""

    def start(self, asked: Asked, arguments: bytes) -> None:
        """Begin one call; `arguments` is the JSON of `{toolKey, arguments?}`."""
        try:
            key, passed = _taken_apart(arguments)
        except ValueError as error:
            asked.answer(asked, refusals.result(str(error), asked.caller))
            return
        if asked.id in self.in_flight:
            asked.answer_error(
                asked, jsonrpc.error_object(jsonrpc.INVALID_REQUEST, "this id is in use by another call")
            )
            return
        server, _, name = key.partition(":")
        self._look_at_toolset()
        call = Call(self, asked, server, name, passed)
        state = asked.extra.get("requestState", b"")
        try:
            responses = _responses(asked.extra.get("inputResponses", b"null"))
            if responses is None:
                call.reject("inputResponses must be an object")
            elif state.startswith(HANDLE):
                self._resume(call, state, responses)
            elif state and self._is_older(server):
                call.reject(_NOT_OPEN)  # no server of its kind has given it
            else:
                call.parent_id = self.parents.of(key, state, responses)
                self._begin(call)
        except BaseException as error:
            # Whoever called answers that it failed.
            call.finish("failed", error=msgspec.json.encode({"code": "internal", "message": repr(error)}))
            call.end()
            raise

    def _begin(self, call: "Call") -> None:
        tool = self.catalog.find(call.server, call.name)
        refusal = self._refused(call.server, call.name) or self._left_out(call, tool)
        if refusal:
            call.record_start(tool)
            call.refuse(*refusal)
        elif tool:
            self.listed(call.server)
            call.send(tool)
        else:
            task = self._looking[call] = asyncio.create_task(self._look_again(call))
            task.add_done_callback(lambda _: self._looking.pop(call))

    def listed(self, server: str) -> None:
        """Send the calls that waited for what a server has listed now: before any that comes later."""
        for call in list(self._looking):
            if call.server == server and not call.recorded and (tool := self.catalog.find(server, call.name)):
                self._send(call, tool)

    def asked_by(self, connection: Connection) -> "Call | None":
        """The call that a server's question is about: its latest, since the protocol does not say which."""
        calls = (call for call in reversed(self.in_flight.values()) if call.is_with(connection))
        return next(calls, None)

    def _resume(self, call: "Call", handle: bytes, responses: Mapping[str, bytes]) -> None:
        """Go on with a call that has waited for its client's answers."""
        parked = self.parking.resume(handle, f"{call.server}:{call.name}")
        if parked is None:
            call.reject(_NOT_OPEN)
            return
        call.adopt(parked, responses, self.catalog.find(call.server, call.name))

    def _is_older(self, server: str) -> bool:
        connection = self.upstreams[server].connection if server in self.upstreams else None
        return connection is not None and not connection.modern

    def _give_up(self, parked: Parked) -> None:
        """Nobody came back: the server is told so."""
        server = parked.key.partition(":")[0]
        self.upstreams[server].cancel(parked.exchange, {"reason": b'"the user did not answer"'})

    def cancel(self, request_id: bytes, params: dict[str, bytes]) -> None:
        """The client takes a call back: so do we upstream; there is no answer."""
        call = self.in_flight.get(request_id)
        if call:
            call.cancel(params)

    def interrupt(self) -> None:
        """End every call in flight: on record as interrupted, and answered so."""
        for call in list(self.in_flight.values()):
            if not call.recorded:
                call.record_start(None)
            call.refuse("interrupted", "interrupted", _INTERRUPTED)

    def _refused(self, server: str, name: str) -> tuple[str, str, str] | None:
        config = self.catalog.config
        if server in self.upstreams:
            if config.servers[server].permits(name):
                return None
            message = f"tool '{server}:{name}' is not permitted by the user's configuration; do not retry it"
            return "denied", "not_permitted", message
        if server in config.elsewhere:
            return "denied", "not_in_project", f"{config.not_in_project(server).message}; do not retry it"
        if server in config.problems:
            return "failed", "server_unusable", f"server '{server}' cannot be used: {config.problems[server]}"
        if server in config.servers:
            return "denied", "server_disabled", f"server '{server}' is disabled in the user's configuration"
        return "failed", "unknown_tool", refusals.unknown(f"{server}:{name}" if name else server, self.catalog)

    def _left_out(self, call: "Call", tool: Tool | None) -> tuple[str, str, str] | None:
        """Why a call that its server would take is refused; of a tool not known yet, only what its name tells."""
        toolset = self.catalog.toolset
        if toolset and not (toolset.holds(tool) if tool else toolset.may_hold(call.server, call.name)):
            told = refusals.not_in_toolset(f"{call.server}:{call.name}", tool, toolset, self.catalog)
            return "denied", "not_in_toolset", told
        if tool and call.asked.only and (needed := hints.permission(tool)) != call.asked.only:
            right, wrong = metatools.execute_with(needed), metatools.execute_with(call.asked.only)
            return "denied", "wrong_execute", f"tool '{tool.key}' is not called with {wrong} but with {right}"
        return None

    async def _look_again(self, call: "Call") -> None:
        """A tool that is not in the cache may be new: its server is asked once before it is refused."""
        upstream = self.upstreams[call.server]
        try:
            await upstream.refresh(call.asked.caller)
        except DidNotStart as error:
            if not call.recorded:
                call.record_start(None)
                call.fail(Failure("server_did_not_start", str(error)))
            return
        except Exception:
            # It runs but its list cannot be had or kept: its own answer to the call is worth more than our doubt.
            if not call.recorded:
                self._send(call, None)
            return
        if call.recorded:
            return  # sent when its tool was listed, or taken back
        tool = self.catalog.find(call.server, call.name)
        if tool is None:
            call.record_start(None)
            call.refuse("failed", "unknown_tool", refusals.unknown(f"{call.server}:{call.name}", self.catalog))
        else:
            self._send(call, tool)

    def _send(self, call: "Call", tool: Tool | None) -> None:
        """Forward a call once all that can be known of its tool is; what is not counts against it."""
        if refusal := self._left_out(call, tool or Tool(call.server, call.name, {}, "{}")):
            call.record_start(tool)
            call.refuse(*refusal)
        else:
            call.send(tool)


class Call:
    """One call between its start and its one answer."""

    __slots__ = (
        "_exchange", "_execute", "_record", "_rounds", "arguments", "asked", "done", "name", "parent_id", "record_id",
        "recorded", "server", "tool",
    )  # fmt: skip

    def __init__(self, execute: Execute, asked: Asked, server: str, name: str, arguments: bytes) -> None:
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
        parked = Parked(f"{self.server}:{self.name}", self._exchange, self.record_id)
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

    def refuse(self, status: str, code: str, message: str) -> None:
        """Answer with a refusal of our own that a model can act on."""
        self.finish(status, error=msgspec.json.encode({"code": code, "message": message}))
        if self.asked.refused and not self.done:
            self.asked.refused(code, message)
            self.end()
        else:
            self._answer(refusals.result(message, self.asked.caller))

    def reject(self, message: str) -> None:
        """Answer a request that breaks the protocol with a JSON-RPC error."""
        self.record_start(None)
        error = jsonrpc.error_object(jsonrpc.INVALID_PARAMS, f"mcpctl: {message}")
        self.finish("failed", error=error)
        self._answer_error(error)

    def fail(self, failure: Failure) -> None:
        """Answer that the upstream gave no answer."""
        message = failure.message
        if not message.startswith("server '"):
            message = f"server '{self.server}': {message}"
        if failure.code in ("server_died", "timed_out"):
            message += ". The call was sent and may have taken effect; it was not sent again"
        self.refuse("failed", failure.code, message)

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
        top = translate.head(result)
        failed = bytes(top.is_error) == b"true"
        waiting = bytes(top.result_type) == b'"input_required"'
        self.finish("tool_error" if failed else "input_required" if waiting else "ok", response=result)
        if waiting and not self.asked.caller.modern:
            self._next_round(bytes(result))
            return
        if waiting:
            self._execute.parents.asked(f"{self.server}:{self.name}", bytes(result), self.record_id)
        answer = translate.for_client(result, top, self.asked.caller, self.connection)
        if failed:
            self._with_help(lambda text: self._answer(translate.with_block(bytes(answer), text) if text else answer))
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
        self._with_help(lambda text: self._answer_error(translate.with_data(error, text) if text else error))

    def _with_help(self, then: Callable[[str], None]) -> None:
        """Compare the arguments with the schema aside, where neither an import nor a strange schema holds up others."""
        if self.tool is None:
            then("")
            return
        checked = asyncio.get_running_loop().run_in_executor(None, refusals.help_with, self.tool, self.arguments)

        def add(done: asyncio.Future[str]) -> None:
            try:
                then(done.result())
            except Exception:
                then("")  # its own answer, as it came, still stands

        checked.add_done_callback(add)

    def _progress(self, params: dict[str, bytes]) -> None:
        if self.asked.progress:
            self.asked.progress(self.asked, {**params, "progressToken": self.asked.meta["progressToken"]})


def _responses(given: bytes) -> dict[str, bytes] | None:
    """The client's answers to what a tool asked, by its keys; None where they are no object."""
    try:
        return {} if given == b"null" else jsonrpc.members(given)
    except jsonrpc.Malformed:
        return None


def _taken_apart(arguments: bytes) -> tuple[str, bytes]:
    """The key and the arguments' JSON (empty where there are none); raises ValueError with what a model should mend."""
    example = 'Example: {"toolKey": "server:tool", "arguments": {}}. Find keys with tool_discovery.'
    try:
        found = jsonrpc.members(arguments or b"{}")
        key = msgspec.json.decode(found.get("toolKey", b"null"))
    except (jsonrpc.Malformed, msgspec.MsgspecError):
        raise ValueError(f"the arguments of tool_execute are no JSON object. {example}") from None
    if not isinstance(key, str) or not key:
        raise ValueError(f"toolKey is missing. {example}")
    passed = found.get("arguments", b"")
    if passed.startswith(b'"'):
        # Some models send the object as a string of its JSON.
        try:
            passed = str(msgspec.json.decode(passed)).strip().encode()
            jsonrpc.members(passed)
            msgspec.json.decode(passed)
        except (jsonrpc.Malformed, msgspec.MsgspecError, UnicodeEncodeError):
            raise ValueError(f"arguments is a string that is no JSON object. {example}") from None
        passed = passed.replace(b"\n", b" ").replace(b"\r", b" ")
    if passed == b"null":
        passed = b""
    if passed and not passed.startswith(b"{"):
        raise ValueError(f"arguments must be an object with the tool's parameters. {example}")
    return key, passed
