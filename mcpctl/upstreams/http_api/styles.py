"""The values of parameters and of forms as the standard's styles write them.
https://spec.openapis.org/oas/v3.1.1#style-examples, and https://www.rfc-editor.org/rfc/rfc6570 beneath it.

A value is the JSON that came: its numbers keep their digits, and only texts are decoded.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple
from urllib.parse import quote

import msgspec

from mcpctl.base import bounds
from mcpctl.base.failure import Failed, failed
from mcpctl.wire import jsonrpc

_PIECE = 1 << 14  # characters that are encoded in one step: each of them is a text of its own meanwhile
_DEEPEST = 32  # of values in values that deepObject takes apart
_TRIPLE = re.compile(r"(%[0-9A-Fa-f]{2})")
# The others of the standard's reserved set end a value, or a query: # & + [ ]
_RESERVED = ":/?@!$'()*,;="
Shape = str | list[bytes] | dict[str, bytes] | None
Encode = Callable[[str], str]


class _Style(NamedTuple):
    first: str
    between: str  # two items of one that is exploded
    is_named: bool
    between_unexploded: str = ","
    empty: str = "="  # what follows the name of an empty value


_STYLES: Mapping[str, _Style] = {
    "simple": _Style("", ",", is_named=False),
    "label": _Style(".", ".", is_named=False),
    "matrix": _Style(";", ";", is_named=True, empty=""),
    "form": _Style("", "&", is_named=True),
    "spaceDelimited": _Style("", "&", is_named=True, between_unexploded="%20"),
    "pipeDelimited": _Style("", "&", is_named=True, between_unexploded="%7C"),
    # An `&` never stands between two cookies: https://spec.openapis.org/oas/v3.2.0#appendix-d
    "cookie": _Style("", "; ", is_named=True),
}
DEEP = "deepObject"


def refused(why: str, code: str = "bad_argument") -> Failed:
    """The refusal of a call for its arguments, of which nothing has been sent."""
    return failed(code, why, was_sent=False, of_arguments=True)


def unfit(why: str, code: str) -> Failed:
    """The refusal of a call for its entry or its document, of which nothing has been sent."""
    return failed(code, why, was_sent=False)


def percent(text: str) -> str:
    """Everything but unreserved characters encoded."""
    return _quoted(text, "")


def reserved(text: str) -> str:
    """The same with reserved characters and percent-encoded triples as they are, but for those that would end it."""
    return "".join(part if _TRIPLE.fullmatch(part) else _quoted(part, _RESERVED) for part in _TRIPLE.split(text))


def _quoted(text: str, safe: str) -> str:
    if len(text) <= _PIECE:
        return quote(text, safe=safe)
    return "".join(quote(text[start : start + _PIECE], safe=safe) for start in range(0, len(text), _PIECE))


def as_it_is(text: str) -> str:
    return text


def shape(value: bytes) -> Shape:
    """The items of an array, the members of an object, each in JSON, or the text of a scalar; None for null."""
    value = value.strip()
    try:
        if value.startswith(b"["):
            items = jsonrpc.items(value, bounds.MEMBERS + 1)
            if len(items) > bounds.MEMBERS:
                raise refused(f"an array in its arguments has more than {bounds.MEMBERS:,} items")
            return [item.strip() for item in items]
        if value.startswith(b"{"):
            return jsonrpc.members(value)
    except jsonrpc.Malformed as error:
        raise refused(f"an argument cannot be taken apart: {error}") from None
    return text(value)


def text(value: bytes) -> str | None:
    """A value as a text: that of a string, otherwise its JSON; None for null."""
    value = value.strip()
    if value == b"null":
        return None
    if not value.startswith(b'"'):
        return value.decode("utf-8", "replace")
    try:
        return msgspec.json.decode(value, type=str)
    except jsonrpc.REFUSED:
        pass
    try:
        string = json.loads(value, strict=False)
        string.encode()  # half a character can be written in JSON and in nothing else
    except ValueError:
        raise refused("a text in its arguments has half a character") from None
    return str(string)


def written(style: str, explode: bool, name: str, value: bytes, encode: Encode) -> str:
    """One value in a style, with its name where that has it; an empty text where nothing is to be sent."""
    taken = shape(value)
    if taken is None:
        return ""
    if style == DEEP:
        return "&".join(_deep(percent(name), taken, encode, _DEEPEST))
    of = _STYLES[style]
    named = percent(name)
    if isinstance(taken, str):
        return of.first + (_pair(named, encode(taken), of) if of.is_named else encode(taken))
    return of.first + (_exploded if explode else _unexploded)(of, named, taken, encode)


def _exploded(of: _Style, name: str, taken: Sequence[bytes] | Mapping[str, bytes], encode: Encode) -> str:
    if isinstance(taken, Mapping):
        pairs = [(encode(key), encode(item)) for key, value in taken.items() if (item := text(value)) is not None]
        # Without a name before it an empty value keeps its sign.
        parts = [_pair(*pair, of) if of.is_named else "=".join(pair) for pair in pairs]
    else:
        items = [encode(item) for value in taken if (item := text(value)) is not None]
        parts = [_pair(name, item, of) for item in items] if of.is_named else items
    return of.between.join(parts) if parts or not of.is_named else _pair(name, "", of)


def _unexploded(of: _Style, name: str, taken: Sequence[bytes] | Mapping[str, bytes], encode: Encode) -> str:
    if isinstance(taken, Mapping):
        pairs = [(key, item) for key, value in taken.items() if (item := text(value)) is not None]
        items = [part for pair in pairs for part in pair]
    else:
        items = [item for value in taken if (item := text(value)) is not None]
    joined = of.between_unexploded.join(map(encode, items))
    return _pair(name, joined, of) if of.is_named else joined


def _pair(name: str, value: str, of: _Style) -> str:
    return f"{name}={value}" if value else f"{name}{of.empty}"


def _deep(name: str, taken: Shape, encode: Encode, deepest: int) -> Iterator[str]:
    """The standard says this of an object of scalars alone; the rest is as most servers read it."""
    if deepest == 0:
        raise refused(f"an argument has more than {_DEEPEST} values in each other")
    if isinstance(taken, str):
        yield f"{name}={encode(taken)}"
    elif isinstance(taken, dict):
        for key, value in taken.items():
            yield from _deep(f"{name}%5B{percent(key)}%5D", shape(value), encode, deepest - 1)
    elif taken is not None:
        shapes = [each for each in map(shape, taken) if each is not None]
        is_flat = all(isinstance(each, str) for each in shapes)
        for index, each in enumerate(shapes):
            yield from _deep(f"{name}%5B{'' if is_flat else index}%5D", each, encode, deepest - 1)
