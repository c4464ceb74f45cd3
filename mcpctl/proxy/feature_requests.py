"""What a client asks of prompts and resources: listed from the catalog, got and read from the server that has them.

A list waits for no server and a read goes to one server alone: a URI may be a secret.
"""

import asyncio
from collections.abc import Coroutine, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from mcpctl.callers import Caller
from mcpctl.catalog.features import EXPLICIT, Features, Owner
from mcpctl.errors import warn
from mcpctl.failure import Failed, Failure
from mcpctl.policy.decide import FIND, Subject, decide
from mcpctl.policy.view import View
from mcpctl.proxy import feature_lists
from mcpctl.proxy.client_side import CallRequest
from mcpctl.proxy.feature_lists import LISTS, FeatureLists
from mcpctl.proxy.reading import NAMED_BY, Reading, rejection
from mcpctl.store.recordable import Json
from mcpctl.upstreams.connection import COMPLETE, GET, READ, Exchange
from mcpctl.wire import jsonrpc

if TYPE_CHECKING:
    from mcpctl.proxy.session import Session

METHODS = frozenset((*LISTS, GET, READ, COMPLETE))
"""The requests that are answered here, in both eras."""
_NOTHING = Features((), "")
_UNKNOWN = frozenset(("unknown_prompt", "unknown_resource"))
_LOOK_S = 10.0
"""How long what is not known waits for the servers of which nothing is known."""


