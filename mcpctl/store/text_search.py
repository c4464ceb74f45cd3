"""A text in columns of JSON, in any case and however JSON escapes it."""

import re

from mcpctl.store.sqlite import Dialect

ESCAPED = r"'\u'"  # begins a character that JSON may escape, as SQL has it
_DEPTH = 3  # how deep in strings of JSON a text is found: an answer's text, JSON in that, and a cut one
_NEVER_ESCAPED = r'[^"\\/\x00-\x1f\x7f-\U0010ffff]+'  # to compile it takes a sixth of the start of Python
_ESCAPE = re.compile(r'\\(?:((?:u[0-9a-fA-F]{4}\\?)+(?<!\\))|(["\\/bfnrt]))')
_MEANT = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


def having_text(column: str, text: str, sql: Dialect) -> tuple[str, ...]:
    # SQLite looks through a text many times faster than a function in Python: that is asked of few rows.
    whole = sql.said(text.lower())
    part = max(re.findall(_NEVER_ESCAPED, text), key=len, default="")
    like = "%" + re.sub(r"([%_!])", r"!\1", part) + "%"
    has_part, has_escape = sql.like.format(column), sql.has.format(column, ESCAPED)
    if part == text:
        return f"({has_part} OR {has_escape} AND says({column}, ?))", like, whole
    if part:
        return f"(({has_part} OR {has_escape}) AND says({column}, ?))", like, whole
    if not text.isascii():
        has_other = f"length({column}) <> {sql.size.format(column)}"
        return f"(({has_escape} OR {has_other}) AND says({column}, ?))", whole
    return f"says({column}, ?)", whole


def says(text: str | None, lowered: str) -> bool:
    for _ in range(_DEPTH + 1):
        if text is None or lowered in text.lower():
            return text is not None
        if "\\" not in text:
            return False
        text = _ESCAPE.sub(_meant, text)
    return False


def _meant(escape: re.Match[str]) -> str:
    units, letter = escape[1], escape[2]
    if units is None:
        return _MEANT.get(letter, letter)
    # Two halves of a character are escaped one by one.
    return bytes.fromhex(units.replace("\\", "").replace("u", "")).decode("utf-16-be", "replace")
