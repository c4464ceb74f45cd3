"""Where in a file's text the values of its JSON are. The text must be JSON that has been read already."""

import json
import re
from bisect import bisect_right
from dataclasses import dataclass
from itertools import islice

from mcpctl.toolsets.toolset import Place

_decoder = json.JSONDecoder()
_SPACE = re.compile(r"[ \t\r\n]*")
_DEEPEST = 16
"""Levels that are looked into: what a toolset has is less deep, and each level is read again."""


@dataclass(frozen=True, slots=True)
class Member:
    """A member of an object or an item of an array: where it, its value and what follows begin."""

    name: str | int
    start: int
    value: int
    end: int


def members(text: str, at: int) -> list[Member]:
    """The members of the object, or the items of the array, that begins at `at`; none of another value."""
    if text[at] not in "{[":
        return []
    is_object = text[at] == "{"
    found: list[Member] = []
    at = space(text, at + 1)
    while text[at] not in "}]":
        start, name = at, len(found)
        key: str | int = name
        if is_object:
            key, at = _decoder.raw_decode(text, at)
            at = space(text, space(text, at) + 1)
        _, end = _decoder.raw_decode(text, at)
        found.append(Member(key, start, at, end))
        at = space(text, end)
        if text[at] == ",":
            at = space(text, at + 1)
    return found


def space(text: str, at: int) -> int:
    """Where the white space at `at` ends."""
    found = _SPACE.match(text, at)
    return found.end() if found else at


class Positions:
    """Lines and columns, both from 1, of places in JSON text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._lines = [0, *(found.end() for found in re.finditer("\n", text))]
        self._within: dict[int, dict[str | int, int]] = {}
        """Where the values in an object or array are, by where it begins; of one name the last counts."""

    def of(self, place: Place) -> tuple[int, int]:
        """Where the value there begins; what cannot be found is where that is which it is in."""
        at = space(self._text, 0)
        for name in islice(place, _DEEPEST):
            value = self._values(at).get(name)
            if value is None:
                break
            at = value
        line = bisect_right(self._lines, at)
        return line, at - self._lines[line - 1] + 1

    def _values(self, at: int) -> dict[str | int, int]:
        found = self._within.get(at)
        if found is None:
            try:
                found = {member.name: member.value for member in members(self._text, at)}
            except RecursionError:  # deeper than any toolset is
                found = {}
            self._within[at] = found
        return found
