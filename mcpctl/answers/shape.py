"""What JSON is like, in one line, such as {items: [1,204 x {id, title, …11 keys}], next: string}.

The names are a server's, and so have a grammar and a bound.
"""

import re

import msgspec
from msgspec import Raw

from mcpctl.base import bounds
from mcpctl.wire import jsonrpc

_DEEP = 3
_LONG = 600
"""Characters of a shape; one that is longer is told less deep."""
_LONGEST = 40
"""Characters of a name that is told."""
_SOME = 20
"""Items that the example selects."""
_KEYS = 8
"""Names of one object that are told."""
_MANY = 1_000_000
"""Commas of an array whose items are not counted: each would be an object of 50 bytes for a moment."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_BARE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
"""A name that needs no quotes in a path."""
_KINDS = {b'"': "string", b"{": "object", b"[": "array", b"t": "boolean", b"f": "boolean", b"n": "null"}
_TIMES = "\N{MULTIPLICATION SIGN}"
_items: msgspec.json.Decoder[list[Raw]] = msgspec.json.Decoder(list[Raw])


def shape(value: bytes) -> str:
    """The shape of a JSON text; of one that is too long, or that only lenient readers take, no more than its kind."""
    if len(value) > bounds.ANSWER_JSON:
        return f"{_kind(value)} (more than {bounds.ANSWER_JSON >> 20} MB, not looked into)"
    try:
        shapes = (_shape(value, deep) for deep in range(_DEEP, 0, -1))
        return next((each for each in shapes if len(each) <= _LONG), _kind(value))
    except (jsonrpc.Malformed, msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return _kind(value)


def example(value: bytes) -> str:
    """A path into a JSON text that selects a little of it: of the first array in it, some items with some of their
    names; empty where there is nothing to select."""
    if len(value) > bounds.ANSWER_JSON:
        return ""
    try:
        return _example(value)
    except (jsonrpc.Malformed, msgspec.MsgspecError, RecursionError, UnicodeDecodeError, IndexError):
        return ""


def _example(value: bytes) -> str:
    if _kind(value) == "array":
        first = jsonrpc.items(value, 1)[0]
        names = [name for name in list(jsonrpc.members_or_empty(first))[:_KEYS] if _is_bare(name)][:2]
        return f"[0:{_SOME}]" + (f".{{{', '.join(f'{name}: {name}' for name in names)}}}" if names else "")
    members = jsonrpc.members_or_empty(value)
    names = [name for name in list(members)[:_KEYS] if _is_bare(name)]
    name = next((name for name in names if _kind(members[name]) == "array"), names[0] if names else "")
    return name + (_example(members[name]) if name and _kind(members[name]) == "array" else "")


def _shape(value: bytes, deep: int) -> str:
    kind = _kind(value)
    if kind == "array":
        return _of_array(value, deep)
    return _of_object(value, deep) if kind == "object" else kind


def _of_array(value: bytes, deep: int) -> str:
    if value.count(b",") > _MANY:
        number, first = "many", jsonrpc.items(value, 1)[0]
    else:
        items = _items.decode(value)
        if not items:
            return "[]"
        number, first = f"{len(items):,}", bytes(items[0])
    # Of an object in an array its names are enough to write a path.
    return f"[{number} {_TIMES} {_shape(first, min(deep - 1, 1)) if deep else _kind(first)}]"


def _of_object(value: bytes, deep: int) -> str:
    if not deep:
        return "object"
    members = jsonrpc.members(value)
    plain = [name for name in list(members)[: _KEYS * 2] if len(name) <= _LONGEST and _NAME.fullmatch(name)]
    told = plain[:_KEYS]
    parts = [_quoted(name) if deep == 1 else f"{_quoted(name)}: {_shape(members[name], deep - 1)}" for name in told]
    if left := len(members) - len(told):
        parts.append(f"…{left:,} keys")
    return f"{{{', '.join(parts)}}}"


def _is_bare(name: str) -> bool:
    return len(name) <= _LONGEST and _BARE.fullmatch(name) is not None


def _quoted(name: str) -> str:
    return name if _BARE.fullmatch(name) else f'"{name}"'


def _kind(value: bytes) -> str:
    return _KINDS.get(value[:64].lstrip()[:1], "number")
