"""One question to a client in the middle of a call, or before it: what is asked, and who gets the answer."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from mcpctl.wire import jsonrpc

_CANNOT_BE_ASKED = jsonrpc.error_object(jsonrpc.METHOD_NOT_FOUND, "the client cannot be asked this")


class Asking(Protocol):
    """The connection that a server asks on."""

    def write(self, line: bytes) -> None:
        """Send a line that is complete."""


@dataclass(slots=True, eq=False)
class Question:
    """One question to a client, of a server's or of ours."""

    method: str
    params: bytes
    answered: Callable[[Any, bytes, bytes], None]
    """Gets the call that goes on, where there is one, and the result of the client's answer, or the error."""
    connection: "Asking | None" = None
    """Whose question it is; None for one of ours."""
    id: bytes = b""
    """The id that the question has there."""
    closed: Callable[[], None] = lambda: None
    """Called when an older client is asked it no more: it has answered, or nobody wants to know any longer."""


def of_server(connection: "Asking", message: jsonrpc.Message) -> Question:
    """A server's question; its answer is what the server gets."""
    id_ = bytes(message.id)

    def answered(_: object, result: bytes, error: bytes) -> None:
        connection.write(jsonrpc.error(id_, error) if error else jsonrpc.result(id_, result))

    return Question(str(message.method), bytes(message.params) or b"{}", answered, connection, id_)


def refuse(question: Question) -> None:
    """Answer that the client cannot be asked."""
    question.answered(None, b"", _CANNOT_BE_ASKED)
