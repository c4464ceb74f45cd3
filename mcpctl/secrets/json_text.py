"""JSON text as it lies: the end of a value, at any depth of strings, also if it was cut; escapes, read and placed."""

import functools
import re
from bisect import bisect_right
from itertools import accumulate

from mcpctl.secrets.shapes import Span

_SCALAR = re.compile(rb"[^,}\]\s\\\"]*")
_DELIMITER = re.compile(rb'\\++"?|"|(?:\[\]|\{\})++|[{\[]+|[}\]]+')
SCHEMA = re.compile(  # an object that says which type a value has, and has no value
    rb"\{[^{}]{0,400}?\"(?:\$ref|anyOf|oneOf|allOf|type\\*\"\s*:\s*(?:\[|\\*\"(?:string|object|array|number|integer|boolean)\\*\"))"
)
# Quotation marks and backslashes stay escaped: they show how deep a text stands in strings of JSON.
_IN_JSON = rb"\\++(?:(/)|u00(2[013-9a-fA-F]|[346][0-9a-fA-F]|5[0-9abABd-fD-F]|7[0-9a-eA-E]))"
_IN_ADDRESS = rb"%(3[dDaA]|26)"
_ESCAPE = re.compile(_IN_JSON + b"|" + _IN_ADDRESS)
SIGNS = re.compile(rb"\\(?:/|u00[2-7])"), re.compile(_IN_ADDRESS)  # of texts with escapes; two, for speed
_MEANT = {b"%02x" % code: bytes([code]) for code in range(0x20, 0x7F)}


def end_of(text: bytes, start: int, quote: bytes) -> int:
    """The end of the value that starts at `start`; `quote` is how strings are quoted at its depth."""
    if text.startswith(quote, start):
        return string_end(text, start + len(quote), quote)[0]
    if text[start : start + 1] not in (b"{", b"["):
        return _SCALAR.match(text, start).end()  # type: ignore[union-attr]  # it matches anything
    return _container_end(text, start, _level(len(quote)))


def string_end(text: bytes, start: int, quote: bytes) -> tuple[int, bool]:
    """The end of the string whose characters begin at `start`, and whether it is closed there."""
    return _string_end(text, start, _level(len(quote)))


def _container_end(text: bytes, start: int, level: int) -> int:
    depth, place = 0, start
    while match := _DELIMITER.search(text, place):
        mark, place = match.group(), match.end()
        if mark.endswith(b'"'):
            of_mark = _level(len(mark))
            if of_mark < level:
                return place - of_mark  # the text around it ends before the value does
            if of_mark == level:
                place, is_closed = _string_end(text, place, level)
                if not is_closed:
                    return place
        elif mark[0] in b"{[":
            depth += len(mark) if mark[-1] in b"{[" else 0
        elif mark[0] in b"}]":
            if depth <= len(mark):
                return match.start() + depth
            depth -= len(mark)
    return len(text)


def _string_end(text: bytes, start: int, level: int) -> tuple[int, bool]:
    match = _quotation(level).match(text, start)
    if match is None:
        return len(text), False
    of_mark = _level(len(match["mark"]))
    return (match.end(), True) if of_mark == level else (match.end() - of_mark, False)


@functools.cache
def _quotation(level: int) -> re.Pattern[bytes]:
    """Matches as far as the next quotation mark that stands in no deeper string than one of this level."""
    deeper = rb'(?:\\{%d})*+\\{%d}"' % (2 * level, 2 * level - 1)
    return re.compile(rb'(?:[^"\\]++|\\++(?!")|' + deeper + rb')*+(?P<mark>\\*+")')


def _level(length: int) -> int:
    """The depth of a quotation mark in strings, by its length with backslashes: 1 bare, 2 in a string, 4 in that."""
    return length & -length


def unescaped(text: bytes) -> bytes:
    """The text with its escapes read; the same object where there are none."""
    for first, sign in zip((b"\\", b"%"), SIGNS, strict=True):
        if text.find(first) >= 0 and sign.search(text):
            meant = _ESCAPE.sub(_meant, text)
            return meant if len(meant) != len(text) else text
    return text


def _meant(escape: re.Match[bytes]) -> bytes:
    code = escape[2] or escape[3]
    return _MEANT[code.lower()] if code else b"/"


class WayBack:
    def __init__(self, text: bytes) -> None:
        escapes = [(escape.end(), escape.end() - escape.start() - 1) for escape in _ESCAPE.finditer(text)]
        self._shifts = [0, *accumulate(shorter for _, shorter in escapes)]
        # The place after each escape, in the text that was read.
        self._ends = [end - shift for (end, _), shift in zip(escapes, self._shifts[1:], strict=True)]

    def span(self, span: Span) -> Span:
        """The place in the original text of one in the unescaped text; an escape belongs to it as a whole."""
        begin, end = (place + self._shifts[bisect_right(self._ends, place)] for place in span)
        return begin, end
