"""Where JSON text is not JSON, and why, in plain words."""

import json
import re

from msgspec import Struct

_CONFLICT = re.compile(r"<{7} |\|{7} |={7}\r?\n|>{7} ")
# The words of Python's parser, which differ from version to version, by how they begin.
_WORDS = {
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
            message = next((told for said, told in _WORDS.items() if error.msg.startswith(said)), error.msg)
        return JsonFault(error.lineno, error.colno, message)
    except (ValueError, RecursionError):
        pass
    return None


def told(text: str, otherwise: object) -> str:
    """The fault of text in words, with its place, or `otherwise` where that is not known."""
    found = fault(text)
    return f"line {found.line}, column {found.column}: {found.message}" if found else str(otherwise)
