"""The user's yes to one session's calls: an earlier one, one from a terminal, or one that the client is asked for.

The client is asked in its own way: an older one by a request, one of 2026-07-28 by `input_required`, after which its
call comes again. Nothing is sent to a server meanwhile, and what has its yes is decided on once more.
"""

import asyncio
import json
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial

import msgspec

from mcpctl import bounds, posix
from mcpctl.errors import Unusable, warn
from mcpctl.failure import Failure
from mcpctl.policy import words
from mcpctl.policy.consent import digest_of
from mcpctl.proxy.call import Call
from mcpctl.proxy.gateway import Gateway
from mcpctl.proxy.questions import Questions, can_fill_forms
from mcpctl.store import approvals, grants
from mcpctl.store.approvals import ALLOWED, CLAUDE_CODE, DENIED, ONCE, SESSION, Approval, Wanted
from mcpctl.store.recorder import Recorder
from mcpctl.upstreams.question import Question
from mcpctl.wire import jsonrpc
from mcpctl.wire.messages import beside

_LOOK_S = 0.25
"""How often it is looked whether a terminal has answered meanwhile."""
_PROGRESS_S = 5.0
_BY_ITSELF_MS = 300
"""An answer that comes sooner was given by the client, and not by a person."""
_END_S = 0.5
_MOST_REMEMBERED = 1000
_NO = "no"


class Asked:
    """One approval that a client is asked for: when, with which answers, and what it has said."""

    def __init__(self, approval: Approval, scopes: tuple[str, ...], late: Callable[["Asked"], None]) -> None:
        self.approval = approval
        self.scopes = scopes
        self.answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self.is_waited_for = True
        self.waited_ms = 0
        self._late = late
        self._started = time.monotonic()

    def answered(self, _: object, result: bytes, error: bytes) -> None:
        """Take the client's answer; an error is none."""
        self.look_at_the_clock()
        if not self.answer.done():
            self.answer.set_result(b"" if error else result)
            if not self.is_waited_for:
                self._late(self)

    def look_at_the_clock(self) -> None:
        """Keep how long it has been open."""
        self.waited_ms = round((time.monotonic() - self._started) * 1000)

    @property
    def scope(self) -> str | None:
        """What the client has said: one of the scopes, or `no`; None where that is no answer of a person's."""
        try:
            said = json.loads(self.answer.result()) if self.answer.done() else None
        except (ValueError, RecursionError):
            return None
        content = said.get("content") if isinstance(said, dict) and said.get("action") == "accept" else None
        choice = content.get("answer") if isinstance(content, dict) else None
        if choice == _NO:
            return (
                None if self.waited_ms < _BY_ITSELF_MS else _NO
            )  # forms that nobody saw are filled with what is first
        return choice if choice in self.scopes else None


class Consent:
    """Gets it, for the calls of one session."""

    def __init__(self, gateway: Gateway, recorder: Recorder, questions: Questions) -> None:
        self._gateway = gateway
        self._recorder = recorder
        self._questions = questions
        self._was_asked: dict[str, None] = {}
        """The approvals that the client was asked for: it is not asked again."""
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
        if approval.id in self._was_asked or not can_fill_forms(call.request.caller):
            self._note(call, failure, "unanswerable")
            return _pending(failure, approval)
        self._note(call, failure, "asked", channel="client")
        return await self._ask(approval, call, failure, is_wanted)

    def _outcome(self, approval: Approval, call: Call, failure: Failure) -> Failure | None:
        """What has become of an approval: None while it is open. The call has its `consent` where it was a yes."""
        if approval.state == ALLOWED:  # and used up by that look at it
            self._note(call, failure, "allowed", channel=approval.channel or "", scope=ONCE)
            self._go_on(call, approval)
        elif approval.state == DENIED:
            self._note(call, failure, "declined", channel=approval.channel or "client")
            return Failure("declined", failure.facts)
        return failure if call.consent else None

    async def _approval(self, call: Call, failure: Failure) -> Approval:
        subject, rules = call.subject, call.view.rules
        rule, place = words.rule_of(failure.facts["ruling"], call.view)
        hints = "no list of its server has it"
        if subject.tool:
            hints = words.hints_of(rules.hints(subject.server, subject.tool))
        wanted = Wanted(
            subject.binding, subject.grant, failure.facts["risk"], hints,
            self._recorder.values.shown(call.arguments or b"{}", call.record_id), call.arguments_digest, rule, place,
        )  # fmt: skip
        return await self._gateway.policy.run(
            lambda file: approvals.open_for(file, wanted, expected=self._expected(call, wanted.binding))
        )

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
        scopes = (ONCE, SESSION) if self._may_hold(call) else (ONCE,)
        asked = Asked(approval, scopes, lambda late: self._came_late(late, call, failure))
        if len(self._was_asked) >= _MOST_REMEMBERED:
            del self._was_asked[next(iter(self._was_asked))]
        self._was_asked[approval.id] = None
        form = _form(approval, scopes, repeats=SESSION in scopes and self._does_nothing_more(call))
        question = Question("elicitation/create", form, asked.answered)
        if call.request.caller.modern:
            call.ask(question, asked)
            return None
        id_ = self._questions.ask(question, call)
        outcome = await self._waited(asked, call, failure, is_wanted)
        if asked.answer.done():
            return await self._answered(asked, call, failure, is_wanted)
        if outcome or not is_wanted():
            self._questions.withdraw(id_, {})
            return None if call.consent else outcome
        # It stays open in the client, and a yes that comes later counts for the same call made again.
        asked.is_waited_for = False
        asked.look_at_the_clock()
        self._note(call, failure, "expired", channel="client", waited_ms=asked.waited_ms)
        return _pending(failure, approval)

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
                if outcome := self._outcome(await self._approval(call, failure), call, failure):
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
        approval = await self._approval(call, failure)
        outcome = self._outcome(approval, call, failure) or _pending(failure, approval)
        return None if call.consent else outcome

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
        if scope is None:
            # Many clients decline by themselves: it stays open for a person to answer.
            self._note(call, failure, "declined", channel="client", waited_ms=asked.waited_ms)
            return False
        is_this_call = approval.binding == call.subject.binding
        is_yes = scope != _NO
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


def _pending(failure: Failure, approval: Approval) -> Failure:
    until = time.strftime("%H:%MZ", time.gmtime(approval.expires))
    return failure.about(approval=approval.id, until=until)


def _form(approval: Approval, scopes: tuple[str, ...], *, repeats: bool) -> bytes:
    """The question as a form with one required choice, and nothing chosen: no client may answer it by itself."""
    once = "Yes, this once (and the same again, which does nothing more)" if repeats else "Yes, this once"
    titles = {_NO: "No", ONCE: once, SESSION: "Yes, for all calls of this tool in this session"}
    choices = [_NO, *scopes]
    answer = {
        "type": "string",
        "title": "May it be called?",
        "enum": choices,
        "enumNames": [titles[choice] for choice in choices],
    }
    schema = {"type": "object", "properties": {"answer": answer}, "required": ["answer"]}
    message = words.question_of(approval)
    return jsonrpc.object_of({"message": msgspec.json.encode(message), "requestedSchema": msgspec.json.encode(schema)})
