"""Excerpts of a long text in UTF-8: a beginning, a window, the places of a word, and the shape of its JSON.

No piece has half a character. A shape is one line, such as {items: [1,204 x {id, title, …11 keys}], next: string}; its
names are a server's, and so have a grammar and a bound.
"""

import re
from typing import NamedTuple

import msgspec
from msgspec import Raw

from mcpctl.base import bounds
from mcpctl.wire import jsonrpc

_WIDE = 200  # bytes of a line that are shown on each side of a match
_USED = 3  # a beginning ends with a whole line or element only where that takes at least a third of its room
_DEEP = 3
_LONG = 600  # characters of a shape; a longer one is shown less deep
_LONGEST = 40  # characters of a name that is shown
_SOME = 20  # items that the example selects
_KEYS = 8  # names of one object that are shown
_MANY = 1_000_000  # commas of an array whose items are not counted: each would be an object of 50 bytes for a moment
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_BARE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")  # a name that needs no quotes in a path
_KINDS = {b'"': "string", b"{": "object", b"[": "array", b"t": "boolean", b"f": "boolean", b"n": "null"}
_TIMES = "\N{MULTIPLICATION SIGN}"
_items: msgspec.json.Decoder[list[Raw]] = msgspec.json.Decoder(list[Raw])


class Piece(NamedTuple):
    text: bytes
    start: int
    end: int  # the start of the next piece; the length of the text for the last


def head(text: bytes, most: int, *, is_json: bool) -> bytes:
    """The beginning, of at most `most` bytes: cut behind a line, or in JSON behind an element, if one ends late."""
    if len(text) <= most:
        return text
    end = text.rfind(b"\n", 0, most) + 1
    if is_json:
        end = max(end, _last_comma(text[:most]))
    return text[: end if end > most // _USED else _character(text, most)]


def piece(text: bytes, offset: int, limit: int) -> Piece:
    """The piece from `offset` on, or from where its character begins, in at most `limit` bytes."""
    start = _character(text, min(offset, len(text)))
    end = _character(text, min(start + limit, len(text)))
    return Piece(text[start:end], start, end)


def matches(text: bytes, words: str, offset: int, limit: int, context: int) -> tuple[Piece, int]:
    """The lines from `offset` on that have these words as they stand (ASCII letters of either case), each with
    `context` lines around it and its offset; and the number of matches. Long lines are cut around the words. Plain
    search: it takes time in proportion to the text, whatever the words."""
    lowered, sought = text.lower(), words.encode("utf-8", "replace").lower()
    shown: list[bytes] = []
    size = number = 0
    position = shown_to = min(offset, len(text))
    while (match := lowered.find(sought, position)) >= 0:
        start, end = _around(text, match, match + len(sought), context, shown_to)
        excerpt = b"%d: %b" % (start, text[start:end])
        if shown and size + len(excerpt) > limit:
            return Piece(b"\n".join(shown), offset, start), number
        shown.append(excerpt[: _character(excerpt, limit)])
        size += len(excerpt) + 1
        # Matches in the same excerpt are shown by it.
        number += lowered.count(sought, match, max(end, match + len(sought)))
        position = shown_to = max(end, match + len(sought))
    return Piece(b"\n".join(shown), offset, len(text)), number


def _around(text: bytes, start: int, end: int, context: int, least: int) -> tuple[int, int]:
    """The begin and end of the lines around a match, in bounds, and not before `least`."""
    low, high = max(least, start - _WIDE * (context + 1)), min(len(text), end + _WIDE * (context + 1))
    first, last = start, end
    for _ in range(context + 1):
        if (first := text.rfind(b"\n", low, first)) < 0:
            first = low
            break
    else:
        first += 1
    for _ in range(context + 1):
        if (newline := text.find(b"\n", last, high)) < 0:
            last = high
            break
        last = newline + 1
    else:
        last -= 1
    return _character(text, first), _character(text, last)


def _last_comma(text: bytes) -> int:
    outside = 0
    place = 0
    while True:
        quote = text.find(b'"', place)
        comma = text.rfind(b",", place, quote if quote >= 0 else len(text)) + 1
        outside = max(outside, comma)
        if quote < 0 or (place := _string_end(text, quote + 1)) < 0:
            return outside


def _string_end(text: bytes, place: int) -> int:
    """The end of the string of which `place` is the first byte; -1 where it does not end."""
    while (quote := text.find(b'"', place)) >= 0:
        before = quote
        while before > place and text[before - 1 : before] == b"\\":
            before -= 1
        if (quote - before) % 2 == 0:
            return quote + 1
        place = quote + 1
    return -1


def _character(text: bytes, at: int) -> int:
    while 0 < at < len(text) and text[at] & 0xC0 == 0x80:
        at -= 1
    return at


def shape(value: bytes) -> str:
    """The shape of a JSON text; only its kind if it is too long, or if only lenient readers take it."""
    if len(value) > bounds.ANSWER_JSON:
        return f"{_kind(value)} (more than {bounds.ANSWER_JSON >> 20} MB, not looked into)"
    try:
        shapes = (_shape(value, deep) for deep in range(_DEEP, 0, -1))
        return next((each for each in shapes if len(each) <= _LONG), _kind(value))
    except (jsonrpc.Malformed, *jsonrpc.REFUSED):
        return _kind(value)


def example(value: bytes) -> str:
    """A path that selects a little of a JSON text: of its first array, some items with some of their names."""
    if len(value) > bounds.ANSWER_JSON:
        return ""
    try:
        return _example(value)
    except (jsonrpc.Malformed, *jsonrpc.REFUSED, IndexError):
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
    # The names of an object in an array are enough to write a path.
    return f"[{number} {_TIMES} {_shape(first, min(deep - 1, 1)) if deep else _kind(first)}]"


def _of_object(value: bytes, deep: int) -> str:
    if not deep:
        return "object"
    members = jsonrpc.members(value)
    plain = [name for name in list(members)[: _KEYS * 2] if len(name) <= _LONGEST and _NAME.fullmatch(name)]
    shown = plain[:_KEYS]
    parts = [_quoted(name) if deep == 1 else f"{_quoted(name)}: {_shape(members[name], deep - 1)}" for name in shown]
    if left := len(members) - len(shown):
        parts.append(f"…{left:,} keys")
    return f"{{{', '.join(parts)}}}"


def _is_bare(name: str) -> bool:
    return len(name) <= _LONGEST and _BARE.fullmatch(name) is not None


def _quoted(name: str) -> str:
    return name if _BARE.fullmatch(name) else f'"{name}"'


def _kind(value: bytes) -> str:
    return _KINDS.get(value[:64].lstrip()[:1], "number")
