"""JSON as editors write it, with comments and trailing commas: its values, where they stand, or its fault."""

import json
import re
from bisect import bisect_right
from collections.abc import Sequence
from itertools import islice
from typing import Any

from msgspec import Struct

# A string comes first, so that nothing in it is a comment. The JSON parser refuses a string without an end; a comment
# without an end goes to the end of the text, so that the time stays linear.
_TOKEN = re.compile(r'"[^"\\\n]*(?:\\.[^"\\\n]*)*"?|//[^\n]*|/\*.*?(?:\*/|\Z)', re.DOTALL)
# A comma is not a trailing comma if there is nothing before it.
_COMMA = re.compile(r'"[^"\\\n]*(?:\\.[^"\\\n]*)*"?|[\[{,]\s*,(?=\s*[}\]])|,(?=\s*[}\]])', re.DOTALL)
_NOT_NEWLINE = re.compile(r"[^\r\n]")
_CONFLICT = re.compile(r"<{7} |\|{7} |={7}\r?\n|>{7} ")
_WORDS = {  # the words of Python's parser, which differ from version to version, by how they begin
    "Expecting property name": "a name in double quotes is missing here",
    "Expecting value": "a value is missing here",
    "Expecting ','": "a comma or a closing bracket is missing here",
    "Expecting ':'": "a colon is missing here",
    "Illegal trailing comma": "this comma is one too many",
    "Unterminated string": "the string that begins here has no end",
    "Invalid control character": "a string has a line break or another control character here",
    "Invalid \\": "a backslash is wrong here; a backslash itself is written \\\\",
    "Extra data": "there is something after the end of the JSON",
}
Place = Sequence[str | int]  # a path in a file's JSON: names of members and numbers of items
_decoder = json.JSONDecoder()
_SPACE = re.compile(r"[ \t\r\n]*")
_DEEPEST = 16  # how many levels are searched: a toolset has fewer, and each level is decoded again


def decoded(data: bytes) -> Any:
    """The value of JSON with comments and trailing commas, in any Unicode encoding; raises ValueError, placed."""
    text = data.decode(json.detect_encoding(data))
    try:
        return json.loads(text)  # most files are plain JSON, and some are large
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except ValueError:
        pass
    plain = without_commas(without_comments(text))
    try:
        return json.loads(plain)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except ValueError as error:
        raise ValueError(fault_in_words(plain, error)) from None


def without_comments(text: str) -> str:
    """The text with spaces in place of its comments, so that every position stays what it is."""
    return _TOKEN.sub(_blank, text)


def without_commas(text: str) -> str:
    """The text, which has no comments, with a space in place of every trailing comma."""
    return _COMMA.sub(_blank, text)


def _blank(match: re.Match[str]) -> str:
    text = match[0]
    is_comment = text.startswith("//") or (text.startswith("/*") and text.endswith("*/") and len(text) > 3)
    return _NOT_NEWLINE.sub(" ", text) if text == "," or is_comment else text


class JsonFault(Struct, frozen=True):
    line: int
    column: int
    message: str


def fault(text: str) -> JsonFault | None:
    """The fault that keeps text from being JSON; None if Python's lenient parser takes it, or finds it too deep."""
    if not text.strip():
        return JsonFault(1, 1, "it is empty")
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        if _CONFLICT.match(text, text.rfind("\n", 0, error.pos) + 1):
            message = "a merge conflict is not resolved here"
        else:
            message = next((words for start, words in _WORDS.items() if error.msg.startswith(start)), error.msg)
        return JsonFault(error.lineno, error.colno, message)
    except (ValueError, RecursionError):
        pass
    return None


def fault_in_words(text: str, otherwise: object) -> str:
    """The fault of text in words, with its place, or `otherwise` where that is not known."""
    place = fault(text)
    return f"line {place.line}, column {place.column}: {place.message}" if place else str(otherwise)


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
        self._within: dict[int, dict[str | int, int]] = {}  # by the start of an object or array, those of its values

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
