"""One `tool_execute`: find the tool, permit it, put it on record, forward it, put its outcome on record, answer."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import msgspec

from mcpctl.catalog import hints
from mcpctl.catalog.cache import Catalog
from mcpctl.models import Tool
from mcpctl.proxy import jsonrpc, refusals, translate
from mcpctl.proxy.connection import Caller, Exchange, Failure
from mcpctl.proxy.upstreams import DidNotStart, Upstream
from mcpctl.store.recorder import Json, OpenCall, Recorder

_INTERRUPTED = "the session is ending before the tool has answered; the call may have taken effect"

_CANNOT_ASK = (
    "the tool asks the user for input before it goes on, in a way (2026-07-28) that this client's protocol revision"
    " does not have; nothing more was done"
)


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


class Execute:
    """Runs calls against the upstreams. Holds those in flight, by the client's request id."""

    def __init__(self, catalog: Catalog, upstreams: Mapping[str, Upstream], recorder: Recorder) -> None:
        self.in_flight: dict[bytes, Call] = {}
        self.idle = asyncio.Event()
        self.idle.set()
        self.catalog = catalog
        self.upstreams = upstreams
        self.recorder = recorder
        self._looking: set[asyncio.Task[None]] = set()

    def start(self, asked: Asked, arguments: bytes) -> None:
        """Begin one call; `arguments` is the JSON of `{toolKey, arguments?}`."""
        try:
            key, passed = _taken_apart(arguments)
        except ValueError as error:
            asked.answer(asked, refusals.result(str(error), asked.caller))
            return
        server, _, name = key.partition(":")
        call = Call(self, asked, server, name, passed)
        try:
            self._begin(call)
        except BaseException as error:
            # Whoever called answers that it failed.
            call.finish("failed", error=msgspec.json.encode({"code": "internal", "message": repr(error)}))
            call.end()
            raise

    def _begin(self, call: "Call") -> None:
        refusal = self._refused(call.server, call.name)
        tool = self.catalog.find(call.server, call.name)
        if refusal:
            call.record_start(tool)
            call.refuse(*refusal)
        elif tool:
            call.send(tool)
        else:
            task = asyncio.create_task(self._look_again(call))
            self._looking.add(task)
            task.add_done_callback(self._looking.discard)

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
        if server in config.problems:
            return "failed", "server_unusable", f"server '{server}' cannot be used: {config.problems[server]}"
        if server in config.servers:
            return "denied", "server_disabled", f"server '{server}' is disabled in the user's configuration"
        return "failed", "unknown_tool", refusals.unknown(f"{server}:{name}" if name else server, self.catalog)

    async def _look_again(self, call: "Call") -> None:
        """A tool that is not in the cache may be new: its server is asked once before it is refused."""
        upstream = self.upstreams[call.server]
        try:
            await upstream.refresh(call.asked.caller)
        except DidNotStart as error:
            if not call.done:
                call.record_start(None)
                call.fail(Failure("server_did_not_start", str(error)))
            return
        except Exception:
            # It runs but its list cannot be had or kept: its own answer to the call is worth more than our doubt.
            if not call.done:
                call.send(None)
            return
        if call.done:
            return
        tool = self.catalog.find(call.server, call.name)
        if tool is None:
            call.record_start(None)
            call.refuse("failed", "unknown_tool", refusals.unknown(f"{call.server}:{call.name}", self.catalog))
        else:
            call.send(tool)


class Call:
    """One call between its start and its one answer."""

    __slots__ = ("_exchange", "_execute", "_record", "arguments", "asked", "done", "name", "recorded", "server", "tool")

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
        )  # fmt: skip

    def send(self, tool: Tool | None) -> None:
        """Forward it: on record first."""
        self.tool = tool
        self.record_start(tool)
        asked = self.asked
        params = {"name": msgspec.json.encode(self.name), **asked.extra}
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

    def refuse(self, status: str, code: str, message: str) -> None:
        """Answer with a refusal of our own that a model can act on."""
        self.finish(status, error=msgspec.json.encode({"code": code, "message": message}))
        if self.asked.refused and not self.done:
            self.asked.refused(code, message)
            self.end()
        else:
            self._answer(refusals.result(message, self.asked.caller))

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
            self._answer(refusals.result(_CANNOT_ASK, self.asked.caller))
            return
        connection = self._exchange.connection if self._exchange else None
        answer = translate.for_client(result, top, self.asked.caller, connection)
        if failed:
            self._with_help(lambda text: self._answer(translate.with_block(bytes(answer), text) if text else answer))
        else:
            self._answer(answer)

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
