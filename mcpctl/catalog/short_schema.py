"""A tool's schema without what a call can do without, for answers in which the whole one has no room."""

from collections.abc import Mapping
from typing import Any

from mcpctl.catalog.told_texts import EXACT, NAMED, cut

_SUPERFLUOUS = frozenset(("$schema", "$comment", "title", "examples", "example"))
"""What says nothing that names, types and descriptions do not say."""
_NAMED = NAMED | {"dependencies", "mapping"}
"""Members with names of their own, as the older drafts and OpenAPI have them, too."""
_DEEPEST = 64
"""Schemas in schemas; what is nested deeper stays as it is."""


def shortened(schema: Mapping[str, Any], longest: int) -> dict[str, Any]:
    """The schema with the same names, types, choices and limits; descriptions of more than `longest` characters end
    in `…`."""
    return _schema(schema, longest, 0)


def _schema(schema: Mapping[str, Any], longest: int, depth: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in schema.items():
        if name in _NAMED and isinstance(value, Mapping):
            found[name] = {key: _member(item, longest, depth + 1) for key, item in value.items()}
        elif name == "description" and isinstance(value, str):
            found[name] = cut(value, longest)
        elif name in EXACT - _SUPERFLUOUS:
            found[name] = value
        elif not (name in _SUPERFLUOUS or (name == "additionalProperties" and value is False)):
            found[name] = _member(value, longest, depth + 1)
    return found


def _member(value: Any, longest: int, depth: int) -> Any:
    if depth > _DEEPEST:
        return value
    if isinstance(value, list):
        return [_member(item, longest, depth + 1) for item in value]
    return _schema(value, longest, depth) if isinstance(value, dict) else value
