"""What a client asks of prompts and resources: listed from the catalog, got and read from the server that has them.

A list waits for no server and a read goes to one server alone: a URI may be a secret.
"""

import asyncio
from collections.abc import Collection, Mapping
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from mcpctl.callers import Caller
from mcpctl.catalog.features import Features, Owner
from mcpctl.errors import warn
from mcpctl.failure import Failed, Failure
from mcpctl.feature_names import EXPLICIT, NAMED_BY
from mcpctl.policy.decide import admitted
from mcpctl.policy.view import View
from mcpctl.proxy import feature_lists, refusals
from mcpctl.proxy.client_side import Barring, CallRequest, free
from mcpctl.proxy.completing import Completing, reference
from mcpctl.proxy.feature_lists import LISTS, FeatureLists
from mcpctl.proxy.reading import KIND_OF, OWN_ID, Reading
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
"""How long what is not known waits for the servers of which nothing is known; a person waits as long as they take."""


class FeatureRequests:
    """Those of one session."""

    def __init__(self, session: "Session") -> None:
        self.session = session
        self.recorder = session.recorder
        self._in_flight = session.execute.in_flight
        self._gateway = session.gateway
        self._lists = FeatureLists()
        self._listing = asyncio.Lock()
        """Held while a page is made and sent: many that nobody takes would fill our memory."""
        self._number = 0

    # ---- what the client does

    def start(self, method: str, id_: bytes, caller: Caller, params: dict[str, bytes], meta: dict[str, bytes]) -> None:
        """Begin one request, which is answered once."""
        extra = {name: value for name, value in params.items() if name != "_meta"}
        request = CallRequest(id_, caller, meta, extra)
        if id_ in self._in_flight:
            self._error(request, jsonrpc.INVALID_REQUEST, "this id is in use by another request")
        elif method in LISTS:
            self.session.begin(self._listed(method, request))
        elif method in KIND_OF:
            self._start_reading(method, request)
        else:
            self._complete(request)

    def _start_reading(self, method: str, request: CallRequest) -> None:
        named_by = NAMED_BY[KIND_OF[method]]
        try:
            name = jsonrpc.value(request.extra.get(named_by, b"null"), str)
        except jsonrpc.Malformed:
            self._error(request, jsonrpc.INVALID_PARAMS, f"{method} needs {named_by}, a string")
        else:
            self._begin(Reading(self, request, method, name, partial(self.session.answer, request), self._refused))

    def _complete(self, request: CallRequest) -> None:
        try:
            ref = reference(request.extra.get("ref", b"null"))
        except jsonrpc.Malformed:
            self._error(request, jsonrpc.INVALID_PARAMS, "ref is of the type ref/prompt or ref/resource")
            return

        def located() -> Owner | None:
            try:
                return ref.owner(self.seen(request.caller)[1]) if self._gateway.is_current else None
            except Failed:
                return None

        completing = Completing(request, located, self.session.answer, self._in_flight.remove)
        self._in_flight.add(completing)
        self._gateway.when_current(lambda: completing.send(ref, self._gateway.upstreams))

    def _refused(self, reading: Reading, failure: Failure, error: bytes) -> None:
        self.session.error(reading.request, error or refusals.rejection(failure, reading.request.caller))

    def _error(self, request: CallRequest, code: int, message: str) -> None:
        self.session.error(request, jsonrpc.error_object(code, message))

    # ---- lists

    async def _listed(self, method: str, request: CallRequest) -> None:
        """Answer a list with what is known at this moment."""
        try:
            await self._gateway.current()
            await self._gateway.server_features.loaded()
            async with self._listing:
                await self._gateway.turn.released()
                features = self.listable(request.caller)
                self._answer_list(
                    request, await self._lists.page(features, LISTS[method], request.extra.get("cursor", b""))
                )
        except Exception as error:
            warn(f"internal error: {error!r}")
            self._error(request, jsonrpc.INTERNAL_ERROR, f"mcpctl: internal error: {type(error).__name__}")

    def _answer_list(self, request: CallRequest, page: bytes | None) -> None:
        if page is None:
            self._error(request, jsonrpc.INVALID_PARAMS, "mcpctl: this cursor is of another list; list from the start")
        else:
            self.session.answer(request, feature_lists.result(page, request.caller))

    # ---- for others

    async def read(self, uri: str, caller: Caller, server: str | None = None, barring: Barring = free) -> bytes:
        """The result of `resources/read`, on record; of this server, or else of the one whose URI it is.

        Raises `Failed`, with the server's error where it answered with one, or with what is `barring` it.
        """
        asked = f"{EXPLICIT}{server}:{uri}" if server else uri
        return await self._awaited(READ, asked, caller, {"uri": msgspec.json.encode(asked)}, barring)

    async def prompt(self, name: str, arguments: bytes, caller: Caller) -> bytes:
        """The result of `prompts/get`, on record; raises `Failed` as `read` does."""
        params = {"name": msgspec.json.encode(name), **({"arguments": arguments} if arguments else {})}
        return await self._awaited(GET, name, caller, params)

    async def _awaited(
        self, method: str, name: str, caller: Caller, params: Mapping[str, bytes], barring: Barring = free
    ) -> bytes:
        outcome: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

        def answer(result: Json) -> None:
            if not outcome.done():
                outcome.set_result(bytes(result))

        def fail(_: Reading, failure: Failure, error: bytes) -> None:
            if not outcome.done():
                outcome.set_exception(Failed(failure, error))

        self._number += 1
        # No client's: those are JSON.
        request = CallRequest(OWN_ID + b"%d" % self._number, caller, {}, params)
        reading = Reading(self, request, method, name, answer, fail)
        reading.barring = barring
        self._begin(reading)
        try:
            return await outcome
        except asyncio.CancelledError:
            self._in_flight.cancel(request.id, {"reason": b'"nobody waits for it"'})
            raise

    # ---- the decision

    def _begin(self, reading: Reading) -> None:
        self._in_flight.add(reading)
        self.again(reading)

    def again(self, reading: Reading) -> None:
        """Decide on it, as things are once it is known what is in force, and send it or refuse it."""
        self._gateway.when_current(partial(self._proceed, reading))

    def allows(self, reading: Reading) -> bool:
        """Whether it may be sent as things are now, to the server that it waits for."""
        owner = reading.owner
        try:
            return self._gateway.is_current and self._located(reading) == owner
        except Failed:
            return False

    def _proceed(self, reading: Reading) -> None:
        if reading.done:
            return  # taken back meanwhile
        try:
            reading.owner = self._located(reading)
            reading.forward()
        except Failed as error:
            if error.failure.code in _UNKNOWN and not reading.has_looked:
                reading.has_looked = True
                self._gateway.background(self._look(reading)).add_done_callback(partial(self._looked, reading))
            else:
                reading.refuse(self._why_unknown(reading.name, reading.view) or error.failure)
        except Exception as error:
            self._broken(reading, error)

    def _why_unknown(self, name: str, view: View) -> Failure | None:
        """Why nothing is known of the server that a URI names, where it has not started."""
        named, _, _ = name.removeprefix(EXPLICIT).partition(":")
        upstream = self._gateway.upstreams.get(named) if name.startswith(EXPLICIT) else None
        return upstream.last_failure if upstream and upstream.down_since and named in self._unlisted(view) else None

    def _located(self, reading: Reading) -> Owner:
        """Whose it is, of what may be had at this moment; raises `Failed`."""
        reading.view, features = self.seen(reading.request.caller)
        if reading.method == READ:
            owner = features.owner(reading.name)
            if failure := reading.barring():
                raise Failed(failure)
            return owner
        if found := features.prompts.get(reading.name):
            return Owner(found.server, found.name)
        raise Failed(Failure("unknown_prompt", {"name": reading.name}))

    def seen(self, caller: Caller) -> tuple[View, Features]:
        """What this caller may have, and what it is seen from; raises `Failed` where nothing may be had."""
        view = admitted(self._gateway.view(caller))
        return view, self._gateway.features(view)

    def listable(self, caller: Caller) -> Features:
        """What this caller may list at this moment."""
        try:
            return self.seen(caller)[1]
        except Failed:
            return _NOTHING

    async def owner(self, uri: str, caller: Caller) -> Owner:
        """Whose a URI is, of what servers list of which nothing was known, too; raises `Failed`."""
        try:
            return self.seen(caller)[1].owner(uri)
        except Failed as error:
            if error.failure.code not in _UNKNOWN:
                raise
        await self.look([uri], caller)
        await self._gateway.current()
        view, features = self.seen(caller)
        try:
            return features.owner(uri)
        except Failed as error:
            raise Failed(self._why_unknown(uri, view) or error.failure) from None

    async def look(self, names: Collection[str], caller: Caller) -> None:
        """Get to know what is kept, and then what servers list of which nothing is that may have these."""
        await self._gateway.server_features.loaded()
        try:
            view, _ = self.seen(caller)
        except Failed:
            return
        if unknown := self._to_ask(names, view):
            refreshing = self._gateway.background(self._gateway.refresh(unknown, caller))
            await asyncio.wait([refreshing], timeout=None if caller.claims.of_person else _LOOK_S)

    async def _look(self, reading: Reading) -> None:
        await self.look([reading.name], reading.request.caller)
        self.again(reading)

    def _to_ask(self, names: Collection[str], view: View) -> Collection[str]:
        """The servers of which something is not known that may be what is asked for."""
        unknown = self._unlisted(view)
        if all(name.startswith(EXPLICIT) for name in names):
            unknown &= {name.removeprefix(EXPLICIT).partition(":")[0] for name in names}
        return unknown

    def _unlisted(self, view: View) -> set[str]:
        return {server for server, _ in self._gateway.known_features.unknown(view.config)}

    def _looked(self, reading: Reading, task: "asyncio.Task[None]") -> None:
        if not task.cancelled() and (error := task.exception()):
            self._broken(reading, error)

    def _broken(self, reading: Reading, error: BaseException) -> None:
        warn(f"internal error: {error!r}")
        reading.refuse(Failure("internal_error", {"reason": f"internal error: {type(error).__name__}"}))

    # ---- to the upstreams

    def send(self, server: str, exchange: Exchange) -> None:
        """Forward what was decided on."""
        self._gateway.upstreams[server].send(exchange)
