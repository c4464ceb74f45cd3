"""Oddities of the tools that a server lists: they are kept and callable, but clients and models may stumble. The rules
are those of the MCP schema's `Tool`, read as a client would."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from mcpctl.base.models import HINTS

_NAMED = 3
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,128}\Z")


def oddities(definitions: Sequence[bytes]) -> list[str]:
    """One sentence for each oddity, by tool name, in the order of the list."""
    sentences: list[str] = []
    seen: set[str] = set()
    bare: list[str] = []
    for number, text in enumerate(definitions, 1):
        try:
            definition = msgspec.json.decode(text)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            sentences.append(f"tool no. {number} is not strict JSON")
            continue
        name = definition.get("name") if isinstance(definition, dict) else None
        if not isinstance(name, str) or not name.strip():
            sentences.append(f"tool no. {number} has no usable name: it is left out")
        elif name in seen:
            sentences.append(f"tool '{name}' is listed twice: the second is left out")
        else:
            seen.add(name)
            sentences += (f"tool '{name}': {what}" for what in _of(name, definition))
            bare += [] if definition.get("description") else [name]
    if bare:
        rest = f" and {len(bare) - _NAMED} more" if len(bare) > _NAMED else ""
        sentences.append(f"no description, so that only the name can be found: {', '.join(bare[:_NAMED])}{rest}")
    return sentences


def _of(name: str, definition: Mapping[str, Any]) -> Iterator[str]:
    if not _NAME.match(name):
        yield "its name has characters, or a length, that clients may refuse"
    for member in ("title", "description"):
        if not isinstance(definition.get(member), str | None):
            yield f"its {member} is not a text"
    yield from _schema("inputSchema", definition.get("inputSchema"))
    if definition.get("outputSchema") is not None:
        yield from _schema("outputSchema", definition["outputSchema"])
    yield from _annotations(definition.get("annotations"))


def _schema(member: str, schema: Any) -> Iterator[str]:
    if not isinstance(schema, dict):
        yield f"its {member} is {'missing' if schema is None else 'not an object'}"
        return
    if schema.get("type") != "object":
        yield f"its {member} is not of type object"
        return
    import jsonschema

    try:
        jsonschema.Draft202012Validator.check_schema(schema)
    except jsonschema.SchemaError as error:
        yield f"its {member} is not a JSON Schema: {error.json_path}: {error.message[:100]}"
    except RecursionError:
        yield f"its {member} is too deep"


def _annotations(annotations: Any) -> Iterator[str]:
    if annotations is None:
        return
    if not isinstance(annotations, dict):
        yield "its annotations are not an object"
        return
    for hint in HINTS:
        if not isinstance(annotations.get(hint), bool | None):
            yield f"its {hint} is neither true nor false: it counts as not declared"
    if annotations.get("readOnlyHint") is True and annotations.get("destructiveHint") is True:
        yield "it declares readOnlyHint and destructiveHint, which contradict each other"
