"""The user's yes to one session's calls: an earlier one, one from a terminal, or one that the client is asked for.

The client is asked in its own way: an older one by a request, one of 2026-07-28 by `input_required`, after which its
call comes again. Nothing is sent to a server meanwhile, and what has its yes is decided on once more.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from mcpctl.base import bounds
from mcpctl.base.errors import Unusable, warn
from mcpctl.base.failure import Failure
from mcpctl.base.models import Newest
from mcpctl.policy import approvals
from mcpctl.policy.approvals import ALLOWED, CLAUDE_CODE, DENIED, ONCE, PENDING, SESSION, CallApproval
from mcpctl.policy.consent import digest_of
from mcpctl.policy.policy_file import PolicyFile
from mcpctl.proxy.consent_forms import (
    CLIENT,
    DISMISSED,
    NO,
    TERMINAL,
    Asked,
    AskHere,
    ConsentForm,
    Forms,
    asked_of,
    form_of,
)  # fmt: skip
from mcpctl.proxy.gateway import Gateway
from mcpctl.proxy.questions import can_fill_forms
from mcpctl.proxy.request import Request
from mcpctl.store import clock
from mcpctl.store.recorder import Recorder
from mcpctl.upstreams.question import Question
from mcpctl.wire.threads import WorkQueue, beside

if TYPE_CHECKING:
    from mcpctl.proxy.consent_notice import Notices

_LOOK_S = 0.25
_PROGRESS_S = 5.0
_EXPIRED_S = approvals.OPEN_S + 1
_END_S = 0.5
_END_OF_COMMAND_S = 2.0
_MOST_REMEMBERED = 1000
_reading = WorkQueue()  # what a person is to read is made aside, in the order of the calls


Outcome = str | Failure | None  # the binding of a yes; why there is none; or None where the call is over here


class Consent:
    def __init__(self, gateway: Gateway, recorder: Recorder, parents: Callable[[], Sequence[int]]) -> None:
        self._gateway = gateway
        self._parents = parents  # the processes that a client may be which has asked by itself
        self._recorder = recorder
        self._was_asked = Newest[str, None](_MOST_REMEMBERED)  # approvals and bindings that are not asked about again
        self._forms = Forms()
        self._repeatable: dict[str, str] = {}  # approval ids by binding, where the form said that a yes is for repeats
        self._has_granted = False
        self.ask_here: AskHere | None = None
        self._notices: Notices | None = None

    async def obtain(self, call: Request, failure: Failure) -> Outcome:
        if not call.arguments_digest:
            is_long = len(call.arguments) > bounds.LITTLE
            call.arguments_digest = await beside(digest_of, call.arguments) if is_long else digest_of(call.arguments)
        binding = call.subject.binding
        if call.consent == binding:
            return binding
        call.consent = None  # one that it had was for another definition
        call.record.start()
        try:
            if self._may_hold(call) and await self._is_repeat(binding):
                call.record.note("allowed", failure, channel="grant", scope=ONCE)
                return binding
            return await self._obtain(call, failure)
        except Unusable as error:
            warn(f"nobody can be asked for consent: {error}")
            call.record.note("unanswerable", failure)
            return failure

    async def _obtain(self, call: Request, failure: Failure) -> Outcome:
        if form := self._brought_back(call):
            return await self._answered(form, call, failure)
        approval, asked = await self._approval(call, failure)
        if outcome := self._outcome(approval, call, failure):
            return outcome
        if not call.is_at_work:
            return None
        if why := self._why_not_asked(approval, call):
            call.record.note("unanswerable", failure, channel=why)
            return await self._pending(failure, approval)
        call.record.note("asked", failure, channel=TERMINAL if self.ask_here else CLIENT)
        call.unanswered = failure.about(approval=approval.id, until=clock.local(approval.expires))
        if self.ask_here:
            return await self._ask_at_terminal(self.ask_here, approval, asked, call, failure)
        return await self._ask(approval, asked, call, failure)

    async def heard(self, call: Request) -> Failure | None:
        form = self._brought_back(call)
        if form is None:
            return None
        call.record.start()
        try:
            await self._settle(form, call, form.failure)
        except Unusable as error:
            warn(f"an answer cannot be kept: {error}")
        return Failure("declined", form.failure.facts) if form.scope == NO else None

    def _why_not_asked(self, approval: CallApproval, call: Request) -> str:
        if self.ask_here:
            return ""
        if not can_fill_forms(call.caller.capabilities):
            return CLIENT
        if approval.id in self._was_asked or approval.binding in self._was_asked:
            return "asked"
        return "" if self._forms.have_room else "limit"

    def _outcome(
        self, approval: CallApproval, call: Request, failure: Failure, form: ConsentForm | None = None
    ) -> Outcome:
        """Go by the approval as it is now, if it is answered; `form` is the one in which this client has answered."""
        if approval.state == ALLOWED and not call.is_at_work:  # it was taken back during that look
            self._aside(partial(approvals.give_back, id_=approval.id))
            return None
        if approval.state == ALLOWED:  # and used up by that look at it
            channel, scope = approval.channel or "", approval.scope or ONCE
            call.record.note("allowed", failure, channel=channel, scope=scope, waited_ms=approval.waited_ms)
            return approval.binding
        if approval.state == DENIED:
            channel = approval.channel or CLIENT
            # Another client may have asked long before this one.
            waited_ms = form.waited_ms if form and form.channel == channel else approval.waited_ms
            call.record.note("declined", failure, channel=channel, waited_ms=waited_ms)
            return Failure("declined", failure.facts)
        return None

    async def _approval(self, call: Request, failure: Failure) -> tuple[CallApproval, Asked]:
        subject, began, asks = call.subject, time.time(), partial(asked_of, is_here=self.ask_here is not None)
        asked = await _reading.do(asks, call, subject, failure, self._recorder.values)
        expected = self._expected(call)
        opened = partial(approvals.open_for, wanted=asked.wanted, expected=expected)
        approval = await self._gateway.policy.run(opened)
        notify = call.view.config.policy.table.notify
        if notify and approval.state == PENDING and approval.created >= began and not self.ask_here:
            self._tell(notify, approval)
        if approval.whole and approval.created >= began:
            # An approval that nobody answers in time is kept no longer than it can be answered.
            asyncio.get_running_loop().call_later(_EXPIRED_S, self._aside, approvals.forget_expired)
        return approval, asked

    def _tell(self, notify: Sequence[str], approval: CallApproval) -> None:
        if self._notices is None:
            from mcpctl.proxy.consent_notice import Notices  # few have such a command

            self._notices = Notices(self._gateway.paths)
        self._notices.tell(notify, approval.id)

    def _aside(self, work: Callable[[PolicyFile], object]) -> None:
        """Work on the file that nobody waits for; nothing is done where the file cannot be had."""

        async def do() -> None:
            with suppress(Unusable):
                await self._gateway.policy.run(work)

        self._gateway.background(do())

    def _expected(self, call: Request) -> Sequence[str]:
        """The bindings of a yes that the user has given in the client's own prompt, where a hook asked for it."""
        client = call.caller.client.name
        if not (call.view.config.policy.table.claude_hook and self._recorder.is_of_client and client == CLAUDE_CODE):
            return ()
        # The hook knows nothing of sessions: the client's process tells whose yes it is.
        binding = approvals.binding_of(call.subject.grant._replace(session=""), call.arguments_digest)
        return [approvals.expected_binding(binding, client, each) for each in self._parents()]

    async def _ask(self, approval: CallApproval, asked: Asked, call: Request, failure: Failure) -> Outcome:
        assert asked.question
        is_cut = asked.question.is_cut
        scopes = (ONCE, SESSION) if self._may_hold(call) and not is_cut else (ONCE,)
        repeats = SESSION in scopes and self._does_nothing_more(call)
        late = partial(self._came_late, call=call, failure=failure)
        form = ConsentForm(approval, scopes, failure, late, repeats=repeats)
        self._forms.open(form)
        self._was_asked[approval.id] = None
        fields = form_of(asked.text, approval, scopes, is_cut=is_cut, repeats=repeats)
        question = Question("elicitation/create", fields, form.answered, closed=partial(self._forms.close, form))
        if call.caller.modern:
            form.keep(fields, form_of(asked.on_record, approval, scopes, is_cut=is_cut, repeats=repeats))
            call.ask(question, form)
            return None
        id_ = call.questions.ask(question, call)
        try:
            outcome = await self._waited(form, call, failure)
        except Unusable:
            call.questions.withdraw(id_, {})
            raise
        if form.answer.done():
            return await self._answered(form, call, failure)
        if outcome or not call.is_at_work:
            call.questions.withdraw(id_, {})
            return outcome
        form.is_waited_for = False  # it stays open in the client, and a later yes applies to the same call made again
        form.look_at_the_clock()
        call.record.note("expired", failure, channel=CLIENT, waited_ms=form.waited_ms)
        return await self._pending(failure, approval)

    async def _ask_at_terminal(
        self, ask: AskHere, approval: CallApproval, asked: Asked, call: Request, failure: Failure
    ) -> Outcome:
        assert asked.question
        form = ConsentForm(approval, (ONCE,), failure, lambda _: None, channel=TERMINAL)
        asking = asyncio.create_task(ask(approval, asked.question))
        asking.add_done_callback(form.said)
        try:
            outcome = await self._waited(form, call, failure)
        finally:
            asking.cancel()
        if form.answer.done():
            return await self._answered(form, call, failure)
        if outcome or not call.is_at_work:
            return outcome
        form.look_at_the_clock()
        call.record.note("expired", failure, channel=TERMINAL, waited_ms=form.waited_ms)
        return await self._pending(failure, approval)

    async def _waited(self, form: ConsentForm, call: Request, failure: Failure) -> Outcome:
        """Wait for the client as long as the policy says; an answer from a terminal meanwhile ends the wait, too."""
        loop = asyncio.get_running_loop()
        policy, steps = self._gateway.policy, 0
        is_here, reported = form.channel == TERMINAL, loop.time()
        wait_s = form.approval.expires - time.time() if is_here else call.view.config.policy.table.confirm_wait_s
        until = loop.time() + wait_s
        policy.standing()
        version = policy.version
        while loop.time() < until and call.is_at_work:
            await asyncio.wait({form.answer}, timeout=min(_LOOK_S, until - loop.time()))
            if form.answer.done():
                return None
            policy.standing()
            if policy.version != version:
                version = policy.version
                if outcome := self._outcome(await self._now(form.approval), call, failure):
                    return outcome
            if loop.time() - reported >= _PROGRESS_S and not is_here:
                reported, steps = loop.time(), steps + 1
                # Small steps: what its server tells later has to be more.
                call.progress({"progress": b"%.3f" % (steps / 1000), "message": b'"waiting for the user\'s consent"'})
        return None

    async def _answered(self, form: ConsentForm, call: Request, failure: Failure) -> Outcome:
        if await self._settle(form, call, failure):
            return form.approval.binding
        if form.approval.binding != call.subject.binding:  # its definition has changed meanwhile
            return await self._obtain(call, call.verdict.failure or failure)
        approval = await self._now(form.approval)
        return self._outcome(approval, call, failure, form) or await self._pending(failure, approval)

    async def _now(self, approval: CallApproval) -> CallApproval:
        return await self._gateway.policy.run(partial(approvals.now_is, approval=approval))

    def _brought_back(self, call: Request) -> ConsentForm | None:
        parked = call.parked
        if parked is None or parked.form is None:
            return None
        call.parked = None
        parked.take(call, call.responses)
        form: ConsentForm = parked.form
        form.look_at_the_clock()
        return form

    async def _settle(self, form: ConsentForm, call: Request, failure: Failure) -> bool:
        """Keep the client's answer; whether the call may go on with it."""
        scope, approval = form.scope, form.approval
        self._forms.close(form)
        if scope is None:
            # Many clients decline by themselves: it stays open for a person to answer, elsewhere.
            decision = "expired" if form.was_dismissed else "unanswerable"
            channel = DISMISSED if form.was_dismissed and form.channel == CLIENT else form.channel
            call.record.note(decision, failure, channel=channel, waited_ms=form.waited_ms)
            if not form.was_dismissed:
                self._was_asked[approval.binding] = None
            return False
        goes_on = approval.binding == call.subject.binding and call.is_at_work
        is_yes = scope != NO
        # Another session may have asked first; the yes is for the one whose client has given it.
        grant = approval.grant._replace(session=self._recorder.session_id) if scope == SESSION else None
        settled = partial(
            approvals.answer, id_=approval.id, scope=scope if is_yes else None, channel=form.channel, grant=grant,
            used=goes_on,
        )  # fmt: skip
        was_open = await self._gateway.policy.run(settled)
        if was_open and not is_yes and not form.is_waited_for:
            call.record.note("declined", failure, channel=form.channel, waited_ms=form.waited_ms)
        if not was_open or not is_yes:
            return False
        self._has_granted |= grant is not None
        call.record.note("approved", failure, channel=form.channel, scope=scope, waited_ms=form.waited_ms)
        if goes_on and form.repeats and len(self._repeatable) < _MOST_REMEMBERED:
            self._repeatable[approval.binding] = approval.id
        return goes_on

    def _came_late(self, form: ConsentForm, call: Request, failure: Failure) -> None:
        async def keep() -> None:
            try:
                await self._settle(form, call, failure)
            except Unusable as error:
                warn(f"an answer cannot be kept: {error}")

        self._gateway.background(keep())

    async def _pending(self, failure: Failure, approval: CallApproval) -> Failure:
        until = clock.local(approval.expires)
        from mcpctl.proxy.running_dashboard import dashboard_url

        dashboard = await beside(dashboard_url, self._gateway.paths)
        return failure.about(approval=approval.id, until=until, dashboard=dashboard)

    def _may_hold(self, call: Request) -> bool:
        return call.view.config.policy.table.confirm == "session"

    async def _is_repeat(self, binding: str) -> bool:
        id_ = self._repeatable.get(binding)
        return id_ is not None and await self._gateway.policy.run(partial(approvals.has_yes, id_=id_))

    def _does_nothing_more(self, call: Request) -> bool:
        subject = call.subject
        tool = subject.tool
        return tool is not None and call.view.rules.hints(subject.server, tool)["idempotentHint"].value

    async def end(self) -> None:
        if self._notices:
            await self._notices.end(_END_S if self._recorder.is_of_client else _END_OF_COMMAND_S)
        if self._has_granted:
            self._has_granted = False
            # Nobody else has this session's id: where they cannot be taken away in time, they are of no use either.
            with suppress(Unusable, TimeoutError):
                async with asyncio.timeout(_END_S):
                    await self._gateway.policy.run(partial(approvals.end_session, session=self._recorder.session_id))
