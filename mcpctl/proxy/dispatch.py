"""The requests of one session: each is decided on, and sent or refused. The only way to a server."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from functools import partial
from typing import Any

from mcpctl.base.callers import Caller
from mcpctl.base.errors import warn
from mcpctl.base.failure import Failure
from mcpctl.base.tool_keys import OWN, split
from mcpctl.config.policy_settings import PolicyRule
from mcpctl.metatools import own_tool
from mcpctl.policy.decide import ALLOW, ANEW, ASK, COUNT, KEPT, LIST, REFUSE, UNAVAILABLE, Verdict
from mcpctl.policy.view import View
from mcpctl.proxy import translate
from mcpctl.proxy.consent import Consent
from mcpctl.proxy.gateway import Gateway
from mcpctl.proxy.input_rounds import HANDLE, Parked, Parking
from mcpctl.proxy.questions import Parents, QuestionLog, Questions
from mcpctl.proxy.request import Request
from mcpctl.proxy.spec import ClientSide, Incoming
from mcpctl.proxy.tool_calls import ToolCalls, Unreadable, taken_apart
from mcpctl.store.recordable import Json
from mcpctl.store.recorder import Recorder
from mcpctl.upstreams.connection import Exchange
from mcpctl.wire import jsonrpc
from mcpctl.wire.threads import beside

_NOT_KNOWN = ("unknown_tool", "not_in_toolset")
_OF_ROUNDS = ("requestState", "inputResponses")
_NOT_OPEN = "this requestState is not open (a question waits for ten minutes, once); "


class Dispatch:
    def __init__(
        self, gateway: Gateway, recorder: Recorder, questions: Questions, client: ClientSide,
        parents: Callable[[], Sequence[int]] = tuple, of: "Dispatch | None" = None,
    ) -> None:  # fmt: skip
        self.client = client
        self.recorder = recorder
        self.questions = questions
        self.parking: Parking = of.parking if of else Parking(self._give_up)
        self.parents: Parents = of.parents if of else Parents()
        self.question_log: QuestionLog = of.question_log if of else QuestionLog(recorder)
        self.consent: Consent = of.consent if of else Consent(gateway, recorder, parents)
        self.in_flight: dict[bytes, Request] = {}
        self.is_in_use: Callable[[bytes], bool] | None = None  # whether another part of the session has such an id
        self._tool_calls: ToolCalls = ToolCalls(gateway, recorder, client, of._tool_calls if of else None)
        self._gateway = gateway
        self._idle: asyncio.Future[None] | None = None

    # ---- what the client does

    def call(self, incoming: Incoming, arguments: bytes) -> None:
        """Begin one tool call, however it is written; `arguments` is the JSON of `{toolKey, arguments?}`."""
        try:
            key, passed = taken_apart(arguments)
        except Unreadable as error:
            self.attempted(error.key, "bad_arguments", incoming.caller)
            self.client.answer(incoming, translate.refusal(str(error), incoming.caller))
        else:
            self.call_tool(incoming, key, passed)

    def call_tool(self, incoming: Incoming, key: str, passed: Json) -> None:
        """Begin one call; `passed` is the JSON of its arguments, empty where there are none."""
        if incoming.id in self.in_flight or (self.is_in_use and self.is_in_use(incoming.id)):
            self._in_use(incoming, key)
            return
        server, _, name = key.partition(":")
        view = self._gateway.view(incoming.caller)
        call = Request(self, self._tool_calls, incoming, view, key if name else server, server, name, passed)
        if server == OWN:
            call.parent_id = own_tool.parent_of(call.arguments)
        self.begin(call)

    def call_when_found(
        self, incoming: Incoming, passed: Json, find: Callable[[], Awaitable[str]], unknown: Callable[[], None]
    ) -> None:
        """Begin one call whose key has to be found first; it is in flight from now on. An empty key is `unknown`."""
        if incoming.id in self.in_flight or (self.is_in_use and self.is_in_use(incoming.id)):
            self._in_use(incoming, "")
            return
        call = Request(self, self._tool_calls, incoming, self._gateway.view(incoming.caller), "", "", "", passed)
        call.is_found = False
        self.in_flight[incoming.id] = call
        self._wait(call, self._find(call, find, unknown))

    async def _find(self, call: Request, find: Callable[[], Awaitable[str]], unknown: Callable[[], None]) -> None:
        key = await find()
        if not call.is_at_work:
            return  # it was taken back meanwhile
        if not key:
            unknown()
            call.end()
            return
        call.done = True
        del self.in_flight[call.incoming.id]  # what it is from now on takes its place
        self.call_tool(call.incoming, key, call.passed)

    def _in_use(self, incoming: Incoming, key: str) -> None:
        self.attempted(key, "id_in_use", incoming.caller)
        in_use = jsonrpc.error_object(jsonrpc.INVALID_REQUEST, "this id is in use by another call")
        self.client.error(incoming, in_use)

    def attempted(self, key: str, rule: str, caller: Caller) -> None:
        self.recorder.decision_made(key, "denied", rule, origin=self._gateway.view(caller).origin)

    def begin(self, request: Request) -> None:
        """Decide on a request once it is known what is in force; requests that need not wait keep their order."""
        self.in_flight[request.incoming.id] = request
        if self._gateway.follower.settling:
            self._gateway.when_current(partial(self._begin, request))
        elif not (request.extra or self.parents.calls) or self._goes_on(request):
            self._proceed(request, request.view)

    def _begin(self, request: Request) -> None:
        if not request.done and self._goes_on(request):
            self._proceed_now(request)

    def _goes_on(self, request: Request) -> bool:
        """Tell a request that goes on with another from a new one; whether it may be decided on."""
        if not request.spec.may_ask:
            return True
        state, responses = request.extra.get("requestState", b""), request.extra.get("inputResponses", b"null")
        try:
            request.responses = {} if responses == b"null" else jsonrpc.members(responses)
        except jsonrpc.Malformed:
            request.reject("inputResponses must be an object")
            return False
        if state.startswith(HANDLE):
            request.parked = parked = self.parking.resume(state, request.key, request.arguments)
            if parked:
                request.counts_for = () if parked.exchange else None
                request.parent_id, request.consent = parked.record_id, parked.consent
                request.extra = {name: value for name, value in request.extra.items() if name not in _OF_ROUNDS}
        if state and request.parked is None and (state.startswith(HANDLE) or self._gave_none(request)):
            request.reject(
                _NOT_OPEN + ("call the tool again" if request.spec is self._tool_calls else "ask for it again")
            )
            return False
        if request.parked is None:
            parent_id, request.consent = self.parents.of(request.key, state, request.responses)
            request.parent_id, request.counts_for = parent_id or request.parent_id, () if parent_id else None
        return True

    def _gave_none(self, request: Request) -> bool:
        is_seen = request.server in self._gateway.view(request.caller).config.enabled
        upstream = self._gateway.held[request.caller.holder].get(request.server)
        connection = upstream.connection if upstream and is_seen else None
        return connection is not None and not connection.modern

    def cancel(self, id_: bytes, params: dict[str, bytes]) -> None:
        if request := self.in_flight.get(id_):
            request.cancel(params)

    async def idle(self) -> None:
        if self.in_flight:
            self._idle = asyncio.get_running_loop().create_future()
            await self._idle

    def interrupt(self) -> None:
        for request in list(self.in_flight.values()):
            request.interrupt()

    def close(self) -> None:
        self.questions.close()
        self.parking.close()
        self.parents.close()

    def ended(self, request: Request) -> None:
        request.work = None
        if request.parked:
            self._give_up(request.parked)
        if self.in_flight.get(request.incoming.id) is request:
            del self.in_flight[request.incoming.id]
        if self._idle and not self.in_flight and not self._idle.done():
            self._idle.set_result(None)

    def _give_up(self, parked: Parked) -> None:
        parked.close()
        if parked.exchange:
            self.cancel_upstream(parked.server, parked.exchange, {"reason": b'"the user did not answer"'})

    # ---- the decision

    def again(self, request: Request) -> None:
        self._gateway.when_current(partial(self._proceed_now, request))

    def allows(self, request: Request) -> bool:
        """Whether a request may be sent to the same server now; not before it is known what is in force."""
        if self._gateway.follower.look():
            return False
        if request.listing == ANEW:
            request.listing = KEPT
        owner, view = request.owner, self._gateway.view(request.caller)
        return request.spec.decide(request, view).outcome == ALLOW and request.owner == owner

    def _proceed_now(self, request: Request) -> None:
        if not request.done:  # else it was taken back meanwhile
            self._proceed(request, self._gateway.view(request.caller))

    def _proceed(self, request: Request, view: View) -> None:
        request.listing = KEPT
        try:
            verdict = request.spec.decide(request, view)
            if verdict.outcome == ALLOW and request.parked is None:
                request.go()
            else:
                self._follow(request, verdict)
        except Exception as error:
            self._broken(request, error)

    def _follow(self, request: Request, verdict: Verdict) -> None:
        if verdict.outcome in (ALLOW, REFUSE, COUNT) and request.parked and request.parked.form:
            self._wait(request, self._hear(request))
        elif verdict.outcome == ALLOW:
            request.work = None
            request.go()
        elif verdict.outcome == LIST:
            self._wait(request, self._learn(request))
        elif verdict.outcome == COUNT:
            self._wait(request, self._count(request))
        elif verdict.outcome == ASK and verdict.failure:
            self._wait(request, self._obtain_consent(request, verdict.failure))
        elif verdict.failure and request.spec is self._tool_calls and verdict.failure.code in _NOT_KNOWN:
            self._wait(request, self._suggest(request, verdict.failure))
        elif verdict.failure:
            request.refuse(verdict.failure)

    async def _learn(self, request: Request) -> None:
        await request.spec.learn(request)
        await self._gateway.current()
        if not request.is_at_work:
            return
        view = self._gateway.view(request.caller)
        verdict = request.spec.decide(request, view)
        if verdict.outcome == LIST:  # its connection has ended meanwhile
            request.listing = UNAVAILABLE
            verdict = request.spec.decide(request, view)
        self._follow(request, verdict)

    async def _count(self, request: Request) -> None:
        from mcpctl.proxy import limiting  # most policies have no limits

        limits, full = request.verdict.limits, await limiting.take(self._gateway.policy, request)
        if request.is_at_work and full and request.view.config.policy.enforces:
            request.refuse(full)
        elif request.is_at_work:
            if full:
                request.record.note("denied", full, enforced=False)
            request.counts_for = () if full else limits
            self.again(request)
        elif full is None:
            self.count_no_more(request, limits)

    def count_no_more(self, request: Request, limits: Sequence[PolicyRule]) -> None:
        """It was not sent."""
        from mcpctl.proxy import limiting

        self._gateway.background(limiting.give_back(self._gateway.policy, limits, request.record.id))

    async def _obtain_consent(self, request: Request, failure: Failure) -> None:
        if request.verdict.limits:
            from mcpctl.proxy import limiting

            if full := await limiting.look(self._gateway.policy, request):  # else it would be asked about for nothing
                request.refuse(full)
                return
        outcome = await self.consent.obtain(request, failure)
        if not request.is_at_work or outcome is None:
            return
        if isinstance(outcome, Failure):
            request.refuse(outcome)
        else:
            request.consent = outcome
            self.again(request)

    async def _hear(self, request: Request) -> None:
        failure = await self.consent.heard(request)
        if failure and request.is_at_work:
            request.refuse(failure)
        elif request.is_at_work:
            self.again(request)

    async def _suggest(self, request: Request, failure: Failure) -> None:
        near: list[str] = []
        if not failure.facts["is_listed"]:
            # Aside: near names are found by comparing with all that there are.
            near = await beside(translate.near, request.key, self._gateway.catalog(request.view).snapshot())
            if request.incoming.via:
                from mcpctl.metatools.direct_tools import direct_name  # most show no tools directly

                near = [direct_name(*split(key)) for key in near]
        if request.is_at_work:
            request.refuse(failure.about(near=near))

    def _wait(self, request: Request, work: Coroutine[Any, Any, None]) -> None:
        request.work = task = asyncio.create_task(work)
        task.add_done_callback(lambda done: self._waited(request, done))

    def _waited(self, request: Request, done: "asyncio.Task[None]") -> None:
        is_at_work = request.work is done
        if is_at_work:
            request.work = None
        if done.cancelled() and is_at_work:  # the start that it waited for was ended: its server is another one now
            self.again(request)
        elif not done.cancelled() and (error := done.exception()):
            self._broken(request, error)

    def _broken(self, request: Request, error: BaseException) -> None:
        warn(f"internal error: {error!r}")
        request.reject(f"internal error: {type(error).__name__}", jsonrpc.INTERNAL_ERROR)

    # ---- to the servers

    def send(self, request: Request, exchange: Exchange) -> None:
        """Forward a request that was decided on; a call of our own tool is answered here."""
        if request.server == OWN:
            self._tool_calls.read(request)
        else:
            self._gateway.held[request.caller.holder][request.server].send(exchange)

    def watch(self, server: str, exchange: Exchange) -> None:
        self._gateway.held[exchange.caller.holder][server].watch(exchange)

    def cancel_upstream(self, server: str, exchange: Exchange, params: dict[str, bytes]) -> None:
        if upstream := self._gateway.held[exchange.caller.holder].get(server):
            upstream.cancel(exchange, params)
