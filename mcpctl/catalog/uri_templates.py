"""Whether a URI matches a URI template of RFC 6570, in time that is linear in the URI. Bytes are compared as they are:
nothing is decoded or normalised. The places in the URI where each part may end are the bits of one number, so that no
template makes the matching go back."""

import re
from functools import cached_property, lru_cache
from itertools import islice

from msgspec import Struct

from mcpctl.base import bounds

_EXPRESSION = re.compile(r"\{([+#./;?&]?)([^{}]*)\}")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_ANY = "+#"
_STARTED_BY = "./;?&"
_PART_ENDS = ":/?#&="


class UriTemplate(Struct, frozen=True, dict=True):
    text: str

    @cached_property
    def scheme(self) -> str:
        """With the colon; empty where it is not written out, and then the template matches nothing here."""
        match = _SCHEME.match(self.text)
        return match[0] if match else ""

    @cached_property
    def _parts(self) -> list[tuple[str, str]]:
        """Literals, and expressions as their operator and whether a value is exploded; bounded in number."""
        parts, at = [], 0
        for match in islice(_EXPRESSION.finditer(self.text), bounds.EXPRESSIONS + 1):
            parts.append((self.text[at : match.start()], match[1] + ("*" if "*" in match[2] else "")))
            at = match.end()
        return [*parts, (self.text[at:], "")]

    @cached_property
    def _ends(self) -> tuple[str, str]:
        return self.text.partition("{")[0], self.text.rpartition("}")[2]

    @property
    def place(self) -> str:
        """The beginning of every URI that matches, up to the end of a part."""
        first = self._parts[0][0]
        return first[: max(map(first.rfind, _PART_ENDS)) + 1]

    def may_match(self, uri: str) -> bool:
        """A quick look at the beginning and the end of a URI."""
        first, last = self._ends
        return bool(self.scheme) and uri.startswith(first) and uri.endswith(last)

    def matches(self, uri: str) -> bool:
        if len(uri) > bounds.URI or not self.may_match(uri) or len(self._parts) > bounds.EXPRESSIONS + 1:
            return False
        if len(self._parts) == 1:
            return uri == self.text
        ends = 1  # bit n: what was matched so far may end before character n
        for literal, operator in self._parts[:-1]:
            ends = _expanded(_after(ends, literal, uri), operator, uri)
            if not ends:
                return False
        return bool(_after(ends, self._parts[-1][0], uri) >> len(uri) & 1)


def _after(ends: int, literal: str, uri: str) -> int:
    if not literal:
        return ends
    return (ends & _where(literal, uri)) << len(literal)


def _expanded(ends: int, operator: str, uri: str) -> int:
    """End of an expression's value: anywhere for {+x}, before the next '/' for {x}."""
    kind, is_exploded = operator[:1].strip("*"), operator.endswith("*")
    every = (1 << len(uri)) - 1
    if (kind and kind in _ANY) or (is_exploded and not kind):
        return _run((ends & every) << 1, every)
    if kind and kind in _STARTED_BY:
        starts = _where(kind, uri)
        further = every if kind in "?&" or is_exploded else every & ~_where("/", uri)
        return ends | _run((ends & starts) << 1, further)
    inside = every & ~_where("/", uri)
    return _run((ends & inside) << 1, inside)


def _run(starts: int, inside: int) -> int:
    """Every place that is reached from one of these over characters inside alone: a carry does the walking."""
    return (((starts & inside) + inside) ^ inside) | starts


@lru_cache(maxsize=64)
def _where(literal: str, uri: str) -> int:
    bits = bytearray(b"0" * len(uri))
    at = uri.find(literal)
    while at >= 0:
        bits[len(uri) - 1 - at] = 0x31
        at = uri.find(literal, at + 1)
    return int(bits, 2) if uri else 0
