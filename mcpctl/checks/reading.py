"""The texts of a tool that a model reads, with their places, and all of them as one plain text to be searched."""

import html
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate, islice
from string import ascii_lowercase
from typing import Any

from mcpctl.base.models import Tool
from mcpctl.base.texts import printable

PARAMETER = "parameter"  # the kind of a parameter's name; other texts are of the kind `text`, the tool's name is `name`
_MOST_NODES = 20_000
_MOST_CHARACTERS = 100_000  # the most that is read of all texts of one tool: no honest definition has a fifth of it
_WORDS = frozenset(("$schema", "$id", "$ref", "type", "format", "required"))
"""Members of a schema whose values are single words: only of others it is worth while to read them."""
_INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\ue000-\uf8ff\U000e0000-\U000e0fff]"
)
_SPREAD = re.compile(r"(?<![^\s(\"'`*_.,-])[^\W\d_](?:([ ._*\u00b7\u2022|/-])[^\W\d_](?:\1[^\W\d_])+)(?![^\W_])")
_ESCAPE = re.compile(r"\\u\{?([0-9a-fA-F]{4,6})\}?|\\x([0-9a-fA-F]{2})")
_LEET = str.maketrans("0134578@$", "oieastbas")
_LEET_WORD = re.compile(
    r"(?<![^\s(\"'`.,:;])(?=[a-z013457@$]{0,30}[a-z])(?=[a-z]{0,30}[013457@$])[a-z013457@$]{3,30}(?![\w@$])"
)
_LEAST_LEET = 3  # so many words with digits in them, and a text is read without the digits, too
_PARAGRAPH = re.compile(r"\n\s*+(?:\n|(?=[-*#\u2022]|\d{1,3}[.)]))")
_NOT = re.compile(r"(?<=[a-z])n't\b|\bdont\b|\bcannot\b")
_NOTS = {"dont": "do not", "cannot": "can not"}
_LEAST_SPELLED = 14
_LONGEST_WORD = 200
_LONGEST_PLACE = 200
_LONGEST_MEMBER = 40  # longer names of members that are not parameters are texts that somebody hides there
_ACCENTS = re.compile("[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff]")
_PUNCTUATION = {0x2018: "'", 0x2019: "'", 0x201C: '"', 0x201D: '"', 0x2010: "-", 0x2011: "-", 0x2013: "-", 0x2014: "-"}
# The Latin letters that Cyrillic, Greek and other ones pass for.
_ALIKE = {
    "a": "\u0430\u0251\u03b1", "b": "\u042c\u0185", "c": "\u0441\u03f2\u1d04", "d": "\u0501",
    "e": "\u0435\u0454\u04bd", "g": "\u0261\u0581", "h": "\u04bb\u0570", "i": "\u0456\u0131\u0269\u03b9",
    "j": "\u0458\u03f3", "k": "\u03ba\u043a", "l": "\u04cf\u217c", "m": "\u043c", "n": "\u0578",
    "o": "\u043e\u03bf\u0585\u03c3", "p": "\u0440\u03c1", "q": "\u051b", "r": "\u0433\u1d26", "s": "\u0455\ua731",
    "t": "\u0442\u03c4", "u": "\u03c5\u057d", "v": "\u03bd\u0475", "w": "\u051d\u0461", "x": "\u0445\u03c7",
    "y": "\u0443\u04af\u03b3", "z": "\u1d22", "A": "\u0410\u0391", "B": "\u0412\u0392", "C": "\u0421",
    "E": "\u0415\u0395", "H": "\u041d\u0397", "I": "\u0406\u0399", "J": "\u0408", "K": "\u041a\u039a",
    "M": "\u041c\u039c", "N": "\u039d", "O": "\u041e\u039f", "P": "\u0420\u03a1", "S": "\u0405", "T": "\u0422\u03a4",
    "X": "\u0425\u03a7", "Y": "\u03a5", "Z": "\u0396",
}  # fmt: skip
_LATIN = {ord(other): letter for letter, others in _ALIKE.items() for other in others}
_SEPARATORS = re.compile(r"[\W_]+")
_DIGITS = str.maketrans("01", "ol")


@dataclass(frozen=True)
class Passage:
    place: str
    text: str
    kind: str = "text"


class Reading:
    """The texts of a tool, and their plain form: one line a text, in small Latin letters, without hidden characters."""

    def __init__(self, tool: Tool, read: Callable[[str], Iterable[str]]) -> None:
        """`read` gives the lines of a text in their plain form, as `lines_of` makes them."""
        self.parts, self.is_whole = _parts(tool)
        self._lines_of = read

    @cached_property
    def _read(self) -> Sequence[tuple[str, Passage]]:
        return [(line, part) for part in self.parts for line in self._lines_of(part.text)]

    @cached_property
    def text(self) -> str:
        return "\n".join(line for line, _ in self._read)

    @cached_property
    def _starts(self) -> Sequence[int]:
        return [*accumulate((len(line) + 1 for line, _ in self._read), initial=0)]

    def part(self, at: int) -> Passage:
        return self._read[max(bisect_right(self._starts, at) - 1, 0)][1]

    @cached_property
    def parameters(self) -> Sequence[Passage]:
        return [part for part in self.parts if part.kind == PARAMETER]


