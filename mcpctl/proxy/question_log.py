"""What servers ask of one client, put on record: who asked what in which call, and what was answered."""

import contextlib
import itertools
import time
from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from mcpctl.store.recorder import Recorder
from mcpctl.upstreams.question import ELICIT, ROOTS, Question, input_requests, message_of, question_in
from mcpctl.wire import jsonrpc

REFUSED, UNANSWERED = "refused", "unanswered"
_ACTIONS = ("accept", "decline", "cancel")
_MOST = 1000
"""Questions of one call that are recorded: no server can fill the record with them."""
MOST_OF_ONE = 100
"""Questions of one result that are recorded."""
_READ = 600
"""Characters of a question that are kept until its outcome is known; the record has fewer."""


class OpenQuestion(Struct):
    """A question that has no outcome on record; the first that it is given counts."""

    method: str
    put: Callable[[str], None]
    """Puts it on record with its outcome."""
    is_open: bool = True

    def ended(self, outcome: str) -> None:
        """It is answered, or never will be."""
        if self.is_open:
            self.is_open = False
            self.put(outcome)

    def answered(self, result: bytes, error: bytes = b"") -> None:
        """The client has answered it."""
        self.ended("error" if error else _outcome(self.method, result))


class QuestionLog:
    """One session's questions on record."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._call_id: str | None = None
        self._recorded = 0

    def opened(self, server: str, method: str, params: bytes, call_id: str | None) -> OpenQuestion:
        """A question that the client is asked now."""
        began = time.monotonic()
        text = message_of(params) if method == ELICIT else params[:_READ].decode("utf-8", "replace")
        message = None if text == "{}" or method == ROOTS else text[:_READ]

        def put(outcome: str) -> None:
            if self._has_room(call_id):
                waited_ms = round((time.monotonic() - began) * 1000)
                self._recorder.question_asked(server, method, message, outcome, call_id=call_id, waited_ms=waited_ms)

        return OpenQuestion(method, put)

    def refused(self, server: str, method: str, params: bytes, call_id: str | None) -> None:
        """A question that the client is not asked."""
        self.opened(server, method, params, call_id).ended(REFUSED)

    def refused_all(self, server: str, result: bytes, call_id: str) -> None:
        """What a result asks, none of which the client is asked."""
        for request in itertools.islice(input_requests(result).values(), MOST_OF_ONE):
            with contextlib.suppress(jsonrpc.Malformed):
                self.refused(server, *question_in(request), call_id)

    def followed(self, question: Question, server: str, call_id: str) -> Question:
        """The same question, whose outcome is put on record."""
        opened = self.opened(server, question.method, question.params, call_id)

        def answered(call: object, result: bytes, error: bytes) -> None:
            opened.answered(result, error)
            question.answered(call, result, error)

        def closed() -> None:
            opened.ended(UNANSWERED)
            question.closed()

        return replace(question, answered=answered, closed=closed)

    def _has_room(self, call_id: str | None) -> bool:
        if call_id != self._call_id:
            self._call_id, self._recorded = call_id, 0
        self._recorded += 1
        return self._recorded <= _MOST


def _outcome(method: str, result: bytes) -> str:
    if method != ELICIT:
        return "accept"
    try:
        action = jsonrpc.value(jsonrpc.members_or_empty(result).get("action", b'""'), str)
    except jsonrpc.Malformed:
        return "error"
    return action if action in _ACTIONS else "error"
