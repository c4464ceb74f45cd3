"""What becomes of each `tool_execute`: its tool is found and permitted, or it is refused in words."""

import asyncio
from collections.abc import Coroutine, Mapping
from typing import Any, Protocol

from msgspec import Raw

from mcpctl import hints
from mcpctl.catalog.cache import Catalog
from mcpctl.errors import warn
from mcpctl.models import Tool
from mcpctl.proxy import jsonrpc, metatools, refusals
from mcpctl.proxy.call import Asked, Call
from mcpctl.proxy.connection import Connection
from mcpctl.proxy.input_rounds import Parents
from mcpctl.proxy.messages import beside
from mcpctl.proxy.questions import HANDLE, Parked, Parking, Questions
from mcpctl.proxy.upstreams import DidNotStart, Upstream
from mcpctl.store.recorder import Recorder

_INTERRUPTED = "the session is ending before the tool has answered; the call may have taken effect"
_LIST_WAIT_S = 2.0
"""How long a call of a tool that is not known waits for the list of a server that is connected."""
_NOT_OPEN = "this requestState is not open (a tool's question waits for ten minutes, once); call the tool again"


class Keeper(Protocol):
    """Who keeps what calls need to know."""

    @property
    def opened(self) -> "asyncio.Task[None]":
        """Done when calls can be decided on."""

    def look_at_toolset(self) -> None:
        """Have the toolset that is in force at this moment count for the call that begins."""

    async def load(self, name: str) -> None:
        """Have the catalog know what is kept of a server's tools."""


