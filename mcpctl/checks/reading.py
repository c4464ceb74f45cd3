"""What a model reads of a tool: its texts with their places, and all of them as one plain text to be searched."""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any

from mcpctl.checks.confusables import LATIN
from mcpctl.models import Tool

PARAMETER = "parameter"
"""The kind of a text that is a parameter's name; other texts are of the kind `text`, the tool's own of kind `name`."""
_MOST_NODES = 20_000
_MOST_CHARACTERS = 100_000
"""What is read of one tool's texts, all together: no honest definition has a fifth of it."""
_SKIPPED = frozenset(("$schema", "$id", "$ref", "type", "format", "required", "pattern"))
"""Members of a schema whose values are words of JSON Schema."""
_INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\ue000-\uf8ff\U000e0000-\U000e0fff]"
)
_SPREAD = re.compile(r"(?<!\S)\w(?: \w){4,}(?!\S)")
"""A word with spaces between its letters."""
_PARAGRAPH = re.compile(r"\n\s*+(?:\n|(?=[-*#\u2022]|\d{1,3}[.)]))")
_NOT = re.compile(r"(?<=[a-z])n't\b|\bdont\b|\bcannot\b")
_NOTS = {"dont": "do not", "cannot": "can not"}


@dataclass(frozen=True)
class Part:
    """One text of a definition, as its server sent it."""

    place: str
    text: str
    kind: str = "text"


class Reading:
    """The texts of a tool, and their plain form: one line a text, in small Latin letters, without hidden characters."""

    def __init__(self, tool: Tool) -> None:
        self.tool = tool
        self.parts, self.is_whole = _parts(tool)
        self._starts: list[int] = []
        lines: list[str] = []
        at = 0
        for part in self.parts:
            line = plain(part.text)
            self._starts.append(at)
            lines.append(line)
            at += len(line) + 1
        self.text = "\n".join(lines)

    def part(self, at: int) -> Part:
        """The text that a place of the plain form belongs to."""
        return self.parts[max(bisect_right(self._starts, at) - 1, 0)]

    @cached_property
    def parameters(self) -> Sequence[Part]:
        """The names of the parameters, nested ones included."""
        return [part for part in self.parts if part.kind == PARAMETER]


def plain(text: str) -> str:
    """A text as patterns are written for: small letters, one space, no hidden or look-alike characters, `do not`."""
    if not text.isascii():
        text = _INVISIBLE.sub("", unicodedata.normalize("NFKC", text.translate(_PUNCTUATION))).translate(LATIN)
    if _SPREAD.search(text):
        text = _SPREAD.sub(lambda found: found[0].replace(" ", ""), text)
    text = " ".join(_PARAGRAPH.sub(" . ", text).split()).lower()
    return _NOT.sub(lambda found: _NOTS.get(found[0], " not"), text) if "n't" in text or "not" in text else text


_PUNCTUATION = {0x2018: "'", 0x2019: "'", 0x201C: '"', 0x201D: '"', 0x2010: "-", 0x2011: "-", 0x2013: "-", 0x2014: "-"}


def _parts(tool: Tool) -> tuple[Sequence[Part], bool]:
    """The texts of a tool, and whether they are all of it."""
    parts: list[Part] = []
    left = _MOST_CHARACTERS
    for part in islice(_every(tool), _MOST_NODES):
        parts.append(part if len(part.text) <= left else Part(part.place, part.text[:left], part.kind))
        left -= len(part.text)
        if left <= 0:
            break
    else:
        return parts, len(parts) < _MOST_NODES
    return parts, False


def _every(tool: Tool) -> Iterator[Part]:
    yield Part("name", tool.name, "name")
    definition = tool.definition
    for member in ("title", "description"):
        if isinstance(value := definition.get(member), str):
            yield Part(member, value)
    rest = [(member, definition[member]) for member in definition if member not in ("name", "title", "description")]
    yield from _walk([*reversed(rest)])


def _walk(waiting: list[tuple[str, Any]]) -> Iterator[Part]:
    """Every text and every parameter's name in values, in their order, at any depth, without recursion."""
    while waiting:
        place, value = waiting.pop()
        if isinstance(value, str):
            if value:
                yield Part(place, value)
        elif isinstance(value, Mapping):
            names = place.endswith(".properties") or place == "properties"
            for name in value:
                if names:
                    yield Part(_below(place, name), name, PARAMETER)
                elif len(name) > _LONGEST_MEMBER:
                    yield Part(place, name)
            waiting += [
                (_below(place, name), inner)
                for name, inner in reversed([*value.items()])
                if names or name not in _SKIPPED or not isinstance(inner, str | list)
            ]
        elif isinstance(value, list):
            waiting += [(place, inner) for inner in reversed(value)]


def _below(place: str, name: str) -> str:
    """The place of a member, safe to be shown."""
    shown = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in name[:_LONGEST_MEMBER])
    return f"{place}.{shown}" if len(place) < _LONGEST_PLACE else place


_LONGEST_PLACE = 200
_LONGEST_MEMBER = 40
"""Longer names of members that are not parameters are texts that somebody hides there."""
