"""What servers ask and log in the middle of calls, handed to the session whose call it is about."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mcpctl.upstreams import question
from mcpctl.upstreams.connection import ASKABLE, Connection, Reply
from mcpctl.upstreams.question import Question
from mcpctl.wire import jsonrpc

if TYPE_CHECKING:
    from mcpctl.proxy.session import Session


def route(connection: Connection, message: jsonrpc.Message, sessions: "Sequence[Session]") -> None:
    """Hand on what a server says of its own accord; what nobody can answer is refused, so that no server waits."""
    if message.method == "notifications/cancelled":
        for session in sessions:
            session.questions.withdrawn(connection, jsonrpc.members_or_empty(message.params))
    elif message.method == "notifications/message":
        if reply := _about(connection):
            reply.log(message.params)
        else:
            for session in sessions:
                session.log(message.params, None)
    elif jsonrpc.is_id(message.id):
        asked = question.of_server(connection, message)
        if message.method not in ASKABLE or connection.modern or not _put(asked, connection, sessions):
            question.refuse(asked)


def _put(question: Question, connection: Connection, sessions: "Sequence[Session]") -> bool:
    """Ask whoever the question is for; whether there is one who can be asked."""
    if reply := _about(connection):
        return reply.question(question)
    # The protocol wants a call that it is about; older servers ask besides, and with one client it is clear whom.
    return len(sessions) == 1 and sessions[0].question(question)


def _about(connection: Connection) -> Reply | None:
    """The call that a server's words are about: its latest, since the protocol does not say which."""
    calls = connection.calls()
    return next((reply for reply in calls if not reply.is_parked), calls[0] if calls else None)
