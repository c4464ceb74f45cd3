"""A server's texts on its tools as a model is told them: nothing hidden, and nothing that passes for a team's notes.
Names, enums, constants and defaults stay as they are, since they are sent back; `tools show` has all of it raw."""

import re
from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary

from msgspec import Struct

from mcpctl.base.models import Tool
from mcpctl.base.texts import visible

_ESCAPES = ("\\u", "\\r", "\\b", "\\f")  # how JSON escapes hidden characters
FAKED = re.compile(r"additional[\W_]{1,20}tool[\W_]{1,20}notes", re.IGNORECASE)  # the heading of a team's notes
NAMED = frozenset(("properties", "patternProperties", "$defs", "definitions", "dependentSchemas"))  # schemas by name
EXACT = frozenset((  # members of a schema that are not texts to read
    "enum", "const", "default", "examples", "required", "dependentRequired", "type", "pattern", "propertyName",
    "$ref", "$id", "$schema", "$anchor", "$dynamicRef", "$dynamicAnchor",
))  # fmt: skip
_DEEPEST = 64  # schemas in schemas; deeper ones are left out where they may hide something


class ToldTexts(Struct, frozen=True):
    title: str | None
    description: str  # with the notes of a toolset, which stay as they are
    input_schema: Mapping[str, Any]
    output_schema: Mapping[str, Any] | None


_told: WeakKeyDictionary[Tool, ToldTexts] = WeakKeyDictionary()


def of(tool: Tool) -> ToldTexts:
    """The texts of a tool, made once, since searches find it again and again."""
    texts = _told.get(tool)
    if texts is None:
        texts = _told[tool] = _made(tool)
    return texts


def _made(tool: Tool) -> ToldTexts:
    own = visible(tool.description.removesuffix(tool.notes) if tool.notes else tool.description)
    described = FAKED.sub(f"notes of server '{tool.server}'", own) + tool.notes
    output = tool.definition.get("outputSchema")
    schemas = tool.input_schema, output if isinstance(output, dict) else None
    # Most definitions cannot have a hidden character.
    if not tool.text.isprintable() or any(escape in tool.text for escape in _ESCAPES):
        schemas = _cleaned(schemas[0]), _cleaned(schemas[1]) if schemas[1] else schemas[1]
    return ToldTexts(visible(tool.title) if tool.title else None, described, *schemas)


def _cleaned(schema: Mapping[str, Any], depth: int = 0) -> dict[str, Any]:
    if depth > _DEEPEST:
        return {}
    cleaned: dict[str, Any] = {}
    for name, value in schema.items():
        if name in NAMED and isinstance(value, Mapping):
            cleaned[name] = {key: _member(item, depth + 1) for key, item in value.items()}
        else:
            cleaned[name] = value if name in EXACT else _member(value, depth + 1)
    return cleaned


def _member(value: Any, depth: int) -> Any:
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, list):
        return [_member(item, depth + 1) for item in value] if depth <= _DEEPEST else []
    return _cleaned(value, depth) if isinstance(value, dict) else value


def cut(text: str, longest: int) -> str:
    """As many of the first words as fit `longest` characters, with an `…` where the text is cut."""
    if len(text) <= longest:
        return text
    return text[: longest - 1].rsplit(" ", 1)[0].rstrip() + "…"


_SUPERFLUOUS = frozenset(("$schema", "$comment", "title", "examples", "example"))  # members that tell nothing
_NAMED = NAMED | {"dependencies", "mapping"}  # members with names of their own, also in older drafts and OpenAPI


def shortened(schema: Mapping[str, Any], longest: int) -> dict[str, Any]:
    """The schema with the same names, types, choices and limits; long descriptions end in `…`."""
    return _shortened(schema, longest, 0)


def _shortened(schema: Mapping[str, Any], longest: int, depth: int) -> dict[str, Any]:
    short: dict[str, Any] = {}
    for name, value in schema.items():
        if name in _NAMED and isinstance(value, Mapping):
            short[name] = {key: _shortened_member(item, longest, depth + 1) for key, item in value.items()}
        elif name == "description" and isinstance(value, str):
            short[name] = cut(value, longest)
        elif name in EXACT - _SUPERFLUOUS:
            short[name] = value
        elif not (name in _SUPERFLUOUS or (name == "additionalProperties" and value is False)):
            short[name] = _shortened_member(value, longest, depth + 1)
    return short


def _shortened_member(value: Any, longest: int, depth: int) -> Any:
    if depth > _DEEPEST:
        return value
    if isinstance(value, list):
        return [_shortened_member(item, longest, depth + 1) for item in value]
    return _shortened(value, longest, depth) if isinstance(value, dict) else value
