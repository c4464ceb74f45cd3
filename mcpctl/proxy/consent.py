"""The user's yes to one session's calls: an earlier one, one from a terminal, or one that the client is asked for.

The client is asked in its own way: an older one by a request, one of 2026-07-28 by `input_required`, after which its
call comes again. Nothing is sent to a server meanwhile, and what has its yes is decided on once more.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial

from mcpctl import bounds, posix
from mcpctl.errors import Unusable, warn
from mcpctl.failure import Failure
from mcpctl.policy import shown_arguments, words
from mcpctl.policy.consent import digest_of
from mcpctl.proxy.asked import NO, Asked, Forms, form_of
from mcpctl.proxy.call import Call
from mcpctl.proxy.gateway import Gateway
from mcpctl.proxy.questions import Questions, can_fill_forms
from mcpctl.store import approvals, grants, running_dashboard
from mcpctl.store.approvals import ALLOWED, CLAUDE_CODE, DENIED, ONCE, SESSION, Approval, Wanted
from mcpctl.store.recorder import Recorder
from mcpctl.upstreams.question import Question
from mcpctl.wire.messages import beside

_LOOK_S = 0.25
"""How often it is looked whether a terminal has answered meanwhile."""
_PROGRESS_S = 5.0
_EXPIRED_S = approvals.OPEN_S + 1
_END_S = 0.5
_MOST_REMEMBERED = 1000


class Consent:
    """Gets it, for the calls of one session."""

    def __init__(self, gateway: Gateway, recorder: Recorder, questions: Questions) -> None:
        self._gateway = gateway
        self._recorder = recorder
        self._questions = questions
        self._was_asked: dict[str, None] = {}
        """The approvals that the client was asked for, and the calls that it has declined by itself: it is not asked
        again."""
        self._forms = Forms()
        self._repeatable: dict[str, str] = {}
        """What had its yes and may be repeated with nothing more done, with the id of that approval."""
        self._has_granted = False

    async def obtain(self, call: Call, failure: Failure, is_wanted: Callable[[], bool]) -> Failure | None:
        """Give the call its `consent`, or say why it has none. Of a call that nobody wants any more, or that its client
        brings again, neither."""
        if not call.arguments_digest:
            is_long = len(call.arguments) > bounds.LITTLE
            call.arguments_digest = await beside(digest_of, call.arguments) if is_long else digest_of(call.arguments)
        binding = call.subject.binding
        if call.consent == binding:
            return None
        call.consent = None  # one that it had was for another definition
        call.record.start()
        try:
            if self._may_hold(call) and await self._is_repeat(binding):
                self._note(call, failure, "allowed", channel="grant", scope=SESSION)
                call.consent = binding
                return None
            return await self._obtain(call, failure, is_wanted)
        except Unusable as error:
            warn(f"nobody can be asked for consent: {error}")
            self._note(call, failure, "unanswerable")
            return failure

    async def _obtain(self, call: Call, failure: Failure, is_wanted: Callable[[], bool]) -> Failure | None:
        if asked := self._brought_back(call):
            return await self._answered(asked, call, failure, is_wanted)
        approval = await self._approval(call, failure)
        if outcome := self._outcome(approval, call, failure):
            return None if call.consent else outcome
        if why := self._why_not_asked(approval, call):
            self._note(call, failure, "unanswerable", channel=why)
            return await self._pending(failure, approval)
        self._note(call, failure, "asked", channel="client")
        return await self._ask(approval, call, failure, is_wanted)

    def _why_not_asked(self, approval: Approval, call: Call) -> str:
        """Why the client is not asked, as the channel of the decision has it; empty where it is."""
        if not can_fill_forms(call.request.caller):
            return "client"
        if approval.id in self._was_asked or approval.binding in self._was_asked:
            return "asked"
        return "" if self._forms.have_room else "limit"

    def _outcome(self, approval: Approval, call: Call, failure: Failure) -> Failure | None:
        """What has become of an approval: None while it is open. The call has its `consent` where it was a yes."""
        if approval.state == ALLOWED:  # and used up by that look at it
            channel = approval.channel or ""
            self._note(call, failure, "allowed", channel=channel, scope=ONCE, waited_ms=approval.waited_ms)
            self._go_on(call, approval)
        elif approval.state == DENIED:
            channel = approval.channel or "client"
            self._note(call, failure, "declined", channel=channel, waited_ms=approval.waited_ms)
            return Failure("declined", failure.facts)
        return failure if call.consent else None

    async def _approval(self, call: Call, failure: Failure) -> Approval:
        subject, rules = call.subject, call.view.rules
        rule, place = words.rule_of(failure.facts["ruling"], call.view)
        hints = "no list of its server has it"
        if subject.tool:
            hints = words.hints_of(rules.hints(subject.server, subject.tool))
        values, arguments = self._recorder.values, call.arguments or b"{}"
        shown = (
            await asyncio.to_thread(values.shown, arguments)
            if len(arguments) > bounds.LITTLE
            else values.shown(arguments)
        )
        wanted = Wanted(
            subject.binding, subject.grant, failure.facts["risk"], hints, shown.beginning, call.arguments_digest, rule,
            place, shown.whole, shown.hidden, shown.left_out,
        )  # fmt: skip
        expected = self._expected(call, wanted.binding)
        opened = partial(approvals.open_for, wanted=wanted, expected=expected)
        approval = await self._gateway.policy.run(opened)
        if approval.whole and approval.created > time.time() - 1:
            asyncio.get_running_loop().call_later(_EXPIRED_S, self._forget)
        return approval

    def _forget(self) -> None:
        """What nobody has answered in time is kept no longer than it can be answered."""

        async def forget() -> None:
            with suppress(Unusable):
                await self._gateway.policy.run(approvals.forget_expired)

        self._gateway.background(forget())

    def _expected(self, call: Call, binding: str) -> Sequence[str]:
        """What a yes may be bound to that the user has given in the client's own prompt, where a hook asked for it."""
        client = call.request.caller.client.name
        if not (call.view.config.policy.table.claude_hook and self._recorder.is_of_client and client == CLAUDE_CODE):
            return ()
        return [approvals.expected_binding(binding, client, each) for each in posix.parents()]

    # ---- in the client

    async def _ask(
        self, approval: Approval, call: Call, failure: Failure, is_wanted: Callable[[], bool]
    ) -> Failure | None:
        arguments = call.arguments or b"{}"
        is_long = shown_arguments.is_cut(arguments)
        scopes = (ONCE, SESSION) if self._may_hold(call) and not is_long else (ONCE,)
        asked = Asked(approval, scopes, lambda late: self._came_late(late, call, failure))
        self._forms.open(asked)
        self._remember(approval.id)
        shown = (
            await asyncio.to_thread(shown_arguments.in_form, arguments)
            if is_long
            else shown_arguments.in_form(arguments)
        )
        form = form_of(approval, shown, scopes, repeats=SESSION in scopes and self._does_nothing_more(call))
        question = Question("elicitation/create", form, asked.answered)
        if call.request.caller.modern:
            call.ask(question, asked)
            return None
        id_ = self._questions.ask(question, call)
        outcome = await self._waited(asked, call, failure, is_wanted)
        if asked.answer.done():
            return await self._answered(asked, call, failure, is_wanted)
        if outcome or not is_wanted():
            self._forms.close(asked)
            self._questions.withdraw(id_, {})
            return None if call.consent else outcome
        # It stays open in the client, and a yes that comes later counts for the same call made again.
        asked.is_waited_for = False
        asked.look_at_the_clock()
        self._note(call, failure, "expired", channel="client", waited_ms=asked.waited_ms)
        return await self._pending(failure, approval)

    def _remember(self, asked: str) -> None:
        if len(self._was_asked) >= _MOST_REMEMBERED:
            del self._was_asked[next(iter(self._was_asked))]
        self._was_asked[asked] = None

    async def _waited(
        self, asked: Asked, call: Call, failure: Failure, is_wanted: Callable[[], bool]
    ) -> Failure | None:
        """Wait for the client, as long as the policy says; an answer that a terminal gives meanwhile ends it, too."""
        loop = asyncio.get_running_loop()
        until, told, standing = (
            loop.time() + call.view.config.policy.table.confirm_wait_s, loop.time(), self._gateway.policy.standing(),
        )  # fmt: skip
        steps = 0
        while loop.time() < until and is_wanted():
            await asyncio.wait({asked.answer}, timeout=min(_LOOK_S, until - loop.time()))
            if asked.answer.done():
                return None
            if self._gateway.policy.standing() is not standing:
                standing = self._gateway.policy.standing()
                if outcome := self._outcome(await self._now(asked.approval), call, failure):
                    return outcome
            if loop.time() - told >= _PROGRESS_S:
                told, steps = loop.time(), steps + 1
                # Small steps: what its server tells later has to be more.
                call.progress({"progress": b"%.3f" % (steps / 1000), "message": b'"waiting for the user\'s consent"'})
        return None

    async def _answered(
        self, asked: Asked, call: Call, failure: Failure, is_wanted: Callable[[], bool]
    ) -> Failure | None:
        """What follows on what the client has answered."""
        if await self._settle(asked, call, failure):
            return None
        if asked.approval.binding != call.subject.binding:  # its definition has changed meanwhile
            return await self._obtain(call, call.verdict.failure or failure, is_wanted)
        approval = await self._now(asked.approval)
        outcome = self._outcome(approval, call, failure) or await self._pending(failure, approval)
        return None if call.consent else outcome

    async def _now(self, approval: Approval) -> Approval:
        """What has become of an approval meanwhile."""
        return await self._gateway.policy.run(partial(approvals.now_is, approval=approval))

    def _brought_back(self, call: Call) -> Asked | None:
        """What a client of 2026-07-28 was asked, whose call comes again with its answer."""
        parked = call.parked
        if parked is None or parked.asked is None:
            return None
        call.parked = None
        parked.take(call, call.responses)
        asked: Asked = parked.asked
        asked.look_at_the_clock()
        return asked

    async def _settle(self, asked: Asked, call: Call, failure: Failure) -> bool:
        """Keep what the client has answered; whether the call may go on with that."""
        scope, approval = asked.scope, asked.approval
        self._forms.close(asked)
        if scope is None:
            # Many clients decline by themselves: it stays open for a person to answer, elsewhere.
            decision, channel = ("expired", "dismissed") if asked.was_dismissed else ("unanswerable", "client")
            self._note(call, failure, decision, channel=channel, waited_ms=asked.waited_ms)
            if not asked.was_dismissed:
                self._remember(approval.binding)
            return False
        is_this_call = approval.binding == call.subject.binding
        is_yes = scope != NO
        # Another session may have asked first; the yes is for the one whose client has given it.
        grant = approval.grant._replace(session=self._recorder.session_id) if scope == SESSION else None
        settled = partial(
            approvals.answer, id_=approval.id, scope=scope if is_yes else None, channel="client", grant=grant,
            used=is_this_call and asked.is_waited_for,
        )  # fmt: skip
        was_open = await self._gateway.policy.run(settled)
        if was_open and not is_yes and not asked.is_waited_for:
            self._note(call, failure, "declined", channel="client", waited_ms=asked.waited_ms)
        if not was_open or not is_yes:
            return False
        self._has_granted |= grant is not None
        self._note(call, failure, "approved", channel="client", scope=scope, waited_ms=asked.waited_ms)
        if is_this_call and asked.is_waited_for:
            self._go_on(call, approval)
            return True
        return False

    def _came_late(self, asked: Asked, call: Call, failure: Failure) -> None:
        async def keep() -> None:
            try:
                await self._settle(asked, call, failure)
            except Unusable as error:
                warn(f"an answer cannot be kept: {error}")

        self._gateway.background(keep())

    async def _pending(self, failure: Failure, approval: Approval) -> Failure:
        """Why it is not run yet, with where the user can answer."""
        until = time.strftime("%H:%MZ", time.gmtime(approval.expires))
        dashboard = await asyncio.to_thread(running_dashboard.url, self._gateway.paths)
        return failure.about(approval=approval.id, until=until, dashboard=dashboard)

    # ---- what holds

    def _may_hold(self, call: Call) -> bool:
        """Whether a yes may be for more than one call."""
        return call.view.config.policy.table.confirm == "session"

    async def _is_repeat(self, binding: str) -> bool:
        """Whether it had a yes that nobody has taken back."""
        id_ = self._repeatable.get(binding)
        return id_ is not None and await self._gateway.policy.run(partial(approvals.has_yes, id_=id_))

    def _go_on(self, call: Call, approval: Approval) -> None:
        call.consent = approval.binding
        if call.tool is None or call.consent != call.subject.binding:  # its definition has changed in this moment
            return
        if self._does_nothing_more(call) and len(self._repeatable) < _MOST_REMEMBERED:
            self._repeatable[call.consent] = approval.id

    def _does_nothing_more(self, call: Call) -> bool:
        """Whether the call, made again, does nothing more."""
        server, tool = call.subject.server, call.subject.tool
        return tool is not None and call.view.rules.hints(server, tool)["idempotentHint"].value

    def _note(
        self, call: Call, failure: Failure, decision: str, *, channel: str = "rule", scope: str = "",
        waited_ms: int | None = None,
    ) -> None:  # fmt: skip
        call.record.note(decision, failure, channel=channel, scope=scope, waited_ms=waited_ms)

    async def end(self) -> None:
        """The yeses of this session end with it."""
        if self._has_granted:
            self._has_granted = False
            # Nobody else has this session's id: where they cannot be taken away in time, they are of no use either.
            with suppress(Unusable, TimeoutError):
                async with asyncio.timeout(_END_S):
                    await self._gateway.policy.run(partial(grants.end_session, session=self._recorder.session_id))
