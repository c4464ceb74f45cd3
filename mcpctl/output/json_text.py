"""Rows and things as JSON: apart from the other formats, which need no encoder."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from mcpctl.base.models import Found, RawJson, Row


def line(value: Any) -> str:
    """A value as JSON text on one line; a `RawJson` in it stays as it is."""
    return msgspec.json.encode(_embedded(value)).decode()


def _embedded(value: Any) -> Any:
    kind = type(value)
    if kind is RawJson:
        return msgspec.Raw(value.encode())
    if kind is dict:
        return {name: _embedded(item) for name, item in value.items()}
    return [_embedded(item) for item in value] if kind is list or kind is tuple else value


def lines(rows: Iterator[Row], names: Sequence[str], *, as_array: bool) -> Iterator[str]:
    if not as_array:
        for row in rows:
            yield _row(row, names)
        return
    lead = "["
    for row in rows:
        # Each row begins with the comma after the one before it, so that no row must be kept in memory.
        yield lead + _row(row, names)
        lead = ","
    yield "[]" if lead == "[" else "]"


def pieces(row: Row) -> Iterator[str]:
    """One thing as an object, in pieces: a member that is a `Found` is an array, row by row."""
    lead = "{"
    for name, value in row.items():
        yield f"{lead}{line(name)}:"
        lead = ","
        if isinstance(value, Found):
            yield "["
            for number, item in enumerate(value.rows(None, 0)):
                yield ("," if number else "") + _row(item, tuple(item))
            yield "]"
        else:
            yield line(value)
    yield "{}\n" if lead == "{" else "}\n"


def _row(row: Row, names: Sequence[str]) -> str:
    # RawJson is always a whole member here; not looking deeper saves time for a hundred thousand rows.
    members = {name: row[name] for name in names}
    for name, value in members.items():
        if type(value) is RawJson:
            members[name] = msgspec.Raw(value.encode())
    return msgspec.json.encode(members).decode()
