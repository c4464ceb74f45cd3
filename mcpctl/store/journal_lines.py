"""The lines of a journal: what each says, written and read by one set of types, which `mcpctl.base.fields` declares.

Field names are those of SQL and `--json`. Members typed `Json` hold JSON text as it came.
"""

import typing
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET, Raw

from mcpctl.base import fields

NULL = Raw(b"null")
REPLAY = "replay"  # the `via` of a call that repeats its parent


def _struct(declared: Any, *bases: type) -> Any:
    kinds = {"Json": Raw, "str": str, "int": int, "bool": bool, "None": None, "UnsetType": msgspec.UnsetType}
    defaults = {fields.NULL: NULL, fields.UNSET: UNSET}
    members: list[tuple[Any, ...]] = []
    for name, written in fields.types(declared).items():
        alternatives = tuple(kinds[part] for part in written.split(" | "))
        default = vars(declared).get(name, msgspec.NODEFAULT)
        members.append((name, typing.Union[alternatives], defaults.get(default, default)))  # noqa: UP007
    namespace = {"__doc__": declared.__doc__}
    return msgspec.defstruct(
        declared.__name__, members, bases=bases or None, module=__name__, namespace=namespace, **declared.config
    )


if TYPE_CHECKING:
    from mcpctl.base.fields import CallFinished as CallFinished
    from mcpctl.base.fields import CallStarted as CallStarted
    from mcpctl.base.fields import DecisionMade as DecisionMade
    from mcpctl.base.fields import DiscoveryFinished as DiscoveryFinished
    from mcpctl.base.fields import Line as Line
    from mcpctl.base.fields import QuestionAsked as QuestionAsked
    from mcpctl.base.fields import ReadFinished as ReadFinished
    from mcpctl.base.fields import SessionClosed as SessionClosed
    from mcpctl.base.fields import SessionCreated as SessionCreated
else:
    Line = _struct(fields.Line)
    globals().update((each.__name__, _struct(each, Line)) for each in fields.LINES)

AnyLine = (
    SessionCreated | DiscoveryFinished | CallStarted | CallFinished | ReadFinished | DecisionMade | QuestionAsked
    | SessionClosed
)  # fmt: skip

_decoder: msgspec.json.Decoder[AnyLine] = msgspec.json.Decoder(AnyLine)
_KNOWN = frozenset(kind.__struct_config__.tag for kind in typing.get_args(AnyLine))


class _Kind(msgspec.Struct):
    type: str


_kinds: msgspec.json.Decoder[_Kind] = msgspec.json.Decoder(_Kind)


encode_all: Callable[[Sequence[AnyLine]], bytes] = msgspec.json.Encoder().encode_lines  # in C: every call waits for it


def encode(line: AnyLine) -> bytes:
    return encode_all((line,))


def decode(text: bytes) -> AnyLine | None:
    """The line of a text, None where its type is of a later version; raises `msgspec.DecodeError`."""
    try:
        return _decoder.decode(text)
    except msgspec.ValidationError:
        if _kinds.decode(text).type in _KNOWN:
            raise
        return None


def decode_all(text: bytes, position: int, skipped: Callable[[int], None]) -> Iterator[tuple[int, AnyLine]]:
    """The lines, each with its first byte, from `position`; `skipped` gets the begins of bad ones."""
    for line in text.split(b"\n")[:-1]:
        try:
            decoded = decode(line)
            if not line.isascii():
                line.decode()  # JSON text in the line is UTF-8, too
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            decoded = None
            if line.strip():
                skipped(position)
        if decoded is not None:
            yield position, decoded
        position += len(line) + 1