class FeatureRequests:
    """Those of one session."""

    def __init__(self, session: "Session") -> None:
        self.session = session
        self.recorder = session.recorder
        self.in_flight: dict[bytes, Reading] = {}
        self.idle = asyncio.Event()
        """Set while nothing is got or read."""
        self.idle.set()
        self._gateway = session.gateway
        self._lists = FeatureLists()
        self._number = 0

    # ---- what the client does

    def start(self, method: str, id_: bytes, caller: Caller, params: dict[str, bytes], meta: dict[str, bytes]) -> None:
        """Begin one request, which is answered once."""
        extra = {name: value for name, value in params.items() if name != "_meta"}
        request = CallRequest(id_, caller, meta, extra)
        if method in LISTS:
            self.session.begin(self._listed(method, request))
        elif method in NAMED_BY:
            self._start_reading(method, request)
        else:
            self._error(request, jsonrpc.METHOD_NOT_FOUND, "Method not found")

    def _start_reading(self, method: str, request: CallRequest) -> None:
        name = _text(request.extra.get(NAMED_BY[method], b""))
        if request.id in self.in_flight:
            self._error(request, jsonrpc.INVALID_REQUEST, "this id is in use by another request")
        elif name is None:
            self._error(request, jsonrpc.INVALID_PARAMS, f"{method} needs {NAMED_BY[method]}, a string")
        else:
            self._begin(Reading(self, request, method, name, partial(self.session.answer, request), self._refused))

    def _refused(self, reading: Reading, failure: Failure, error: bytes) -> None:
        self.session.error(reading.request, error or rejection(failure, reading.request.caller))

    def _error(self, request: CallRequest, code: int, message: str) -> None:
        self.session.error(request, jsonrpc.error_object(code, message))

    def cancel(self, request_id: bytes, params: dict[str, bytes]) -> bool:
        """The client takes a request back; whether it was one of these."""
        if reading := self.in_flight.get(request_id):
            reading.cancel(params)
        return reading is not None

    def interrupt(self) -> None:
        """End all that is got and read: on record as interrupted, and answered so."""
        for reading in list(self.in_flight.values()):
            reading.interrupt()

    # ---- lists

    async def _listed(self, method: str, request: CallRequest) -> None:
        """Answer a list with what is known at this moment."""
        await self._gateway.current()
        await self._gateway.searching.unlisted(self._gateway.view(request.caller))
        features = self.listable(request.caller)
        page = await self._lists.page(features, LISTS[method], request.extra.get("cursor", b""))
        if page is None:
            self._error(request, jsonrpc.INVALID_PARAMS, "mcpctl: this cursor is of another list; list from the start")
        else:
            self.session.answer(request, feature_lists.result(page, request.caller))

    # ---- for others

    async def read(self, uri: str, caller: Caller, server: str | None = None) -> bytes:
        """The result of `resources/read`, on record; of this server, or else of the one whose URI it is.

        Raises `Failed`, with the server's error where it answered with one.
        """
        asked = f"{EXPLICIT}{server}:{uri}" if server else uri
        return await self._awaited(READ, asked, caller, {"uri": msgspec.json.encode(asked)})

    async def prompt(self, name: str, arguments: bytes, caller: Caller) -> bytes:
        """The result of `prompts/get`, on record; raises `Failed` as `read` does."""
        params = {"name": msgspec.json.encode(name), **({"arguments": arguments} if arguments else {})}
        return await self._awaited(GET, name, caller, params)

    async def _awaited(self, method: str, name: str, caller: Caller, params: Mapping[str, bytes]) -> bytes:
        outcome: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

        def answer(result: Json) -> None:
            if not outcome.done():
                outcome.set_result(bytes(result))

        def fail(_: Reading, failure: Failure, error: bytes) -> None:
            if not outcome.done():
                outcome.set_exception(Failed(failure, error))

        self._number += 1
        # No client's: those are JSON.
        request = CallRequest(b"own-%d" % self._number, caller, {}, params)
        self._begin(Reading(self, request, method, name, answer, fail))
        try:
            return await outcome
        except asyncio.CancelledError:
            self.cancel(request.id, {"reason": b'"nobody waits for it"'})
            raise

    # ---- the decision

    def _begin(self, reading: Reading) -> None:
        self.in_flight[reading.request.id] = reading
        self.idle.clear()
        self.again(reading)

    def again(self, reading: Reading) -> None:
        """Decide on it, as things are once it is known what is in force, and send it or refuse it."""
        self._gateway.when_current(lambda: None if reading.done else self._proceed(reading))

    def allows(self, reading: Reading) -> bool:
        """Whether it may be sent as things are now, to the server that it waits for."""
        owner = reading.owner
        try:
            return self._gateway.is_current and self._located(reading) == owner
        except Failed:
            return False

    def _proceed(self, reading: Reading) -> None:
        try:
            reading.owner = self._located(reading)
        except Failed as error:
            if error.failure.code in _UNKNOWN and not reading.has_looked:
                reading.has_looked = True
                self._run(self._look(reading), reading)
            else:
                reading.refuse(error.failure)
            return
        reading.forward()

    def _located(self, reading: Reading) -> Owner:
        """Whose it is, of what may be had at this moment; raises `Failed`."""
        reading.view, features = self.seen(reading.request.caller)
        if reading.method == READ:
            return features.owner(reading.name)
        if found := features.prompts.get(reading.name):
            return Owner(found.server, found.name)
        raise Failed(Failure("unknown_prompt", {"name": reading.name}))

    def seen(self, caller: Caller) -> tuple[View, Features]:
        """What this caller may have, and what it is seen from; raises `Failed` where nothing may be had."""
        view = self._gateway.view(caller)
        if view.access.is_barred and (failure := decide(Subject(FIND, "", "", None, view)).failure):
            raise Failed(failure)
        return view, self._gateway.features(view)

    def listable(self, caller: Caller) -> Features:
        """What this caller may list at this moment."""
        try:
            return self.seen(caller)[1]
        except Failed:
            return _NOTHING

    async def _look(self, reading: Reading) -> None:
        """Get to know what is kept, and then what servers list of which nothing is."""
        unlisted = await self._gateway.searching.unlisted(reading.view)
        try:
            reading.owner = self._located(reading)
        except Failed:
            if unlisted:
                refreshing = self._gateway.background(self._gateway.refresh(unlisted, reading.request.caller))
                await asyncio.wait([refreshing], timeout=_LOOK_S)
        self.again(reading)

    def _run(self, work: Coroutine[Any, Any, None], reading: Reading) -> None:
        def ended(task: "asyncio.Task[None]") -> None:
            if not task.cancelled() and (error := task.exception()):
                warn(f"internal error: {error!r}")
                reading.refuse(Failure("internal", {"reason": f"internal error: {type(error).__name__}"}))

        self._gateway.background(work).add_done_callback(ended)

    # ---- to the upstreams

    def first_view(self, caller: Caller) -> View:
        """What a request is seen from before anything can be decided."""
        return self._gateway.first_view(caller)

    def send(self, server: str, exchange: Exchange) -> None:
        """Forward what was decided on."""
        self._gateway.upstreams[server].send(exchange)

    def watch(self, server: str, exchange: Exchange) -> None:
        """Bound the time that it may take from now, which its client was asked about meanwhile."""
        self._gateway.upstreams[server].watch(exchange)

    def cancel_upstream(self, server: str, exchange: Exchange, params: Mapping[str, bytes]) -> None:
        """Take back what was forwarded."""
        if upstream := self._gateway.upstreams.get(server):
            upstream.cancel(exchange, dict(params))

    def ended(self, reading: Reading) -> None:
        """Forget one that has its answer, or needs none."""
        if self.in_flight.get(reading.request.id) is reading:
            del self.in_flight[reading.request.id]
        if not self.in_flight:
            self.idle.set()


def _text(raw: bytes) -> str | None:
    try:
        return jsonrpc.value(raw, str)
    except jsonrpc.Malformed:
        return None
