"""What servers ask and log in the middle of calls and reads, handed to the session whose it is."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from msgspec import Raw

from mcpctl.base.errors import warn
from mcpctl.config.settings import RecordSettings
from mcpctl.upstreams import question
from mcpctl.upstreams.connection import ASKABLE, Connection, Reply
from mcpctl.upstreams.question import ROOTS, Question
from mcpctl.wire import jsonrpc


class ServerListener(Protocol):
    """A session, as those see it who tell it what servers do."""

    @property
    def log_level(self) -> bytes:
        """What servers are to log for its client, in JSON; empty while it has not said."""

    @property
    def is_busy(self) -> bool:
        """Whether a call of it is in flight."""

    @property
    def is_recording(self) -> bool:
        """Whether anything of it is on record."""

    def follow(self, settings: RecordSettings) -> None:
        """Record what comes as these settings say."""

    def tools_known(self, name: str) -> None:
        """What a server has listed is known."""

    def gone(self, connection: Connection) -> None:
        """A connection has ended, and with it what its server asked."""

    def lists_changed(self) -> None:
        """What is known of servers' prompts and resources has changed."""

    def withdrawn(self, connection: Connection, params: Mapping[str, bytes]) -> None:
        """A server takes its question back."""

    def not_asked(self, question: Question) -> None:
        """The client was not asked what a server asks outside of any call."""

    def log(self, raw: Raw, least: bytes | None) -> None:
        """A server logs something outside of any call."""


def route(connection: Connection, message: jsonrpc.Message, sessions: Sequence[ServerListener]) -> None:
    """Hand on what a server says of its own accord; what nobody can answer is refused, so that no server waits."""
    if message.method == "notifications/cancelled":
        for session in sessions:
            session.withdrawn(connection, jsonrpc.members_or_empty(message.params))
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
    """Ask the client whose call or read it is about, or refuse it."""
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
    """The call that a server's words are about: its latest, since the protocol does not say which."""
    calls = connection.calls()
    return next((reply for reply in calls if not reply.is_parked), calls[0] if calls else None)
