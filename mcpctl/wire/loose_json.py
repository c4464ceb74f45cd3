"""JSON that a strict decoder refuses and that peers send all the same: where its parts are, in linear time. NaN and
Infinity, halves of surrogate pairs, raw control characters, bytes that are not UTF-8, nesting of any depth. mcpctl does
not judge them: a result passes as it came, once it is known where it begins and ends."""

import codecs
import json
import re
from collections.abc import Iterator

import msgspec
from msgspec import Raw

from mcpctl.base import bounds

_CHECKED_AT_ONCE = 1 << 20
_WINDOW = 1 << 16  # bytes that are searched in one step: a thread that searches more holds up all others for it
_OUTER = re.compile(rb'["{}\[\],:]')
_INNER = re.compile(rb'["{}\[\]]')
_STRING = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_INSIDE = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+', re.DOTALL)  # a part of a string, without half of an escape
_SCALARS = rb'(?:[^"{}\[\]]++|' + _STRING + rb")*+"
_LEAF = rb"(?:\[" + _SCALARS + rb"\]|\{" + _SCALARS + rb"\})"
_FLAT = re.compile(rb"(?:" + _SCALARS + _LEAF + rb"++)*+" + _SCALARS, re.DOTALL)
"""Scalars, and arrays and objects of nothing else: no look at each bracket is needed."""
_KEY = re.compile(rb"(" + _STRING + rb")[ \t\r\n]*:[ \t\r\n]*", re.DOTALL)
_SPACE = b" \t\r\n"
_CONTROL = bytes(32 if byte in _SPACE else 95 if byte < 32 else byte for byte in range(256))
_LOOSE = (
    (b"NaN", b" 0 "),
    (b"-Infinity", b" 0       "),
    (b"Infinity", b" 0      "),
    (b"\\ud", b"\\u0"),
    (b"\\uD", b"\\u0"),
)
"""Texts that only lenient decoders take, each with one that a strict decoder takes in its place."""
_value: msgspec.json.Decoder[Raw] = msgspec.json.Decoder(Raw)


class NotJson(ValueError):
    """A text that is not the JSON it should be."""


def well_formed(line: bytes | bytearray) -> bytes | bytearray:
    """The line without a byte order mark, each byte that is not UTF-8 as U+FFFD. A long one is looked at in pieces, so
    that it is in memory once, or twice where it has such bytes."""
    if line.isascii():
        return line
    line = line.removeprefix(codecs.BOM_UTF8)
    pieces = range(0, len(line), _CHECKED_AT_ONCE)
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for start in pieces:
            decoder.decode(line[start : start + _CHECKED_AT_ONCE])
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        replaced = [decoder.decode(line[start : start + _CHECKED_AT_ONCE]).encode() for start in pieces]
        return b"".join([*replaced, decoder.decode(b"", final=True).encode()])
    return line


def members(text: bytes, most: int) -> dict[str, tuple[int, int]]:
    """The place of each member's value in the JSON object `text`; of equal names the last, as decoders take it. Raises
    `NotJson` where it is not an object, has more than `most` members, or a value is not even loosely JSON."""
    spans: dict[str, tuple[int, int]] = {}
    for start, end in parts(text, b"{", most):
        key = _KEY.match(text, start, end)
        if key is None or key.end() == end:
            raise NotJson("a member has no name or no value")
        try:
            name = json.loads(key[1], strict=False)
        except ValueError as error:
            raise NotJson("the name of a member is not a string") from error
        _check(text, key.end(), end)
        spans[name] = key.end(), end
    return spans


def parts(text: bytes, opening: bytes, most: int) -> Iterator[tuple[int, int]]:
    """The places of the parts between the commas of the outermost brackets, without the white space around them. Only
    brackets and strings are looked at: it takes what merely looks like JSON, to any depth. Raises `NotJson`, also when
    there are more than `most` parts."""
    text = text.rstrip(_SPACE)
    begin = position = len(text) - len(text.lstrip(_SPACE)) + 1
    if text[begin - 1 : begin] != opening or text[-1:] not in (b"}", b"]"):
        raise NotJson("it is not an " + ("object" if opening == b"{" else "array"))
    several = False
    for mark, after in _outermost(text, position):
        start, end = _trimmed(text, begin, after - 1)
        if start < end:
            if most == 0:
                raise NotJson("it has too many parts")
            most -= 1
            yield start, end
        elif several or mark == b",":
            raise NotJson("a part is missing")
        begin, several = after, True
    if begin != len(text):
        raise NotJson("something follows it")


