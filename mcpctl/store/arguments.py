"""The arguments of calls: which of them have a value, and how they are told in one line."""

import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import msgspec

from mcpctl.base.errors import WrongUsage
from mcpctl.base.models import Found, Row
from mcpctl.store.sqlite import Dialect
from mcpctl.store.text_search import ESCAPED

_LONGEST_LINE = 200
_MISSING = object()


def given(called: str, text: str) -> tuple[str, str]:
    """The path and the value of `name=value`, as they were typed."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip("."):
        raise WrongUsage(f"{called} '{text}' is not NAME=VALUE", f"for example: {called} city=Oslo, {called} file.id=7")
    return name, value


def having(path: str, value: str, sql: Dialect) -> tuple[str, ...]:
    """The condition on calls with that value at that path, and what it is asked with."""
    # SQLite looks through a text many times faster than JSON is read: that is done with few rows.
    parts: list[str] = [path.rpartition(".")[2], *([value] if not _as_json(value) or value.isdigit() else [])]
    parts = [part for part in parts if part.isascii() and part.isprintable() and not set('"\\/') & set(part)]
    has, has_escape = sql.has.format("arguments", "?"), sql.has.format("arguments", ESCAPED)
    looked_for = f"({has} OR {has_escape}) AND " * len(parts)
    return (f"({looked_for}has_argument(arguments, ?, ?))", *parts, path, value)


def has(recorded: str | None, path: str, value: str) -> bool:
    """Whether the arguments have the value at the path, whose names have dots between them. A value is the text that
    was typed, or where that is JSON, the same JSON. Arguments that were cut are a text, and have none."""
    found = _at(_decoded(recorded or "null"), path)
    if found is _MISSING:
        return False
    return bool(found == value) or (_canonical(found) or "") == _as_json(value)


def line(beginning: str | None) -> str | None:
    """Arguments in one line, `city=Oslo, days=3`; of long ones the beginning, as it is."""
    if beginning is None:
        return None
    members = _decoded(beginning)
    told = beginning
    if isinstance(members, dict):
        with suppress(RecursionError):
            told = ", ".join(f"{name}={_told(value)}" for name, value in members.items())
    told = " ".join(told[: 4 * _LONGEST_LINE].split())
    return told if len(told) <= _LONGEST_LINE else f"{told[: _LONGEST_LINE - 1]}…"


def with_lines(found: Found, limit: int | None, offset: int) -> Iterator[Row]:
    """Rows in which arguments are told in one line."""
    for row in found.rows(limit, offset):
        yield {**row, "arguments_line": line(row["arguments_line"])}


def _told(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _at(value: Any, path: str) -> Any:
    if not isinstance(value, dict):
        return _MISSING
    if path in value:
        return value[path]
    first, dot, rest = path.partition(".")
    return _at(value[first], rest) if dot and first in value else _MISSING


def _decoded(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return None


def _as_json(typed: str) -> str | None:
    """The JSON that was typed, in one form for all its spellings; None where it is none."""
    try:
        return _canonical(msgspec.json.decode(typed))
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return None


def _canonical(value: Any) -> str | None:
    try:
        return json.dumps(value, sort_keys=True)
    except RecursionError:
        return None
