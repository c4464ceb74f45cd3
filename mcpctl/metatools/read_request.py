"""What `@mcpctl:read` is asked for, and in words of ours what is wrong with it; loaded with the first such call."""

from typing import Annotated

import msgspec
from msgspec import Meta

from mcpctl.base.feature_names import EXPLICIT
from mcpctl.metatools.own_tool import CALLS, MOST, USUAL
from mcpctl.wire import jsonrpc

_LONGEST_URI = 8192
_LONGEST_WORDS = 200
_LONGEST_NAME = 40
_EXAMPLE = f'Example: {{"uri": "{CALLS}ID", "offset": 0}}'


class ReadRequest(msgspec.Struct, forbid_unknown_fields=True):
    """The arguments of one call."""

    uri: Annotated[str, Meta(min_length=1, max_length=_LONGEST_URI)]
    path: str | None = None
    offset: Annotated[int, Meta(ge=0)] | None = None
    limit: Annotated[int, Meta(ge=16, le=MOST)] = USUAL
    grep: Annotated[str, Meta(min_length=1, max_length=_LONGEST_WORDS)] | None = None
    context: Annotated[int, Meta(ge=0, le=10)] = 0
    server: str | None = None

    @property
    def resource(self) -> str | None:
        """The resource that is meant, by a name that says its server where the request does; None for what is kept of
        a call."""
        if self.uri.startswith(CALLS):
            return None
        return f"{EXPLICIT}{self.server}:{self.uri}" if self.server else self.uri


_MEANT = {
    "uri": f"a text of 1 to {_LONGEST_URI:,} characters",
    "path": "a JMESPath expression, as a text",
    "offset": "a number of bytes, 0 or more",
    "limit": f"a number of bytes from 16 to {MOST:,}",
    "grep": f"a text of 1 to {_LONGEST_WORDS} characters",
    "context": "a number of lines from 0 to 10",
    "server": "the name of a server, as a text",
}


class WrongArguments(Exception):
    """Raised with what is wrong with the arguments, for a model."""


def taken(arguments: bytes) -> ReadRequest:
    """What is asked for; raises `WrongArguments`."""
    try:
        return msgspec.json.decode(arguments or b"{}", type=ReadRequest)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        raise WrongArguments(f"{_problem(arguments)}. {_EXAMPLE}") from None


def _problem(arguments: bytes) -> str:
    every = f"the arguments are {', '.join(_MEANT)}"
    try:
        members = jsonrpc.members(arguments or b"{}")
    except jsonrpc.Malformed:
        return f"the arguments must be an object; {every}"
    if unknown := next((name for name in members if name not in _MEANT), None):
        return f"unknown argument '{unknown[:_LONGEST_NAME]}'; {every}"
    if "uri" not in members:
        return f"the argument 'uri' is missing; {every}"
    types = {field.name: field.type for field in msgspec.structs.fields(ReadRequest)}
    for name, value in members.items():
        try:
            msgspec.json.decode(value, type=types[name])
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
            return f"'{name}' must be {_MEANT[name]}"
    return every