def plain(text: str) -> str:
    """A text as patterns are written for: small letters, one space, no hidden or look-alike characters, `do not`."""
    if "\\" in text:
        text = _ESCAPE.sub(_character, text)
    if "&" in text and ";" in text:
        text = html.unescape(text)
    if not text.isascii():
        text = _INVISIBLE.sub("", unicodedata.normalize("NFKC", text.translate(_PUNCTUATION))).translate(_LATIN)
        text = _ACCENTS.sub("", unicodedata.normalize("NFKD", text))
    if _SPREAD.search(text):
        text = _SPREAD.sub(lambda match: match[0].replace(match[1], ""), text)
    text = " ".join(_PARAGRAPH.sub(" . ", text).split()).lower()
    return _NOT.sub(lambda match: _NOTS.get(match[0], " not"), text) if "n't" in text or "not" in text else text


def spelled(text: str) -> str:
    """Words that say that a text spells whole sentences, letter by letter; empty if it does not."""
    for match in _SPREAD.finditer(text):
        letters = match[0].lower().replace(match[1], "")
        if len(letters) >= _LEAST_SPELLED and letters not in ascii_lowercase:
            return f"{len(letters)} letters in a row with '{match[1]}' between them"
    return ""


def _character(match: re.Match[str]) -> str:
    """The character that an escape stands for; a space for what is none."""
    number = int(match[1] or match[2], 16)
    return " " if 0xD800 <= number < 0xE000 or number > 0x10FFFF else chr(number)


def lines_of(text: str) -> Iterator[str]:
    """A text in its plain form; and again with letters for the digits in its words, if many words have them."""
    line = plain(text)
    yield line
    if len([*islice(_LEET_WORD.finditer(line), _LEAST_LEET)]) == _LEAST_LEET:
        yield _LEET_WORD.sub(lambda match: match[0].translate(_LEET), line)


def _parts(tool: Tool) -> tuple[Sequence[Passage], bool]:
    """The texts of a tool, and whether they are all of it."""
    parts: list[Passage] = []
    left = _MOST_CHARACTERS
    for part in islice(_every(tool), _MOST_NODES):
        parts.append(part if len(part.text) <= left else Passage(part.place, part.text[:left], part.kind))
        left -= len(part.text)
        if left <= 0:
            return parts, False
    return parts, len(parts) < _MOST_NODES


def _every(tool: Tool) -> Iterator[Passage]:
    yield Passage("name", tool.name, "name")
    definition = tool.definition
    for member in ("title", "description"):
        if isinstance(value := definition.get(member), str):
            yield Passage(member, value)
    rest = [(member, definition[member]) for member in definition if member not in ("name", "title", "description")]
    yield from _walk([*reversed(rest)])


def _walk(waiting: list[tuple[str, Any]]) -> Iterator[Passage]:
    """Every text and every parameter's name in values, in their order, at any depth, without recursion."""
    while waiting:
        place, value = waiting.pop()
        if isinstance(value, str):
            if value:
                yield Passage(place, value)
        elif isinstance(value, Mapping):
            names = place.endswith(".properties") or place == "properties"
            for name in value:
                if names:
                    yield Passage(_below(place, name), name, PARAMETER)
                elif len(name) > _LONGEST_MEMBER:
                    yield Passage(place, name)
            waiting += [
                (_below(place, name), inner)
                for name, inner in reversed([*value.items()])
                if names or name not in _WORDS or not _is_word(inner)
            ]
        elif isinstance(value, list):
            waiting += [(place, inner) for inner in reversed(value)]


def _is_word(value: Any) -> bool:
    values = value if isinstance(value, list) else (value,)
    return all(isinstance(each, str) and len(each) <= _LONGEST_WORD and " " not in each for each in values)


def _below(place: str, name: str) -> str:
    """The place of a member, safe to be shown."""
    return f"{place}.{_printable(name[:_LONGEST_MEMBER])}" if len(place) < _LONGEST_PLACE else place


_printable = lru_cache(maxsize=4096)(printable)


@lru_cache(maxsize=16_384)
def compact(name: str) -> str:
    """A name without case and separators: the same for `getUser`, `get_user` and `get-user`."""
    return _SEPARATORS.sub("", unicodedata.normalize("NFKC", name)).casefold()


@lru_cache(maxsize=16_384)
def skeleton(name: str) -> str:
    """A name as it looks: the same for `get_user` and one with a Cyrillic letter, a zero or two letters for one."""
    visible = "".join(c for c in unicodedata.normalize("NFKC", name) if unicodedata.category(c) != "Cf")
    latin = compact(visible.translate(_LATIN)).translate(_DIGITS)
    return latin.replace("i", "l").replace("rn", "m").replace("vv", "w")
