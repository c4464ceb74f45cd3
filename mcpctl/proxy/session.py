"""One client's session: its record, its searches and requests, and what is made ready for them before they come."""

import asyncio
import contextlib
import time
from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Raw
from msgspec.structs import replace

from mcpctl.base import bounds
from mcpctl.base.callers import ANYBODY, Caller
from mcpctl.base.errors import warn
from mcpctl.base.failure import Failed, Failure
from mcpctl.catalog.server_instructions import Introduced
from mcpctl.metatools import offers
from mcpctl.metatools.discovery import SearchAnswer, SearchRequest, search_request
from mcpctl.policy import words
from mcpctl.policy.decide import admitted
from mcpctl.policy.holding import NOT_LOCKED, Drift
from mcpctl.policy.view import View
from mcpctl.proxy import translate
from mcpctl.proxy.dispatch import Dispatch
from mcpctl.proxy.feature_reads import Owners
from mcpctl.proxy.feature_requests import FeatureRequests
from mcpctl.proxy.gateway import Gateway
from mcpctl.proxy.questions import Questions
from mcpctl.proxy.spec import Incoming
from mcpctl.proxy.subscriptions import Subscriptions
from mcpctl.store.recordable import Json
from mcpctl.store.recorder import Recorder
from mcpctl.upstreams.connection import SEVERITY
from mcpctl.upstreams.question import Question
from mcpctl.wire import jsonrpc
from mcpctl.wire.threads import beside

if TYPE_CHECKING:
    from mcpctl.proxy.direct_requests import DirectRequests

_FIRST_SEARCH_S = 10.0  # how long a search waits while no tool of any server is known, a list of direct tools for all
_ADDED_S = 2.0  # how long a search waits for servers that are new, while others are known
_LOOK_S = 0.05
_CONNECTED_AT_ONCE = 4
LAST_ANSWER_S = 1.3  # after this, searches that go on at the end are answered that it ends: it is promised in 1.8 s


class Transport(Protocol):
    """Carries lines to a client: a pipe, a socket, or a list in memory."""

    @property
    def pending(self) -> int: ...

    async def released(self) -> None:
        """Return when the client takes what it is sent."""

    def write(self, *pieces: bytes | memoryview) -> None:
        """Send the pieces, which are whole lines, at the end of this turn or as soon after as they are taken."""


