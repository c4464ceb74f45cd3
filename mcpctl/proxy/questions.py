"""Questions to one client in the middle of a call or before it (elicitation, sampling, roots), put on record.

A server's question goes to the session whose call it is about. An older client is sent a request, and its answer goes
back to whoever asked. A client of 2026-07-28 has its call answered with `input_required`, which is parked and goes on
with its retry. Between two sides of 2026-07-28 only the calls that led to others are kept.
"""

import asyncio
import contextlib
import itertools
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple, Protocol

from msgspec import Raw, Struct
from msgspec.structs import replace

from mcpctl.base.callers import SHARED, Caller
from mcpctl.base.errors import warn
from mcpctl.store.recorder import Recorder
from mcpctl.upstreams.connection import ASKABLE, Connection, Reply
from mcpctl.upstreams.question import ELICIT, ROOTS, Question, input_requests, message_of, question_in
from mcpctl.upstreams.question import of_server as question_of_server
from mcpctl.upstreams.question import refuse as refuse_question
from mcpctl.wire import jsonrpc

REFUSED, UNANSWERED = "refused", "unanswered"
_ACTIONS = ("accept", "decline", "cancel")
_MOST = 1000  # questions of one call that are recorded: no server can fill the record with them
MOST_OF_ONE = 100
_READ = 600  # characters of a question that are kept until its outcome is known; the record has fewer
MOST_OPEN = 1000  # open questions, and parked calls, that are kept of one client; of more the oldest are given up
_MAX_PARENTS = 1000
_TOO_MANY = jsonrpc.error_object(jsonrpc.INTERNAL_ERROR, "too many questions are open; the client was not waited for")


class OpenQuestion(Struct):
    """A question without an outcome on record; the first outcome is the one that is recorded."""

    method: str
    put: Callable[[str], None]
    is_open: bool = True

    def ended(self, outcome: str) -> None:
        if self.is_open:
            self.is_open = False
            self.put(outcome)

    def answered(self, result: bytes, error: bytes = b"") -> None:
        self.ended("error" if error else _outcome(self.method, result))


class QuestionLog:
    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._call_id: str | None = None
        self._recorded = 0

    def opened(self, server: str, method: str, params: bytes, call_id: str | None) -> OpenQuestion:
        began = time.monotonic()
        text = message_of(params) if method == ELICIT else params[:_READ].decode("utf-8", "replace")
        message = None if text == "{}" or method == ROOTS else text[:_READ]

        def put(outcome: str) -> None:
            if self._has_room(call_id):
                waited_ms = round((time.monotonic() - began) * 1000)
                self._recorder.question_asked(server, method, message, outcome, call_id=call_id, waited_ms=waited_ms)

        return OpenQuestion(method, put)

    def refused(self, server: str, method: str, params: bytes, call_id: str | None) -> None:
        self.opened(server, method, params, call_id).ended(REFUSED)

    def refused_all(self, server: str, result: bytes, call_id: str) -> None:
        for request in itertools.islice(input_requests(result).values(), MOST_OF_ONE):
            with contextlib.suppress(jsonrpc.Malformed):
                self.refused(server, *question_in(request), call_id)

    def followed(self, question: Question, server: str, call_id: str) -> Question:
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


@lru_cache(maxsize=16)
def can_be_asked(capabilities: bytes, method: str) -> bool:
    declared = jsonrpc.members_or_empty(capabilities)
    return declared.get(ASKABLE.get(method, ""), b"null") not in (b"null", b"false")


@lru_cache(maxsize=16)
def can_fill_forms(capabilities: bytes) -> bool:
    """Elicitation without members means forms, as it did when there was nothing else."""
    declared = jsonrpc.members_or_empty(capabilities).get("elicitation", b"null")
    modes = jsonrpc.members_or_empty(declared)
    return declared.startswith(b"{") and (not modes or modes.get("form", b"null") not in (b"null", b"false"))


class Questions:
    def __init__(self, send: Callable[[bytes], None], of: "Questions | None" = None) -> None:
        """Those `of` another are sent another way, and answered with the other's."""
        self._send = send
        self._open: dict[bytes, tuple[Question, object, Questions]] = of._open if of else {}
        self._numbers: Iterator[int] = of._numbers if of else itertools.count(1)

    def ask(self, question: Question, call: object = None) -> bytes:
        """The id that the question has with the client. The oldest of very many is given up."""
        if len(self._open) >= MOST_OPEN:
            # Those of servers first: none may take away what the user is asked before a call.
            of_servers = (id_ for id_, (each, *_) in self._open.items() if each.server)
            self._give_up(next(of_servers, next(iter(self._open))))
        id_ = b'"mcpctl-%d"' % next(self._numbers)
        self._open[id_] = question, call, self
        self._send(jsonrpc.request(id_, question.method, question.params))
        return id_

    def _give_up(self, id_: bytes) -> None:
        question, call, _ = self._open[id_]
        self.withdraw(id_, {})
        # Later: it may be whoever is asking now.
        asyncio.get_running_loop().call_soon(question.answered, call, b"", _TOO_MANY)

    def close(self) -> None:
        for id_, (question, *_) in list(self._open.items()):
            del self._open[id_]
            question.closed()

    def answered(self, message: jsonrpc.Message) -> None:
        question, call, _ = self._open.pop(bytes(message.id), (None, None, None))
        if question:
            error = bytes(message.error)
            question.answered(call, bytes(message.result) or b"{}", b"" if error == b"null" else error)
            question.closed()

    def withdraw(self, id_: bytes, params: Mapping[str, bytes]) -> None:
        question, _, asker = self._open.pop(id_, (None, None, self))
        if question:
            question.closed()
            withdrawal = jsonrpc.object_of({**params, "requestId": id_})
            asker._send(jsonrpc.notification("notifications/cancelled", withdrawal))

    def withdrawn(self, connection: Connection, params: Mapping[str, bytes]) -> None:
        for id_, (question, *_) in list(self._open.items()):
            if question.connection is connection and question.id == params.get("requestId", b""):
                self.withdraw(id_, params)

    def gone(self, connection: Connection) -> None:
        for id_, (question, *_) in list(self._open.items()):
            if question.connection is connection:
                self.withdraw(id_, {"reason": b'"the server has ended"'})