def _outermost(text: bytes, position: int) -> Iterator[tuple[bytes, int]]:
    """The commas between the outermost brackets, the first of which is before `position`, and the last bracket."""
    depth = 1
    while depth:
        position, mark = _next_mark(text, position, depth)
        if mark == b'"':
            position = _string_end(text, position)
        elif mark in (b"{", b"["):
            depth += 1
        elif mark in (b"}", b"]"):
            depth -= 1
        if depth == 0 or (depth == 1 and mark == b","):
            yield mark, position


def _next_mark(text: bytes, position: int, depth: int) -> tuple[int, bytes]:
    """The next mark that counts at that depth, and where what follows it begins; looked for in steps."""
    marks = _OUTER if depth == 1 else _INNER
    while position < len(text):
        if depth > 1 and (flat := _FLAT.match(text, position, position + _WINDOW)):
            position = flat.end()
        if match := marks.search(text, position, position + _WINDOW):
            return match.end(), match.group()
        position += _WINDOW
    raise NotJson("it is cut short")


def _string_end(text: bytes, position: int) -> int:
    """The end of a string, behind its quotation mark, whose text begins at `position`."""
    while position < len(text):
        inside = _INSIDE.match(text, position, position + _WINDOW)
        end = inside.end() if inside else position
        if text[end : end + 1] == b'"':
            return end + 1
        if end == position:  # a last backslash
            break
        position = end
    raise NotJson("a string in it does not end")


def _trimmed(text: bytes, start: int, end: int) -> tuple[int, int]:
    while start < end and text[start] in _SPACE:
        start += 1
    while end > start and text[end - 1] in _SPACE:
        end -= 1
    return start, end


def _check(text: bytes, start: int, end: int) -> None:
    """Raises `NotJson` for a value that lenient decoders refuse too, such as Python's: it must reach no peer."""
    value = _strict(text, start, end)
    try:
        _value.decode(value)
    except RecursionError:
        if len(value) > bounds.DEEP:
            raise NotJson("it is nested too deeply for its length") from None
        _check_deep(value)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise NotJson("it is not JSON") from error


def _strict(text: bytes, start: int, end: int) -> bytes:
    """A value as a strict decoder takes it, of the same length; made in steps, each of which ends behind a comma."""
    pieces = []
    while start < end:
        after = text.find(b",", start + _CHECKED_AT_ONCE, end) + 1 or end
        piece = text[start:after].translate(_CONTROL)
        for loose, taken in _LOOSE:
            if loose in piece:
                piece = piece.replace(loose, taken)
        pieces.append(piece)
        start = after
    return b"".join(pieces)


_TOKEN = re.compile(rb"[ \t\r\n]*+(?:([\[\]{}:,])|(" + _STRING + rb")|([-+.0-9a-zA-Z]++))[ \t\r\n]*+", re.DOTALL)
_VALUE = {b"[": "item", b"{": "member", b'"': "end", b"0": "end"}
_FOLLOWING = {
    "value": _VALUE,
    "item": {**_VALUE, b"]": "end"},
    "member": {b'"': "colon", b"}": "end"},
    "name": {b'"': "colon"},
    "colon": {b":": "value"},
    "end [": {b",": "value", b"]": "end"},
    "end {": {b",": "name", b"}": "end"},
}
"""The tokens that may come in a state, each with the state after it (RFC 8259); a zero stands for other scalars."""


def _check_deep(text: bytes) -> None:
    """The same for a value that is nested deeper than decoders go: token after token."""
    outer: list[str] = []
    position, expected = 0, "value"
    while position < len(text):
        token = _TOKEN.match(text, position)
        if token is None:
            raise NotJson("it is not JSON")
        kind = token[1] or (b'"' if token[2] else b"0")
        if kind == b"0" or (kind == b'"' and b"\\" in token[2]):
            _scalar(token[2] or token[3])
        following = _FOLLOWING[expected].get(kind)
        if following is None:
            raise NotJson("it is not JSON")
        if kind in (b"[", b"{"):
            outer.append(kind.decode())
        elif kind in (b"]", b"}"):
            outer.pop()
        expected = following if following != "end" else f"end {outer[-1]}" if outer else "nothing"
        position = token.end()
        if expected == "nothing" and position < len(text):
            raise NotJson("something follows it")
    if expected != "nothing":
        raise NotJson("it is cut short")


def _scalar(text: bytes) -> None:
    try:
        _value.decode(text)
    except msgspec.MsgspecError as error:
        raise NotJson("it is not JSON") from error
