"""Rows as comma-separated values that a spreadsheet does not run."""

import csv
import io
import re
from collections.abc import Iterator, Sequence
from typing import Any

from mcpctl.base.models import RawJson, Row

_RUN = ("=", "+", "-", "@", "\t", "\r", "＝", "＋", "－", "＠")  # noqa: RUF001 - some read wide characters as plain ones
_NUMBER = re.compile(r"-?\d+(\.\d+)?([eE][+-]?\d+)?")


def lines(rows: Iterator[Row], fields: Sequence[str]) -> Iterator[str]:
    """The header and the rows as RFC 4180 has them, each without the last character of its line's end."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(fields)
    for row in rows:
        yield _taken(text)
        writer.writerow([_cell(row[name]) for name in fields])
    yield _taken(text)


def _taken(text: io.StringIO) -> str:
    line = text.getvalue()
    text.seek(0)
    text.truncate()
    return line[:-1]


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str) or not value.startswith(_RUN):
        return value
    is_number = isinstance(value, RawJson) and _NUMBER.fullmatch(value)
    return value if is_number else f"'{value}"
