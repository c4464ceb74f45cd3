"""A tool's parameters in one line, from a schema that may hold anything."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from mcpctl.base.models import Tool
from mcpctl.base.texts import printable

MAX_DEPTH = 5
MAX_CHOICES = 5
MAX_PARTS = 8
MAX_SCHEMAS = 200  # the most schemas that are looked at for one parameter's type: a small one can fan out without end
MAX_VALUES = 32  # the most choices that are looked at: more than are shown, since some may be the same
MAX_REF = 1000
MAX_NAME = 64
MAX_VALUE = 24

_NAMES = {"string": "str", "integer": "int", "number": "num", "boolean": "bool", "object": "{…}", "null": "null"}
_PLAIN = re.compile(r"[\w./@$+-]([\w./@$+ -]*[\w./@$+-])?…?")
_LIKE_JSON = re.compile(r"-?\d.*|true|false|null")

Schema = Mapping[str, Any]


class _Root:
    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.left = MAX_SCHEMAS


class ToolParameter(NamedTuple):
    name: str
    type: str
    is_required: bool
    default: str  # empty where there is none
    description: str


def signature(tool: Tool, limit: int = 400) -> str:
    """The parameters as `(owner*: str, state: open|closed = open, …)`, required ones first, in `limit` characters."""
    root = tool.input_schema
    line = ""
    for parameter in _parameters(root):
        longer = f"{line}, {parameter}" if line else parameter
        if len(longer) + len("(, …)") > limit:
            return f"({line}, …)" if line else "(…)"
        line = longer
    return f"({line})"


def _parameters(root: Schema) -> Iterator[str]:
    for parameter in parameters(root):
        required, default = "*" if parameter.is_required else "", f" = {parameter.default}" if parameter.default else ""
        yield f"{parameter.name}{required}: {parameter.type}{default}"
    if any(part.get(word) for part in _parts(root) for word in ("anyOf", "oneOf")):
        yield "…"


def parameters(root: Schema) -> Iterator[ToolParameter]:
    """Required ones in the order of the properties, required ones without a property, the rest."""
    parts = _parts(root)
    properties: dict[Any, Any] = {}
    for part in parts:
        properties |= {name: member for name, member in _dict(part.get("properties")).items() if name not in properties}
    named = (name for part in parts for name in _list(part.get("required")) if isinstance(name, str))
    required = dict.fromkeys(named)
    for name in [name for name in properties if name in required]:
        yield _parameter(name, properties[name], root, required=True)
    for name in [name for name in required if name not in properties]:
        yield _parameter(name, None, root, required=True)
    for name in [name for name in properties if name not in required]:
        yield _parameter(name, properties[name], root, required=False)


def _parts(root: Schema) -> list[Schema]:
    parts = [root]
    for part in parts:
        for other in (_target(part, root), *_list(part.get("allOf"))[:MAX_PARTS]):
            if isinstance(other, dict) and len(parts) < MAX_PARTS and not any(other is known for known in parts):
                parts.append(other)
    return parts


def _parameter(name: Any, schema: Any, root: Schema, *, required: bool) -> ToolParameter:
    types = _alternatives(schema, _Root(root), MAX_DEPTH)
    if not required:
        # Who may leave it out need not know that null is the same.
        types = [written for written in types if written != "null"] or types
    default, described = _dict(schema).get("default"), _dict(schema).get("description")
    return ToolParameter(
        _plain(_clipped(str(name), MAX_NAME)), _union(types), required, "" if default is None else _value(default),
        described if isinstance(described, str) else "",
    )  # fmt: skip


def _union(types: list[str]) -> str:
    if "any" in types:
        return "any"
    return "|".join([*types[:MAX_CHOICES], "…"] if len(types) > MAX_CHOICES else types)


def _alternatives(schema: Any, root: _Root, depth: int) -> list[str]:
    types: dict[str, None] = {}
    root.left -= 1
    if isinstance(schema, dict) and depth and root.left >= 0:
        for written in _own(schema, root, depth):
            types[written] = None
            if written == "any" or len(types) > MAX_CHOICES:
                break
        if schema.get("nullable") is True:
            types["null"] = None
    return list(types) or ["any"]


def _own(schema: Schema, root: _Root, depth: int) -> Iterator[str]:
    if "const" in schema:
        yield _value(schema["const"])
    elif choices := _list(schema.get("enum")):
        yield from (_value(choice) for choice in choices[:MAX_VALUES])
    elif schema.get("type"):
        yield from _typed(schema, root, depth)
    elif members := _list(schema.get("anyOf")) or _list(schema.get("oneOf")):
        for member in members:
            yield from _alternatives(member, root, depth - 1)
    elif "$ref" in schema:
        yield from _alternatives(_target(schema, root.schema), root, depth - 1)
    else:
        yield from _whole(schema, root, depth)


def _whole(schema: Schema, root: _Root, depth: int) -> list[str]:
    """The first type that a part of `allOf` declares, else the type that the schema's members imply."""
    for member in _list(schema.get("allOf"))[:MAX_PARTS]:
        if (types := _alternatives(member, root, depth - 1)) != ["any"]:
            return types
    if "items" in schema:
        return [_array(schema, root, depth)]
    return ["{…}" if "properties" in schema else "any"]


def _typed(schema: Schema, root: _Root, depth: int) -> Iterator[str]:
    declared = schema["type"]
    for kind in declared[: len(_NAMES) + 1] if isinstance(declared, list) else [declared]:
        if kind == "array":
            yield _array(schema, root, depth)
        else:
            yield _NAMES.get(kind, "any") if isinstance(kind, str) else "any"


def _array(schema: Schema, root: _Root, depth: int) -> str:
    return f"[{_union(_alternatives(schema.get('items'), root, depth - 1))}]"


def _target(schema: Schema, root: Schema) -> Any:
    ref = schema.get("$ref")
    if not isinstance(ref, str) or not ref.startswith("#") or len(ref) > MAX_REF:
        return None
    target: Any = root
    for step in ref.split("/")[1:]:
        target = _dict(target).get(step.replace("~1", "/").replace("~0", "~"))
    return target


def _value(value: Any) -> str:
    """A choice or default as it would be sent, quoted where it could be read as something else."""
    if isinstance(value, str):
        text = _clipped(value, MAX_VALUE)
        return _quoted(text) if _LIKE_JSON.fullmatch(text) else _plain(text)
    if isinstance(value, dict | list) and value:
        return "{…}" if isinstance(value, dict) else "[…]"
    if isinstance(value, int) and value.bit_length() > 64:
        return "…"  # Python refuses to write integers of thousands of digits
    return _clipped(json.dumps(value, default=repr), MAX_VALUE)


def _plain(text: str) -> str:
    return text if _PLAIN.fullmatch(text) else _quoted(text)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _clipped(text: str, size: int) -> str:
    return printable(text if len(text) <= size else text[: size - 1] + "…")


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _dict(value: Any) -> dict[Any, Any]:
    return value if isinstance(value, dict) else {}
