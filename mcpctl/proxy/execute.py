"""What becomes of each `tool_execute`: decided on, and sent or refused. The only way to an upstream's tools."""

import asyncio
from collections.abc import Coroutine
from functools import partial
from itertools import takewhile
from typing import Any

from mcpctl import tool_keys
from mcpctl.callers import Caller
from mcpctl.catalog.lists import Listed
from mcpctl.errors import warn
from mcpctl.failure import Failed, Failure
from mcpctl.policy.decide import ALLOW, ANEW, ASK, CURRENT, KEPT, LIST, UNAVAILABLE, Verdict, decide
from mcpctl.proxy import own_tool, refusals
from mcpctl.proxy.call import Call
from mcpctl.proxy.client_side import CallRequest, ClientSide
from mcpctl.proxy.consent import Consent
from mcpctl.proxy.execute_arguments import Unreadable, taken_apart
from mcpctl.proxy.forwarded import Forwarded
from mcpctl.proxy.gateway import Gateway
from mcpctl.proxy.in_flight import InFlight
from mcpctl.proxy.model_reads import ModelReads
from mcpctl.proxy.parking import HANDLE, Parked, Parking
from mcpctl.proxy.question_log import QuestionLog
from mcpctl.proxy.questions import Parents, Questions
from mcpctl.proxy.shortening import Shortening
from mcpctl.store.recorder import Recorder
from mcpctl.tool_keys import OWN
from mcpctl.upstreams.connection import Exchange
from mcpctl.upstreams.question import Question
from mcpctl.wire import jsonrpc
from mcpctl.wire.messages import beside

_LIST_WAIT_S = 2.0
"""How long a call of a tool that is not known waits for the list of a server that is connected."""
_OF_ROUNDS = ("requestState", "inputResponses")
_NOT_OPEN = "this requestState is not open (a tool's question waits for ten minutes, once); call the tool again"