class Execute:
    """Runs calls against the upstreams. Holds those in flight, by the client's request id."""

    def __init__(
        self,
        catalog: Catalog,
        upstreams: Mapping[str, Upstream],
        recorder: Recorder,
        questions: Questions,
        keeper: Keeper,
    ) -> None:
        self._keeper = keeper
        self._is_ready = False
        # Told first, so that what came before is decided on before what comes after.
        keeper.opened.add_done_callback(lambda _: self._opened())
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
        call = Call(self, asked, *_split(key), passed)
        if self._is_ready:
            self._decide(call)
        else:
            self._keeper.opened.add_done_callback(lambda _: self._decide(call))

    def _opened(self) -> None:
        self._is_ready = True

    def _decide(self, call: "Call") -> None:
        if call.done:
            return  # taken back meanwhile
        try:
            self._keeper.look_at_toolset()
            state = call.asked.extra.get("requestState", b"")
            responses = _responses(call.asked.extra.get("inputResponses", b"null"))
            if responses is None:
                call.reject("inputResponses must be an object")
            elif state.startswith(HANDLE):
                self._resume(call, state, responses)
            elif state and self._is_older(call.server):
                call.reject(_NOT_OPEN)  # no server of its kind has given it
            else:
                call.parent_id = self.parents.of(call.key, state, responses)
                self._begin(call)
        except Exception as error:
            warn(f"internal error: {error!r}")
            call.reject(f"internal error: {type(error).__name__}", jsonrpc.INTERNAL_ERROR)

    def _begin(self, call: "Call") -> None:
        tool = self.catalog.find(call.server, call.name)
        if call.server not in self.upstreams and not self._names_it(call.server):
            self._look(call, self._say_unknown(call))
        elif refusal := self._refused(call.server, call.name):
            call.record_start(tool)
            call.refuse(*refusal)
        elif self._is_left_out(call, tool):
            self._look(call, self._say_left_out(call, tool))
        elif refusal := self._wrong_way(call, tool):
            call.record_start(tool)
            call.refuse(*refusal)
        elif tool:
            self.listed(call.server)
            call.send(tool)
        else:
            self._look(call, self._look_again(call))

    def _look(self, call: "Call", work: Coroutine[Any, Any, None]) -> None:
        task = self._looking[call] = asyncio.create_task(work)
        task.add_done_callback(lambda done: self._looked(call, done))

    def _looked(self, call: "Call", done: "asyncio.Task[None]") -> None:
        del self._looking[call]
        if not done.cancelled() and (error := done.exception()):
            warn(f"internal error: {error!r}")
            call.reject(f"internal error: {type(error).__name__}", jsonrpc.INTERNAL_ERROR)

    async def _say_unknown(self, call: "Call") -> None:
        # Aside: near names are found by comparing with all that there are.
        told = await beside(refusals.unknown, call.key, self.catalog.snapshot())
        if not call.recorded:
            call.record_start(None)
            call.refuse("failed", "unknown_tool", told)

    async def _say_left_out(self, call: "Call", tool: Tool | None) -> None:
        told = await beside(refusals.not_in_toolset, call.key, tool, self.catalog.snapshot())
        if not call.recorded:
            call.record_start(tool)
            call.refuse("denied", "not_in_toolset", told)

    def listed(self, server: str) -> None:
        """Send the calls that waited for what a server has listed now: before any that comes later."""
        for call in list(self._looking):
            tool = self.catalog.find(server, call.name)
            if call.server != server or call.recorded or tool is None or self._is_left_out(call, tool):
                continue
            if refusal := self._wrong_way(call, tool):
                call.record_start(tool)
                call.refuse(*refusal)
            else:
                call.send(tool)

    def asked_by(self, connection: Connection) -> "Call | None":
        """The call that a server's question is about: its latest, since the protocol does not say which."""
        calls = (call for call in reversed(self.in_flight.values()) if call.is_with(connection))
        return next(calls, None)

    def _resume(self, call: "Call", handle: bytes, responses: Mapping[str, bytes]) -> None:
        """Go on with a call that has waited for its client's answers."""
        parked = self.parking.resume(handle, call.key)
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

    def _names_it(self, server: str) -> bool:
        config = self.catalog.config
        return server in config.elsewhere or server in config.problems or server in config.servers

    def _refused(self, server: str, name: str) -> tuple[str, str, str] | None:
        config = self.catalog.config
        if server in self.upstreams:
            if config.servers[server].permits(name):
                return None
            told = refusals.named(f"{server}:{name}")
            message = f"{told} is not permitted by the user's configuration; do not retry it"
            return "denied", "not_permitted", message
        if server in config.elsewhere:
            return "denied", "not_in_project", f"{config.not_in_project(server).message}; do not retry it"
        if server in config.problems:
            return "failed", "server_unusable", f"server '{server}' cannot be used: {config.problems[server]}"
        return "denied", "server_disabled", f"server '{server}' is disabled in the user's configuration"

    def _is_left_out(self, call: "Call", tool: Tool | None) -> bool:
        """Whether the toolset lacks a tool that its server has; of one not known yet only its name can tell."""
        toolset = self.catalog.toolset
        if toolset is None:
            return False
        return not (toolset.holds(tool) if tool else toolset.may_hold(call.server, call.name))

    def _wrong_way(self, call: "Call", tool: Tool | None) -> tuple[str, str, str] | None:
        """Why a tool is not called with the meta-tool that was used."""
        if tool and call.asked.only and (needed := hints.permission(tool)) != call.asked.only:
            right, wrong = metatools.execute_with(needed), metatools.execute_with(call.asked.only)
            told = f"{refusals.named(tool.key)} is not called with {wrong} but with {right}"
            return "denied", "wrong_execute", told
        return None

    async def _look_again(self, call: "Call") -> None:
        """A tool that is not known may be kept, or new: its server is asked once before it is refused."""
        await self._keeper.load(call.server)
        self.listed(call.server)
        if call.recorded:
            return
        try:
            await self.upstreams[call.server].refresh(call.asked.caller, _LIST_WAIT_S)
        except DidNotStart as error:
            if not call.recorded:
                call.record_start(None)
                call.fail(error.failure)
            return
        except Exception:
            # It runs but its list cannot be had or kept, or not soon: its own answer is worth more than our doubt.
            await self._send(call, None)
            return
        if tool := self.catalog.find(call.server, call.name):
            await self._send(call, tool)
        else:
            await self._say_unknown(call)

    async def _send(self, call: "Call", tool: Tool | None) -> None:
        """Forward a call once all that can be known of its tool is; what is not counts against it."""
        judged = tool or Tool(call.server, call.name, {}, "{}")
        if call.recorded:
            return  # sent when its tool was listed, or taken back
        if self._is_left_out(call, judged):
            await self._say_left_out(call, judged)
        elif refusal := self._wrong_way(call, judged):
            call.record_start(tool)
            call.refuse(*refusal)
        else:
            call.send(tool)


def _split(key: str) -> tuple[str, str]:
    server, _, name = key.partition(":")
    return server, name


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
        key = jsonrpc.value(found.get("toolKey", b"null"), object)
    except jsonrpc.Malformed:
        raise ValueError(f"the arguments of tool_execute are not a JSON object. {example}") from None
    if not isinstance(key, str) or not key:
        raise ValueError(f"toolKey is missing. {example}")
    passed = found.get("arguments", b"")
    if passed.startswith(b'"'):
        # Some models send the object as a string of its JSON.
        try:
            passed = jsonrpc.value(passed, str).strip().encode()
            jsonrpc.members(passed)
            jsonrpc.value(passed, Raw)
        except (jsonrpc.Malformed, UnicodeEncodeError):
            raise ValueError(f"arguments is a string that is not a JSON object. {example}") from None
        passed = passed.replace(b"\n", b" ").replace(b"\r", b" ")
    if passed == b"null":
        passed = b""
    if passed and not passed.startswith(b"{"):
        raise ValueError(f"arguments must be an object with the tool's parameters. {example}")
    return key, passed
