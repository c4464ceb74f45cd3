"""What of a tool is searched, and how much each part of it counts."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from mcpctl.models import Tool

MAX_DEPTH = 3
MAX_PARAMETERS = 256
MAX_VALUES = 64
"""Enum values read of one parameter."""
MAX_LEAD = 300
"""Characters of a first sentence; some descriptions have no second one."""


@dataclass(frozen=True)
class Field:
    """A part of a tool: a word in it counts `weight` times, less the more the part is longer than that of others."""

    name: str
    weight: float
    length: float
    """How much the length matters, from 0 to 1: BM25's b."""


# Measured on several catalogs, where neighbouring values do as well: a plateau, not a peak. A description's first
# sentence says what the tool does; what follows (usage, caveats, examples) is often shared by many tools.
FIELDS = (
    Field("name", 3.0, 0.5),
    Field("title", 2.0, 0.5),
    Field("server", 1.5, 0.5),
    Field("summary", 1.0, 0.75),
    Field("description", 0.5, 0.75),
    Field("notes", 1.0, 0.75),
    Field("parameters", 0.7, 0.75),
    Field("parameter descriptions", 0.5, 0.75),
    Field("values", 0.7, 0.75),
)


def texts(tool: Tool, notes: str = "") -> tuple[str, ...]:
    """The text of each of `FIELDS`, in their order; notes are what people wrote about the tool, counted once."""
    summary, rest = _parted(tool.description.removesuffix(tool.notes))
    found = [each for each, _ in zip(_parameters(tool.input_schema, MAX_DEPTH), range(MAX_PARAMETERS), strict=False)]
    names, told, values = (" ".join(column) for column in zip(*found, strict=True)) if found else ("", "", "")
    return tool.name, tool.title or "", tool.server, summary, rest, notes, names, told, values


_FIRST = re.compile(r"\s*[^\n]*?(?:[.!?](?=\s)|。|\n|$)")


def _parted(description: str) -> tuple[str, str]:
    """The first sentence, or the first line, and what follows it."""
    match = _FIRST.match(description[: 2 * MAX_LEAD])
    end = min(match.end() if match else MAX_LEAD, MAX_LEAD)
    return description[:end], description[end:]


def _parameters(schema: Any, depth: int) -> Iterator[tuple[str, str, str]]:
    """The name, description and enum values of a schema's parameters, those of objects and of items included."""
    schema = _items(schema)
    if depth == 0 or not isinstance(schema, dict):
        return
    properties = schema.get("properties")
    for name, member in properties.items() if isinstance(properties, dict) else ():
        told = member.get("description") if isinstance(member, dict) else None
        yield str(name), told if isinstance(told, str) else "", _values(member)
        yield from _parameters(member, depth - 1)


def _values(member: Any) -> str:
    one = _items(member)
    values = one.get("enum") if isinstance(one, dict) else None
    named = values[:MAX_VALUES] if isinstance(values, list) else []
    return " ".join(value for value in named if isinstance(value, str))


def _items(schema: Any) -> Any:
    """What an array has, however deep it is."""
    while isinstance(schema, dict) and isinstance(schema.get("items"), dict):
        schema = schema["items"]
    return schema
