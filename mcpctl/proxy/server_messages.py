"""Questions and log messages of servers in the middle of calls and reads, handed to the session that they are for."""

from collections.abc import Sequence
from typing import Protocol

from msgspec import Raw

from mcpctl.base.errors import warn
from mcpctl.proxy.questions import Questions
from mcpctl.store.recorder import Recorder
from mcpctl.upstreams import question
from mcpctl.upstreams.connection import ASKABLE, Connection, Reply
from mcpctl.upstreams.question import ROOTS, Question
from mcpctl.wire import jsonrpc


class ServerListener(Protocol):
    """A session, as the gateway and the servers behind it see it."""

    recorder: Recorder
    questions: Questions
    log_level: bytes
    """The level that its client has set, in JSON; empty while it has not."""

    @property
    def is_busy(self) -> bool: ...
    def note_drifts(self) -> None: ...
    def lists_changed(self) -> None: ...
    def not_asked(self, question: Question) -> None: ...
    def log(self, raw: Raw, least: bytes | None) -> None: ...


def route(connection: Connection, message: jsonrpc.Message, sessions: Sequence[ServerListener]) -> None:
    """Hand on a message that a server sends of its own accord; a question that nobody can answer is refused, so that no
    server waits."""
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
        asked = question.of_server(connection, message)
        if message.method not in ASKABLE or connection.modern:
            question.refuse(asked)
        else:
            _put(asked, connection, sessions)


def _put(asked: Question, connection: Connection, sessions: Sequence[ServerListener]) -> None:
    reply = _about(connection)
    if reply and connection.may_put(asked.method) and reply.question(asked):
        return
    question.refuse(asked)
    if reply:
        reply.not_asked(asked)
        return
    # Nobody could tell what it is about, and any server could ask for anything at any time.
    warn(f"server '{connection.server}' asks the client something ({asked.method}) outside of any call; refused")
    connection.was_refused_roots |= asked.method == ROOTS
    for session in sessions:
        session.not_asked(asked)


def _about(connection: Connection) -> Reply | None:
    """The call that a server's message is about: its latest, since the protocol does not say which."""
    calls = connection.calls()
    return next((reply for reply in calls if not reply.is_parked), calls[0] if calls else None)