class Execute:
    """Runs one session's calls against the upstreams."""

    def __init__(self, gateway: Gateway, recorder: Recorder, questions: Questions, client: ClientSide) -> None:
        self.client = client
        self.recorder = recorder
        self.questions = questions
        self.parking = Parking(self._give_up)
        self.parents = Parents()
        self.consent = Consent(gateway, recorder, questions)
        self.asked = QuestionLog(recorder)
        self.shortening = Shortening(gateway.paths, recorder, client)
        self.reads = ModelReads(gateway, client)
        self.in_flight = InFlight()
        """Its calls, and what it reads."""
        self._gateway = gateway
        self._waiting: dict[Call, asyncio.Task[None]] = {}
        """The calls that are looked into aside, in the order in which they came."""
        self._known: dict[str, tuple[Listed | None, bool]] = {}
        """By server, what was known of its tools when calls that waited for it were last looked at."""

    # ---- what the client does

    def start(self, request: CallRequest, arguments: bytes) -> None:
        """Begin one call; `arguments` is the JSON of `{toolKey, arguments?}`."""
        try:
            key, passed = taken_apart(arguments)
        except Unreadable as error:
            self.attempted(error.key, "bad_arguments", request.caller)
            self.client.answer(request, refusals.result(str(error), request.caller))
            return
        if request.id in self.in_flight:
            self.attempted(key, "id_in_use", request.caller)
            self.client.error(
                request, jsonrpc.error_object(jsonrpc.INVALID_REQUEST, "this id is in use by another call")
            )
            return
        call = Call(self, request, self._gateway.first_view(request.caller), *tool_keys.split(key), passed)
        self._gateway.when_current(lambda: self._begin(call))

    def attempted(self, key: str, rule: str, caller: Caller) -> None:
        """Put on record what was asked for and never became a call."""
        self.recorder.decision_made(key, "denied", rule, origin=self._gateway.first_view(caller).origin)

    def _begin(self, call: Call) -> None:
        if call.done:
            return  # taken back meanwhile
        try:
            self._open(call)
        except Exception as error:
            self._broken(call, error)

    def _open(self, call: Call) -> None:
        """Tell a new call from one that goes on with another."""
        state = call.request.extra.get("requestState", b"")
        responses = _responses(call.request.extra.get("inputResponses", b"null"))
        if responses is None:
            call.reject("inputResponses must be an object")
            return
        if state.startswith(HANDLE):
            call.parked = self.parking.resume(state, call.key, call.arguments)
            if call.parked is None:
                call.reject(_NOT_OPEN)
                return
            call.responses, call.parent_id = responses, call.parked.record_id
            call.extra = {name: value for name, value in call.extra.items() if name not in _OF_ROUNDS}
            call.consent = call.parked.consent
        elif state and self._sees(call) and self._gateway.is_older(call.server):
            call.reject(_NOT_OPEN)  # no server of its kind has given it
            return
        else:
            call.parent_id, call.consent = self.parents.of(call.key, state, responses)
            call.parent_id = call.parent_id or call.request.replays
            if call.server == OWN:
                call.parent_id = own_tool.parent_of(call.arguments)
        self.proceed(call)

    def _sees(self, call: Call) -> bool:
        """Whether anything of the call's server may be told to who asks."""
        return call.server in self._gateway.view(call.request.caller).config.enabled

    def close(self) -> None:
        """Nothing that was asked is answered any more."""
        self.questions.close()
        self.parking.close()
        self.parents.close()

    def ended(self, call: Call) -> None:
        """Forget a call that has its answer, or needs none."""
        self._waiting.pop(call, None)
        if call.parked:
            self._give_up(call.parked)
        self.in_flight.remove(call)

    # ---- the decision

    def proceed(self, call: Call) -> None:
        """Send a call, or refuse it, as things are now; or first get to know what decides."""
        call.listing = KEPT
        self._follow(call, self._decided(call))

    def again(self, call: Call) -> None:
        """Decide anew on a call that is to be sent once more, on the configuration of now."""
        self._gateway.when_current(lambda: None if call.done else self.proceed(call))

    def allows(self, call: Call) -> bool:
        """Whether a call may be sent as things are now; not before it is known what the file says now."""
        if not self._gateway.is_current:
            return False
        if call.listing == ANEW:
            call.listing = KEPT
        return self._decided(call).outcome == ALLOW

    def _decided(self, call: Call) -> Verdict:
        call.view = self._gateway.view(call.request.caller)
        is_own = call.key == own_tool.TOOL.key
        catalog = self._gateway.catalog(call.view)
        call.tool = own_tool.TOOL if is_own else catalog.to_call(call.server, call.name)
        if call.listing in (KEPT, CURRENT):
            call.listing = CURRENT if self._gateway.has_listed(call.server) else KEPT
        call.verdict = self.reads.decided(call) if is_own else decide(call.subject)
        return call.verdict

    def _barring(self, call: Call) -> Failure | None:
        """Why what a call of our own tool reads may not be read as things are now."""
        verdict = self._decided(call)
        return None if verdict.outcome == ALLOW else verdict.failure

    def _follow(self, call: Call, verdict: Verdict) -> None:
        if verdict.outcome == LIST:
            self._wait(call, self._list_first(call))
        elif verdict.outcome == ALLOW:
            self._send_in_turn(call)
        elif verdict.outcome == ASK and verdict.failure:
            self._wait(call, self._consented(call, verdict.failure))
        elif verdict.failure:
            self._refuse(call, verdict.failure)

    async def _consented(self, call: Call, failure: Failure) -> None:
        refusal = await self.consent.obtain(call, failure, lambda: self._is_at_work_on(call))
        if not self._is_at_work_on(call):
            return
        if refusal:
            call.refuse(refusal)
        else:
            self.again(call)

    def _refuse(self, call: Call, failure: Failure) -> None:
        if failure.code in ("unknown_tool", "not_in_toolset") and not failure.facts["is_listed"]:
            self._wait(call, self._suggest(call, failure))
        else:
            call.refuse(failure)

    async def _suggest(self, call: Call, failure: Failure) -> None:
        # Aside: near names are found by comparing with all that there are.
        near = await beside(refusals.near, call.key, self._gateway.catalog(call.view).snapshot())
        if self._is_at_work_on(call):
            call.refuse(failure.about(near=near))

    def _send_in_turn(self, call: Call) -> None:
        """Send a call, after those that came before it and waited for what is known now."""
        if not self._waiting:
            call.go()
            return
        is_waiting = call in self._waiting
        if not is_waiting and not self._gateway.is_current:
            self.again(call)  # nor could those before it be sent just now: it does not overtake them
            return
        if call.listing == UNAVAILABLE:
            self._unlisted(call)
        known = self._gateway.catalog(call.view).listed(call.server), self._gateway.has_listed(call.server)
        if self._known.get(call.server) != known:  # else they wait for more
            self._known[call.server] = known
            self.listed(call.server)
        if not is_waiting or call in self._waiting:
            self._waiting.pop(call, None)
            call.go()

    def listed(self, server: str) -> None:
        """Send the calls that waited for what is known of a server's tools just now, in the order of their coming."""
        self._send_allowed([call for call in self._waiting if call.server == server])

    def _unlisted(self, last: Call) -> None:
        """Send the calls that came before this one, and wait as it did for a list that its server does not give: their
        times do not run out in the order of their coming."""
        before = takewhile(lambda each: each is not last, self._waiting)
        earlier = [each for each in before if each.server == last.server]
        for call in earlier:
            call.listing = UNAVAILABLE
        self._send_allowed(earlier)
        for call in earlier:
            if call in self._waiting:
                call.listing = KEPT

    def _send_allowed(self, calls: list[Call]) -> None:
        for call in calls:
            if self.allows(call):
                del self._waiting[call]
                call.go()

    async def _list_first(self, call: Call) -> None:
        """A tool that is not known may be kept, or new; and where hints decide, its server's list of now counts."""
        if call.server == OWN:
            await self.reads.locate(call)
        await self._gateway.load(call.server, call.view)
        upstream = self._gateway.upstreams.get(call.server)
        if not self._is_at_work_on(call):
            return
        if upstream and self._decided(call).outcome == LIST:
            wait = (upstream.server.start_timeout_s or None) if call.request.execute_class else _LIST_WAIT_S
            try:
                await upstream.connected(call.request.caller)
            except Failed as error:
                if self._is_at_work_on(call):
                    call.failed(error.failure)
                return
            try:
                await upstream.refresh(call.request.caller, wait)
                call.listing = ANEW
            except Exception:
                # It runs but its list cannot be had or kept, or not soon.
                call.listing = UNAVAILABLE
        await self._gateway.current()
        if not self._is_at_work_on(call):
            return
        verdict = self._decided(call)
        if verdict.outcome == LIST:  # its connection has ended meanwhile
            call.listing = UNAVAILABLE
            verdict = decide(call.subject)
        self._follow(call, verdict)

    def _is_at_work_on(self, call: Call) -> bool:
        """Whether the task that runs is still the one that decides on the call: it was not sent or ended meanwhile."""
        return self._waiting.get(call) is asyncio.current_task()

    def _wait(self, call: Call, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._waiting[call] = task
        task.add_done_callback(lambda done: self._waited(call, done))

    def _waited(self, call: Call, done: "asyncio.Task[None]") -> None:
        if self._waiting.get(call) is done:
            del self._waiting[call]
        if not done.cancelled() and (error := done.exception()):
            self._broken(call, error)

    def _broken(self, call: Call, error: BaseException) -> None:
        warn(f"internal error: {error!r}")
        if not call.done:
            call.reject(f"internal error: {type(error).__name__}", jsonrpc.INTERNAL_ERROR)

    # ---- to the upstreams

    def send(self, server: str, exchange: Exchange, call: Call) -> None:
        """Forward a call that was decided on; one of our own tool is answered here."""
        if server == OWN:
            self.shortening.read(call, partial(self._barring, call))
            return
        self._gateway.upstreams[server].send(exchange)

    def watch(self, server: str, exchange: Exchange) -> None:
        """Bound the time that a call may take from now, which its client was asked about meanwhile."""
        self._gateway.upstreams[server].watch(exchange)

    def cancel_upstream(self, server: str, exchange: Exchange, params: dict[str, bytes]) -> None:
        """Take back what was forwarded."""
        if upstream := self._gateway.upstreams.get(server):
            upstream.cancel(exchange, params)

    def _give_up(self, parked: Parked) -> None:
        """Nobody came back: the server is told so."""
        parked.close()
        if parked.exchange:
            server, _ = tool_keys.split(parked.key)
            self.cancel_upstream(server, parked.exchange, {"reason": b'"the user did not answer"'})

    def ask_older(self, question: Question, call: Forwarded) -> bool:
        """Ask an older client; whether it reads what it is sent."""
        if not self.client.is_reading:
            return False
        self.questions.ask(question, call)
        return True


def _responses(text: bytes) -> dict[str, bytes] | None:
    """The client's answers to what a tool asked, by its keys; None where they are not an object."""
    try:
        return {} if text == b"null" else jsonrpc.members(text)
    except jsonrpc.Malformed:
        return None
