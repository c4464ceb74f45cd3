"""The parts of a tool that are searched, and the weight of each."""

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

from msgspec import Struct

from mcpctl.base.models import Tool

MAX_DEPTH = 3
MAX_PARAMETERS = 256
MAX_VALUES = 64
"""How many enum values of one parameter are read."""
MAX_LEAD = 300
"""The most characters of a first sentence; some descriptions have no second one."""


class Field(Struct, frozen=True):
    """A part of a tool: a word in it counts `weight` times, less if the part is longer than that of other tools."""

    name: str
    weight: float
    length: float
    """The influence of the length, from 0 to 1: BM25's b."""


# Measured on several catalogs, on which neighbouring values do as well: a plateau, not a peak. A description's first
# sentence says what the tool does; the rest (usage, caveats, examples) is often the same for many tools.
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
    """The text of each of `FIELDS`, in their order. `notes` are those of a toolset, which the description repeats."""
    summary, rest = _split(tool.description.removesuffix(tool.notes))
    rows = list(islice(_parameters(tool.input_schema, MAX_DEPTH), MAX_PARAMETERS))
    names, descriptions, values = (" ".join(column) for column in zip(*rows, strict=True)) if rows else ("", "", "")
    return tool.name, tool.title or "", tool.server, summary, rest, notes, names, descriptions, values


_FIRST_SENTENCE = re.compile(r"\s*[^\n]*?(?:[.!?](?=\s)|。|\n|$)")


def _split(description: str) -> tuple[str, str]:
    """The first sentence, or the first line, and the rest."""
    match = _FIRST_SENTENCE.match(description[: 2 * MAX_LEAD])
    end = min(match.end() if match else MAX_LEAD, MAX_LEAD)
    return description[:end], description[end:]


def _parameters(schema: Any, depth: int) -> Iterator[tuple[str, str, str]]:
    """The name, description and enum values of a schema's parameters, those in objects and arrays included."""
    schema = _items(schema)
    if depth == 0 or not isinstance(schema, dict):
        return
    properties = schema.get("properties")
    for name, member in properties.items() if isinstance(properties, dict) else ():
        description = member.get("description") if isinstance(member, dict) else None
        yield str(name), description if isinstance(description, str) else "", _values(member)
        yield from _parameters(member, depth - 1)


def _values(member: Any) -> str:
    schema = _items(member)
    enum = schema.get("enum") if isinstance(schema, dict) else None
    values = enum[:MAX_VALUES] if isinstance(enum, list) else []
    return " ".join(value for value in values if isinstance(value, str))


def _items(schema: Any) -> Any:
    """The schema of an array's items, also of arrays in arrays; another schema as it is."""
    while isinstance(schema, dict) and isinstance(schema.get("items"), dict):
        schema = schema["items"]
    return schema
