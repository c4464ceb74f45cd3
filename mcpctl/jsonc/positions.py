"""The positions of JSON values in a file's text. The text must be JSON that was decoded before."""

import json
import re
from bisect import bisect_right
from collections.abc import Sequence
from itertools import islice

from msgspec import Struct

Place = Sequence[str | int]
"""A path in a file's JSON: names of members and numbers of items."""
_decoder = json.JSONDecoder()
_SPACE = re.compile(r"[ \t\r\n]*")
_DEEPEST = 16
"""How many levels are searched: a toolset has fewer, and each level is decoded again."""


class Member(Struct, frozen=True):
    """A member of an object or an item of an array, with the positions of its start, its value and its end."""

    name: str | int
    start: int
    value: int
    end: int


def members(text: str, at: int) -> list[Member]:
    """The members of the object, or the items of the array, that begins at `at`; empty for another value."""
    if text[at] not in "{[":
        return []
    is_object = text[at] == "{"
    result: list[Member] = []
    at = space(text, at + 1)
    while text[at] not in "}]":
        start, name = at, len(result)
        key: str | int = name
        if is_object:
            key, at = _decoder.raw_decode(text, at)
            at = space(text, space(text, at) + 1)
        _, end = _decoder.raw_decode(text, at)
        result.append(Member(key, start, at, end))
        at = space(text, end)
        if text[at] == ",":
            at = space(text, at + 1)
    return result


def space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


class Positions:
    """Lines and columns, both from 1, of places in JSON text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._lines = [0, *(match.end() for match in re.finditer("\n", text))]
        self._within: dict[int, dict[str | int, int]] = {}
        """By the start of an object or array, the start of each of its values; of equal names the last counts."""

    def of(self, place: Place) -> tuple[int, int]:
        """The start of the value at `place`; of the innermost value around it if it does not exist."""
        at = space(self._text, 0)
        for name in islice(place, _DEEPEST):
            value = self._values(at).get(name)
            if value is None:
                break
            at = value
        line = bisect_right(self._lines, at)
        return line, at - self._lines[line - 1] + 1

    def _values(self, at: int) -> dict[str | int, int]:
        values = self._within.get(at)
        if values is None:
            try:
                values = {member.name: member.value for member in members(self._text, at)}
            except RecursionError:  # deeper than any toolset is
                values = {}
            self._within[at] = values
        return values
