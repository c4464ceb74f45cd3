"""One question to a client in the middle of a call, or before it: what is asked, and who gets the answer."""

from collections.abc import Callable
from typing import Any, Protocol

import msgspec
from msgspec import Struct

from mcpctl.base.texts import visible
from mcpctl.wire import jsonrpc

ELICIT = "elicitation/create"
SAMPLE, ROOTS = "sampling/createMessage", "roots/list"
SERVER = "mcpctl/server"  # the member of `_meta` that names the server whose question it is
_MESSAGE, _CONTEXT = "message", "includecontext"

_CANNOT_BE_ASKED = jsonrpc.error_object(jsonrpc.METHOD_NOT_FOUND, "the client cannot be asked this")


class Asking(Protocol):
    """The connection that a server asks on."""

    server: str

    def write(self, line: bytes) -> None:
        """Send a line that is complete."""


class Question(Struct, eq=False):
    method: str
    params: bytes
    answered: Callable[[Any, bytes, bytes], None]  # gets the call that goes on, if any, and the result or the error
    connection: "Asking | None" = None
    server: str = ""
    id: bytes = b""
    closed: Callable[[], None] = lambda: None  # called when an older client is asked it no more


def of_server(connection: "Asking", message: jsonrpc.Message) -> Question:
    """A server's question; its answer is what the server gets."""
    id_ = bytes(message.id)

    def answered(_: object, result: bytes, error: bytes) -> None:
        connection.write(jsonrpc.error(id_, error) if error else jsonrpc.result(id_, result))

    method = str(message.method)
    params = named(method, bytes(message.params) or b"{}", connection.server)
    return Question(method, params, answered, connection, connection.server, id_)


def named(method: str, params: bytes, server: str) -> bytes:
    """The params of a server's question, with the server's name: the message that a person is to read begins with it. A
    request to the client's model, or for its folders, has no words for a person: there it is in `_meta`. No server is
    given what others have said, which `includeContext` asks for."""
    if method in (SAMPLE, ROOTS):
        return _with_server(params, server)
    if method != ELICIT:
        return params
    # Readers differ in which of several messages they take, and some in whether a name in capitals is one: one is left.
    members = {name: value for name, value in jsonrpc.members_or_empty(params).items() if name.lower() != _MESSAGE}
    message = msgspec.json.encode(f"[from server '{server}'] {message_of(params)}".rstrip())
    return jsonrpc.object_of({_MESSAGE: message, **members})


def _with_server(params: bytes, server: str) -> bytes:
    """The params with the server's name beside them, and without a wish for the context of others."""
    members = {name: value for name, value in jsonrpc.members_or_empty(params).items() if name.lower() != _CONTEXT}
    beside = jsonrpc.members_or_empty(members.pop("_meta", b""))
    return jsonrpc.object_of({**members, "_meta": jsonrpc.object_of({**beside, SERVER: msgspec.json.encode(server)})})


def message_of(params: bytes) -> str:
    """The message of an elicitation, without characters that could hide what stands before it."""
    try:
        return visible(jsonrpc.value(jsonrpc.members_or_empty(params).get(_MESSAGE, b'""'), str))
    except jsonrpc.Malformed:
        return ""


def input_requests(result: bytes) -> dict[str, bytes]:
    """The input that a result requests before its tool goes on, by key, each as it came; raises `Malformed`."""
    return jsonrpc.members(jsonrpc.members(result).get("inputRequests", b"{}"))


def question_in(request: bytes) -> tuple[str, bytes]:
    """The method and the params of one input request; raises `Malformed`."""
    members = jsonrpc.members(request)
    return jsonrpc.value(members.get("method", b'""'), str), members.get("params", b"{}")


def refuse(question: Question) -> None:
    question.answered(None, b"", _CANNOT_BE_ASKED)
