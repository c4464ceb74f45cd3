"""The part of an error that stands in a list, and that it has in common with others: code, first line and group."""

import re
from typing import Any

_LONGEST_LINE = 200
_LONGEST_CODE = 64
_READ = 4096  # characters of a text in which its first line is looked for
# An id in hexadecimal digits counts as a number, with its hyphens, where one of its digits is a decimal one.
_NUMBER = re.compile(r"\b0x[0-9a-f]+\b|\b(?=[a-f-]*\d)[0-9a-f]{6,}(?:-[0-9a-f]{4,})*\b|\d+(?:[.,:]\d+)*", re.IGNORECASE)


def first_line(message: str | None) -> str | None:
    """The first line that is not empty, with single spaces."""
    if message and len(message) <= _LONGEST_LINE and message.isprintable() and "  " not in message:
        return message.strip() or None
    lines = (message or "")[:_READ].splitlines()
    line = next((words for line in lines if (words := " ".join(line.split()))), None)
    return line if line is None or len(line) <= _LONGEST_LINE else f"{line[: _LONGEST_LINE - 1]}…"


def group(line: str | None) -> str | None:
    """The line with # in place of each number."""
    return None if line is None else _NUMBER.sub("#", line)


def code(error: Any) -> str | None:
    """The code of an error, a JSON value, as text."""
    found = error.get("code") if isinstance(error, dict) else None
    if isinstance(found, bool) or not isinstance(found, (str, int)):
        return None
    return str(found)[:_LONGEST_CODE]