class _Parent(NamedTuple):
    record_id: str
    consent: str | None
    open: Mapping[str, OpenQuestion]


class Parents:
    """Calls of 2026-07-28 whose input others bring: for the record, and for the consent that they share."""

    def __init__(self) -> None:
        self.calls: dict[bytes, _Parent] = {}

    def remember(
        self, key: str, result: bytes, record_id: str, consent: str | None, ask: Callable[[str, bytes], OpenQuestion]
    ) -> None:
        """The call was answered with `result`, which asks for input; `ask` opens a question with its params."""
        try:
            state = jsonrpc.members(result).get("requestState", b"")
            requests = input_requests(result)
        except jsonrpc.Malformed:
            return  # what follows it, if anything does, cannot be told
        opened: dict[str, OpenQuestion] = {}
        for name, request in itertools.islice(requests.items(), MOST_OF_ONE):
            with contextlib.suppress(jsonrpc.Malformed):
                opened[name] = ask(*question_in(request))
        if len(self.calls) >= _MAX_PARENTS:
            self._forget(next(iter(self.calls)))
        key_ = _round(key, state, requests)
        self._forget(key_)
        self.calls[key_] = _Parent(record_id, consent, opened)

    def of(self, key: str, state: bytes, responses: Mapping[str, bytes]) -> tuple[str | None, str | None]:
        """Record id and consent of the call, once, whose input a request with this state and responses brings."""
        parent = self.calls.pop(_round(key, state, responses), None) if self.calls else None
        if parent is None:
            return None, None
        for name, opened in parent.open.items():
            if name in responses:
                opened.answered(responses[name])
            else:
                opened.ended(UNANSWERED)
        return parent.record_id, parent.consent

    def close(self) -> None:
        for key in list(self.calls):
            self._forget(key)

    def _forget(self, key: bytes) -> None:
        if parent := self.calls.pop(key, None):
            for opened in parent.open.values():
                opened.ended(UNANSWERED)


def _round(key: str, state: bytes, questions: Iterable[str]) -> bytes:
    names = b"" if state else b",".join(sorted(name.encode("utf-8", "replace") for name in questions))
    return b"%b %b %b" % (key.encode("utf-8", "replace"), state, names)


class ServerListener(Protocol):
    """A session, as the gateway and the servers behind it see it."""

    caller: Caller
    recorder: Recorder
    questions: Questions
    log_level: bytes  # the level that its client has set, in JSON; empty while it has not

    @property
    def is_busy(self) -> bool: ...
    def note_drifts(self) -> None: ...
    def lists_changed(self) -> None: ...
    def not_asked(self, question: Question) -> None: ...
    def log(self, raw: Raw, least: bytes | None) -> None: ...


def route(connection: Connection, message: jsonrpc.Message, sessions: Sequence[ServerListener]) -> None:
    """Hand on a server's message; a question that nobody can answer is refused, so that no server waits."""
    if message.method == "notifications/cancelled":
        for session in sessions:
            session.questions.withdrawn(connection, jsonrpc.members_or_empty(message.params))
    elif message.method == "notifications/message":
        if reply := _about(connection):
            reply.log(message.params)
        else:
            for session in sessions:
                session.log(message.params, None)
    elif message.id not in jsonrpc.NOTHING:
        asked = question_of_server(connection, message)
        if message.method not in ASKABLE or connection.modern:
            refuse_question(asked)
        else:
            _put(asked, connection, sessions)


def _put(asked: Question, connection: Connection, sessions: Sequence[ServerListener]) -> None:
    reply = _about(connection)
    if reply and connection.may_put(asked.method) and reply.question(asked):
        return
    refuse_question(asked)
    if reply:
        reply.not_asked(asked)
        return
    if calls := connection.calls():
        for each in calls:  # those of several clients: its words may be about another one's call
            each.not_asked(replace(asked, params=b"{}"))
        return
    # Nobody could tell what it is about, and any server could ask for anything at any time.
    warn(f"server '{connection.server}' asks the client something ({asked.method}) outside of any call; refused")
    connection.was_refused_roots |= asked.method == ROOTS
    for session in sessions:
        session.not_asked(asked)


def _about(connection: Connection) -> Reply | None:
    """The call that a server's message is about: its latest, since the protocol does not say which. Where all clients
    share the server, the latest may be another one's, so that there is none unless it is the only one."""
    calls = connection.calls()
    if connection.holder == SHARED and len(calls) > 1:
        return None
    return next((reply for reply in calls if not reply.is_parked), calls[0] if calls else None)
