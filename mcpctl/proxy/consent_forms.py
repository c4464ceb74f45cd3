"""One question to a client whether a call may be made: its form, what is taken for an answer, and how many are open."""

import asyncio
import json
import time
from collections import deque
from collections.abc import Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from mcpctl.base.failure import Failure
from mcpctl.base.hints import hint_line
from mcpctl.policy import approvals, words
from mcpctl.policy.approvals import ONCE, SESSION, CallApproval
from mcpctl.policy.consent import BY_ITSELF_MS, NOT_ALL, WHOLE
from mcpctl.policy.decide import Subject
from mcpctl.proxy.questions import can_fill_forms
from mcpctl.proxy.request import Request
from mcpctl.store import clock
from mcpctl.store.recordable import Recordable
from mcpctl.wire import jsonrpc

if TYPE_CHECKING:
    from mcpctl.policy.question import ConsentQuestion

NO = "no"
CLIENT, TERMINAL, DISMISSED = "client", "terminal", "dismissed"  # channels
AskHere = Callable[[CallApproval, "ConsentQuestion"], Coroutine[Any, Any, bool | None]]
"""Asks the person at the terminal of a command; None where that person gives no answer."""
_FILLED_MS = 300  # a form whose `no` comes sooner was filled by the client, and seen by no person
_MOST_OPEN = 3
_MOST_A_MINUTE = 10
_MINUTE_S = 60.0
_LONGEST_TITLE = 200


class Asked(NamedTuple):
    """A call that needs a yes, and the question to those who can be asked; the text on record has no secrets."""

    wanted: CallApproval
    question: "ConsentQuestion | None" = None
    text: str = ""
    on_record: str = ""


def asked_of(call: Request, subject: Subject, failure: Failure, values: Recordable, *, is_here: bool) -> Asked:
    """It is read as a person will read it, which takes longer than the event loop has; `is_here`: at our terminal."""
    from mcpctl.checks import checker  # hundreds of expressions, which few calls need
    from mcpctl.policy.question import effect_of, question_of

    rules, arguments, tool = call.view.rules, call.arguments or b"{}", subject.tool
    text, hints = arguments.decode("utf-8", "replace"), rules.hints(subject.server, tool) if tool else None
    risk, shown = failure.facts["risk"], values.shown(arguments)
    wanted = CallApproval(
        approvals.binding_of(subject.grant, call.arguments_digest), *subject.grant, risk,
        hint_line(hints) if hints else "no list of its server has it", shown.beginning, call.arguments_digest,
        *words.rule_of(failure.facts["ruling"], call.view.config), shown.whole, shown.hidden, shown.left_out,
        client=values.name(call.caller.client.name or ""),
        title=((tool.title if tool else None) or "")[:_LONGEST_TITLE],
        effect=effect_of(risk, hints), found=", ".join(checker.found_in(text)),
    )  # fmt: skip
    if not is_here and not can_fill_forms(call.caller.capabilities):
        return Asked(wanted)
    question, on_record = question_of(wanted, text), question_of(wanted)
    return Asked(wanted, question, "\n".join(question.folded()), "\n".join(on_record.folded()))


class ConsentForm:
    def __init__(
        self, approval: CallApproval, scopes: tuple[str, ...], failure: Failure, late: Callable[["ConsentForm"], None],
        *, channel: str = CLIENT, repeats: bool = False,
    ) -> None:  # fmt: skip
        """`repeats`: it says that a yes is for the same call again, too."""
        self.approval = approval
        self.channel = channel
        self.repeats = repeats
        self.failure = failure
        self.scopes = scopes
        self.answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self.is_waited_for = True
        self._fields = self._kept = b""
        self.waited_ms = 0
        self._late = late
        self._started = time.monotonic()

    def keep(self, fields: bytes, without_secrets: bytes) -> None:
        self._fields, self._kept = fields, without_secrets

    def on_record(self, result: bytes) -> bytes:
        """The result that has the form, as it is to be recorded."""
        return result.replace(self._fields, self._kept)

    def answered(self, _: object, result: bytes, error: bytes) -> None:
        self.look_at_the_clock()
        if not self.answer.done():
            self.answer.set_result(b"" if error else result)
            if not self.is_waited_for:
                self._late(self)

    def said(self, asking: "asyncio.Task[bool | None]") -> None:
        """Take the answer of the person at our terminal; None where none was given."""
        if not asking.cancelled() and not self.answer.done():
            is_yes = None if asking.exception() else asking.result()
            answers = {True: ONCE, False: NO, None: ""}
            self.answered(None, b'{"action":"accept","content":{"answer":"%b"}}' % answers[is_yes].encode(), b"")

    def look_at_the_clock(self) -> None:
        self.waited_ms = round((time.monotonic() - self._started) * 1000)

    @property
    def scope(self) -> str | None:
        """The client's answer: one of the scopes, or `no`; None where no person has given it."""
        response = self._response
        if response.get("action") == "decline":
            return None if self.waited_ms < BY_ITSELF_MS else NO
        content = response.get("content") if response.get("action") == "accept" else None
        choice = content.get("answer") if isinstance(content, dict) else None
        if choice == NO:  # forms that nobody saw are filled with what is first
            return None if self.channel == CLIENT and self.waited_ms < _FILLED_MS else NO
        return choice if choice in self.scopes else None

    @property
    def was_dismissed(self) -> bool:
        return self.channel == TERMINAL or (self._response.get("action") == "cancel" and self.waited_ms >= BY_ITSELF_MS)

    @property
    def _response(self) -> Mapping[str, Any]:
        try:
            response = json.loads(self.answer.result()) if self.answer.done() else None
        except (ValueError, RecursionError):
            response = None
        return response if isinstance(response, dict) else {}


class Forms:
    """The open forms of one session's client: further calls wait for a terminal or the dashboard."""

    def __init__(self) -> None:
        self._open: list[ConsentForm] = []
        self._opened_at: deque[float] = deque(maxlen=_MOST_A_MINUTE)

    @property
    def have_room(self) -> bool:
        now = time.time()
        self._open = [each for each in self._open if each.approval.expires > now]
        is_often = len(self._opened_at) == _MOST_A_MINUTE and now - self._opened_at[0] < _MINUTE_S
        return not is_often and len(self._open) < _MOST_OPEN

    def open(self, form: ConsentForm) -> None:
        self._open.append(form)
        self._opened_at.append(time.time())

    def close(self, form: ConsentForm) -> None:
        if form in self._open:
            self._open.remove(form)


def form_of(text: str, approval: CallApproval, scopes: tuple[str, ...], *, is_cut: bool, repeats: bool) -> bytes:
    """The question as a form with one required choice, and nothing chosen: no client may answer it by itself."""
    once = "Yes, this call (and the same again, which does nothing more)" if repeats else "Yes, this call"
    titles = {NO: "No", ONCE: once, SESSION: "Yes, all calls of this tool until the session ends"}
    choices = [NO, *scopes]
    answer = {
        "type": "string",
        "title": "May it be called?",
        "enum": choices,
        "enumNames": [titles[choice] for choice in choices],
    }
    schema = {"type": "object", "properties": {"answer": answer}, "required": ["answer"]}
    end = f"It can be answered until {clock.local(approval.expires)}, also with: mcpctl approvals show {approval.id}"
    rest = (NOT_ALL, f"  {WHOLE} {approval.id}") if is_cut else ()
    message = msgspec.json.encode("\n".join((text, *rest, end)))
    return jsonrpc.object_of({"message": message, "requestedSchema": msgspec.json.encode(schema)})
