r"""Texts as they are meant: `\/`, `\u0070` and `%3D` read as the characters that they stand for, with the way back."""

import re
from bisect import bisect_right
from itertools import accumulate

from mcpctl.secrets.shapes import Span

# Quotation marks and backslashes stay escaped: how deep a text stands in strings of JSON is told by them.
_IN_JSON = rb"\\++(?:(/)|u00(2[013-9a-fA-F]|[346][0-9a-fA-F]|5[0-9abABd-fD-F]|7[0-9a-eA-E]))"
_IN_ADDRESS = rb"%(3[dDaA]|26)"
_ESCAPE = re.compile(_IN_JSON + b"|" + _IN_ADDRESS)
SIGNS = re.compile(rb"\\(?:/|u00[2-7])"), re.compile(_IN_ADDRESS)
"""Texts with such escapes match one of these; one expression for both would look at each character of each text."""
_MEANT = {b"%02x" % code: bytes([code]) for code in range(0x20, 0x7F)}


def read(text: bytes) -> bytes:
    """`text` with such escapes read; the same object where there are none."""
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
        found = [(escape.end(), escape.end() - escape.start() - 1) for escape in _ESCAPE.finditer(text)]
        self._shifts = [0, *accumulate(shorter for _, shorter in found)]
        # The place after each escape, in the text that was read.
        self._ends = [end - shift for (end, _), shift in zip(found, self._shifts[1:], strict=True)]

    def span(self, span: Span) -> Span:
        """The place in the text as it is of one in the text that was read; an escape belongs to it as a whole."""
        begin, end = (place + self._shifts[bisect_right(self._ends, place)] for place in span)
        return begin, end
