"""What changed in definitions, line by line, for a person at a terminal."""

import difflib
from collections.abc import Iterator, Sequence
from itertools import islice

from mcpctl.base.errors import inert
from mcpctl.base.models import Row
from mcpctl.output.text import line_of

_MOST_LINES = 200
"""Lines of one change that are shown; what is compared line by line is no longer either."""


def lines(findings: Sequence[Row]) -> Iterator[str]:
    """Each finding, and below it the lines that are gone and those that have come, made safe for a terminal."""
    for row in findings:
        place = f"{row['path']}:{row['line']}: " if row["path"] else ""
        yield _safe(f"{place}{row['rule']} {row['key']}: {row['message']}")
        yield from (_safe(f"    {line}") for line in compared(row["old"], row["new"]))


def compared(old: str | None, new: str | None) -> Iterator[str]:
    """The lines of one change as they are, after `- ` where they are gone, `+ ` where they have come, else spaces."""
    before, after = _cut(old), _cut(new)
    lines = difflib.ndiff(before, after) if before and after else (*_each("- ", before), *_each("+ ", after))
    return islice((line for line in lines if not line.startswith("?")), 2 * _MOST_LINES)


def _each(mark: str, texts: Sequence[str]) -> Iterator[str]:
    return (f"{mark}{text}" for text in texts)


def _cut(text: str | None) -> list[str]:
    found = (text or "").splitlines()
    more = len(found) - _MOST_LINES
    return [*found[:_MOST_LINES], *([f"… and {more} more lines"] if more > 0 else [])]


def _safe(line: str) -> str:
    return inert(line_of(line)).rstrip()