class ClientSession:
    """One client's: `client_protocol` gives it the client's requests; it answers on `transport`."""

    def __init__(
        self, gateway: Gateway, transport: Transport, speaker: Caller = ANYBODY, *, via: str = "client",
        parents: Callable[[], Sequence[int]] = tuple, of: "ClientSession | None" = None, over: str = "stdio",
    ) -> None:  # fmt: skip
        """A request that does not say who sends it is the `speaker`'s, whose program may be one of `parents`. Where
        each request of a client comes in its own way, as over HTTP, each way is a session `of` the one that has the
        record, the parked calls and the yeses; ids are its own. The transport it is spoken to `over` is on record."""
        self.gateway = gateway
        self._of = of
        self.recorder: Recorder = of.recorder if of else Recorder(
            gateway.paths, gateway.config.records, via=via, unwritten=gateway.turn.unwritten, run=gateway.run,
            over=over,
        )  # fmt: skip
        self.send = transport.write
        self.questions: Questions = Questions(self.send, of.questions if of else None)
        joined = of.dispatch if of else None
        self.dispatch: Dispatch = Dispatch(gateway, self.recorder, self.questions, self, parents, joined)
        self.owners = Owners(gateway)
        self.features = FeatureRequests(gateway, self.owners, self.dispatch, self.begin)
        self.subscriptions = Subscriptions(self)
        self._direct: DirectRequests | None = None
        self.introduced: Introduced = of.introduced if of else Introduced()
        self.caller: Caller = of.caller if of else speaker
        self.is_initialized: bool = of.is_initialized if of else False
        self.retry_after = 0.0  # seconds after which what was refused last may be asked for again
        self.log_level: bytes = of.log_level if of else b""
        self.parts: set[ClientSession] = set()  # the sessions of this one whose requests go on
        self._transport = transport
        self._answering: set[asyncio.Task[Any]] = set()
        self._drifts_told: set[Drift] = of._drifts_told if of else set()
        self._looking: asyncio.Task[None] | None = None
        self._connecting = asyncio.Semaphore(_CONNECTED_AT_ONCE)
        if of:
            of.parts.add(self)
        else:
            gateway.sessions.append(self)
        if speaker.claims.token:
            gateway.name_by_tokens()

    @property
    def direct(self) -> "DirectRequests":
        if self._direct is None:
            from mcpctl.proxy.direct_requests import DirectRequests  # most show no tools directly

            of = self._of.direct if self._of else None
            self._direct = DirectRequests(self.gateway, self.dispatch, self.features, self.begin, self.list_all, of)
        return self._direct

    # ---- searches

    def begin(self, work: Coroutine[Any, Any, None]) -> None:
        """Run work that the client waits for and that starts nothing: it has the longer grace of the end."""
        task = asyncio.create_task(work)
        self._answering.add(task)
        task.add_done_callback(self._answering.discard)

    async def discover(self, incoming: Incoming, arguments: bytes) -> None:
        started, caller = time.time(), incoming.caller
        try:
            is_long = len(arguments) > bounds.LITTLE
            request = await beside(search_request, arguments) if is_long else search_request(arguments)
        except jsonrpc.Malformed as error:
            self.answer(incoming, translate.no_results(str(error), caller))
            return
        try:
            answer, view = await self._found(replace(request, introduced=self.introduced.told), caller)
            self.introduced.add(answer.introduced)
        except Failed as error:
            self.record_denied(error.failure, of=offers.DISCOVERY)
            self.answer(incoming, translate.no_results(words.for_model(error.failure), caller))
            return
        except asyncio.CancelledError:
            self.answer(incoming, translate.no_results("the session is ending", caller))
            raise
        except Exception as error:
            warn(f"a search failed: {error!r}")
            reason = "the search failed; tools can still be called by their keys"
            self.answer(incoming, translate.no_results(reason, caller))
            return
        self.recorder.discovery_finished(
            request.queries, request.context, provider=answer.provider, fallback=answer.fallback, started=started,
            results=[{"key": hit.key, "relevance": hit.relevance} for hit in answer.hits],
            answer_bytes=len(answer.content), origin=view.origin,
        )  # fmt: skip
        self.note_drifts()
        self.answer(incoming, translate.own_result(answer.result(offers.form_of(caller)), caller))

    async def _found(self, request: SearchRequest, caller: Caller) -> tuple[SearchAnswer, View]:
        gateway, view = self.gateway, await self.admitted(caller)
        if unlisted := await gateway.searching.unlisted(view):
            await self._list_first(unlisted, view, caller)
        view = await self.admitted(caller)  # people may have decided something meanwhile
        missing = {name: self._why_unlisted(name, caller) for name in gateway.catalog(view).unlisted()}
        problems = dict.fromkeys(view.config.problems, "cannot be used: its configuration is wrong")
        direct = (await self.direct.tools(caller)).names if view.config.serve.direct else {}
        return await gateway.searching.answer(request, view, missing | problems, direct), view

    async def list_all(self, unlisted: Sequence[str], caller: Caller) -> None:
        """Have servers of which nothing is known list their tools, and wait for all: many clients list but once."""
        await self._listed_before()
        await asyncio.wait([self.gateway.background(self.gateway.refresh(unlisted, caller))], timeout=_FIRST_SEARCH_S)

    async def _list_first(self, unlisted: Sequence[str], view: View, caller: Caller) -> None:
        """Have servers of which nothing is known list their tools; wait for new ones, and while nothing is known."""
        gateway = self.gateway
        await self._listed_before()
        refreshing = gateway.background(gateway.refresh(unlisted, caller))
        added = gateway.added.intersection(unlisted)
        gateway.added -= view.config.enabled.keys()
        if added or len(unlisted) == len(view.config.enabled):
            await self._until_known(refreshing, view)

    async def admitted(self, caller: Caller) -> View:
        """The client's view as things are now; raises `Failed` where it may see nothing."""
        await self.gateway.current()
        return admitted(self.gateway.view(caller))

    async def _until_known(self, refreshing: "asyncio.Task[Any]", view: View) -> None:
        catalog, loop = self.gateway.catalog(view), asyncio.get_running_loop()
        soon, last = loop.time() + _ADDED_S, loop.time() + _FIRST_SEARCH_S
        while not refreshing.done():
            is_known = len(catalog.unlisted()) < len(view.config.enabled)
            if loop.time() >= (soon if is_known else last):
                return
            await asyncio.wait([refreshing], timeout=_LOOK_S)

    def _why_unlisted(self, name: str, caller: Caller) -> str:
        upstream = self.gateway.upstream(name, caller)
        if upstream and upstream.down_since:
            since = time.strftime("%H:%M:%SZ", time.gmtime(upstream.down_since))
            return f"has been down since {since}; the user can see why with: mcpctl servers check {name}"
        return "is still starting; its tools are not known yet, search again in a moment"

    def record_denied(self, failure: Failure, *, of: str) -> None:
        if failure.code in words.OF_VIEW:
            view = failure.facts["view"]
            key = failure.facts["key"] if failure.facts["server"] else of
            self.recorder.decision_made(key, "denied", failure.code, origin=view.origin, token_id=view.token_id)

    # ---- made ready before a search

    async def warm_up(self, caller: Caller) -> None:
        """Have the caller's servers list what is unknown or stale, and make search ready."""
        gateway = self.gateway
        await gateway.current()
        view = gateway.view(caller)
        ready = gateway.background(gateway.searching.make_ready(view))
        await self._listed_before()
        await gateway.incoming.loaded()
        due = gateway.catalog(view).due()
        if due:
            gateway.background(gateway.refresh(due, caller))
        unknown = {server for server, _ in gateway.known_features.unknown(view.config)}
        for name in sorted(unknown.difference(due)):
            gateway.background(self._connect(name, caller))
        await ready

    async def _connect(self, name: str, caller: Caller) -> None:
        async with self._connecting:
            if upstream := self.gateway.upstream(name, caller):
                with contextlib.suppress(Failed):  # which is on record for those who ask for it
                    await upstream.connected(caller)

    async def _listed_before(self) -> None:
        """Note once, before servers are asked, whether no list is known: then a first search waits for each."""
        whole = self._of or self
        if whole._looking is None:
            whole._looking = self.gateway.background(self._note_unlisted())
        await asyncio.shield(whole._looking)

    async def _note_unlisted(self) -> None:
        gateway = self.gateway
        unlisted = await gateway.searching.unlisted(gateway.view(None))
        if len(unlisted) == len(gateway.config.enabled):
            gateway.added.update(unlisted)

    # ---- to the client

    @property
    def is_reading(self) -> bool:
        return self._transport.pending <= bounds.UNREAD_NOTICES

    async def released(self) -> None:
        await self._transport.released()

    def answer(self, request: Incoming, result: Json) -> None:
        self._transport.write(*jsonrpc.result_pieces(request.id, result))

    def error(self, request: Incoming, error: bytes) -> None:
        self._transport.write(jsonrpc.error(request.id, error))

    def refused(self, request: Incoming, failure: Failure, call_id: str) -> None:
        self.retry_after = failure.facts.get("retry_after", 0.0)
        self.note_drifts()
        self.answer(request, translate.refusal(words.for_model(failure, call=call_id[:8]), request.caller))

    def note_drifts(self) -> None:
        """Put on record, once, which tools are held or not as they were; only in a session that has a record."""
        if not self.recorder.is_open:
            return
        view = self.gateway.view(self.caller)
        for drift in self.gateway.incoming.drifts:
            if drift not in self._drifts_told:
                self._drifts_told.add(drift)
                rule, place = words.hold_rule(drift.why, view.config)
                is_done = drift.why == NOT_LOCKED or (drift.is_held and view.config.policy.enforces)
                self.recorder.decision_made(
                    drift.key, "held", rule, place=place, pin=drift.pin, enforced=is_done, origin=view.origin
                )

    def progress(self, params: dict[str, bytes]) -> None:
        self._notify("notifications/progress", jsonrpc.object_of(params))

    def not_asked(self, question: Question) -> None:
        if self.recorder.is_open:
            self.dispatch.question_log.refused(question.server, question.method, question.params, None)

    def log(self, raw: Raw, least: bytes | None) -> None:
        """Pass on a server's log message, from the level `least` on, or else from the client's own."""
        if least is None and not self.is_initialized:
            return
        threshold = SEVERITY.get(least) if least is not None else SEVERITY.get(self.log_level, 0)
        level = SEVERITY.get(jsonrpc.members_or_empty(raw).get("level", b""))
        if threshold is not None and level is not None and level >= threshold:
            self._notify("notifications/message", bytes(raw))

    def _notify(self, method: str, params: bytes) -> None:
        """A client that does not read goes without notifications, so that no server can fill our memory."""
        if self.is_reading:
            self._transport.write(jsonrpc.notification(method, params))

    @property
    def is_busy(self) -> bool:
        return len(self.dispatch.in_flight) > 0 or any(part.is_busy for part in self.parts)

    def lists_changed(self) -> None:
        self.subscriptions.lists_changed()
        for part in self.parts:
            part.subscriptions.lists_changed()

    # ---- as a part of another

    @property
    def is_quiet(self) -> bool:
        """Whether nothing that it has begun goes on."""
        return not (self.dispatch.in_flight or self._answering or self.subscriptions.were_used)

    def leave(self) -> None:
        assert self._of
        self._of.parts.discard(self)

    def rejoin(self) -> None:
        """Be a part of the same session again, as that one is now."""
        of = self._of
        assert of
        of.parts.add(self)
        self.caller, self.is_initialized, self.log_level = of.caller, of.is_initialized, of.log_level
        self.retry_after = 0.0

    # ---- the end

    async def settle(self, grace_s: float) -> None:
        """Give requests under way `grace_s`; calls that go on even so are put on record as interrupted."""
        try:
            async with asyncio.timeout(grace_s):
                await self.dispatch.idle()
                if self._answering:
                    await asyncio.wait(self._answering)
        except TimeoutError:
            self.dispatch.interrupt()

    async def close(self, last: float) -> None:
        """Close the record once the last search is on it; searches are ended at `last`, on the loop's clock."""
        if self._answering:
            await asyncio.wait(self._answering, timeout=last - asyncio.get_running_loop().time())
        for task in self._answering:
            task.cancel()
        await asyncio.gather(*self._answering, return_exceptions=True)
        self.subscriptions.close()
        if self._of:
            self._of.parts.discard(self)
            return
        self.gateway.sessions.remove(self)
        self.dispatch.close()
        self.recorder.close()
        await self.dispatch.consent.end()
