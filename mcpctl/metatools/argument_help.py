"""Mismatches of a call's arguments with its tool's schema, for a model whose call the tool has refused.

The schema is the server's and may be anything, so that checking is bounded in size, depth and time.
"""

import asyncio
import json
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

from mcpctl.base.failure import Failure
from mcpctl.base.models import Tool
from mcpctl.base.tool_keys import is_plain
from mcpctl.catalog import model_texts
from mcpctl.store.recordable import Json
from mcpctl.wire.threads import WorkQueue

if TYPE_CHECKING:
    from jsonschema import ValidationError

_MAX_CHECKED = 64 * 1024
_MAX_SCHEMA = 64 * 1024
_MAX_DEPTH = 20
_MAX_S = 0.5  # the longest that a check may take: references that double take exponential time
_UNSAFE = frozenset(("pattern", "patternProperties", "format", "$schema", "$id", "$dynamicRef", "uniqueItems"))
_NAMED = frozenset(("properties", "$defs", "definitions", "dependentSchemas"))
_VALUES = frozenset(("enum", "const", "default", "examples", "required"))
_OF_MODEL = frozenset((  # keywords whose mismatch the validator words with arguments, numbers and types alone
    "additionalProperties", "type", "minLength", "maxLength", "minimum", "maximum", "exclusiveMinimum",
    "exclusiveMaximum", "multipleOf", "minItems", "maxItems", "minProperties", "maxProperties", "anyOf",
))  # fmt: skip
_KEYWORDS = frozenset(("enum", "const", "oneOf", "not", "contains", "dependentRequired", "propertyNames"))
_REQUIRED = " is a required property"
_HELP_WAIT_S = 1.0
_DEFINED = "#/$defs/"
_helping = WorkQueue()


def give(
    tool: Tool, arguments: bytes, answer: Json, add: Callable[[bytes, str], Json], then: Callable[[Any], None]
) -> None:
    """Give `then` a refusal with help added, made aside; it waits only a moment, since schemas may take long."""

    def helped() -> Json:
        text = help_with(tool, arguments)
        return add(bytes(answer), text) if text else answer

    loop = asyncio.get_running_loop()
    checked = _helping.do(helped)
    too_late = loop.call_later(_HELP_WAIT_S, checked.cancel)

    def done(check: "asyncio.Future[Json]") -> None:
        too_late.cancel()
        # Without help its own answer, as it came, still stands.
        then(answer if check.cancelled() or check.exception() else check.result())

    checked.add_done_callback(done)


def about(failure: Failure, tool: Tool) -> Failure:
    """A refusal of arguments with its tool, and with how an argument is given that is a property of the tool's body."""
    name, schema = failure.facts.get("argument"), tool.input_schema
    body = schema.get("properties", {}).get("body")
    if isinstance(body, dict) and str(body.get("$ref", "")).startswith(_DEFINED):
        body = schema.get("$defs", {}).get(body["$ref"].removeprefix(_DEFINED))
    properties = body.get("properties") if isinstance(body, dict) else None
    in_body = {"in_body": name} if isinstance(properties, dict) and name in properties else {}
    return failure.about(key=tool.key, **in_body)


def help_with(tool: Tool, arguments: bytes) -> str:
    lines = mismatches(tool, arguments)
    if not lines:
        return ""
    schema = json.dumps(model_texts.of(tool).input_schema, ensure_ascii=False)
    listed = "\n".join(f"- {line}" for line in lines)
    name = tool.key if is_plain(tool.key) else "its tool"
    return f"mcpctl: these arguments do not match the schema of {name}:\n{listed}\nIts inputSchema: {schema}"


def mismatches(tool: Tool, arguments: bytes) -> list[str]:
    """Where arguments do not match the schema, as far as it can be told."""
    if len(arguments) > _MAX_CHECKED or len(tool.text) > _MAX_SCHEMA or not tool.input_schema:
        return []
    try:
        return _mismatches(tool, msgspec.json.decode(arguments or b"{}"))
    except Exception:
        return []  # the schema is the server's and may be anything; without help its own answer still stands


def _mismatches(tool: Tool, arguments: Any) -> list[str]:
    from jsonschema import Draft202012Validator
    from jsonschema.validators import extend

    last = time.monotonic() + _MAX_S
    checks = {name: _until(last, check) for name, check in Draft202012Validator.VALIDATORS.items()}
    kind: type[Draft202012Validator] = extend(Draft202012Validator, checks)  # type: ignore[no-untyped-call]
    validator = kind(_bounded(tool.input_schema))
    lines = []
    for error in validator.iter_errors(arguments):
        where = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error.absolute_path)
        lines.append(f"{where.lstrip('.') or 'arguments'}: {_said(error)}"[:300])
        if len(lines) == 5:
            break
    return sorted(lines)


def _said(error: "ValidationError") -> str:
    """The mismatch in words that no schema chooses: its own stands below them as a whole."""
    keyword = str(error.validator)
    if keyword in _OF_MODEL:
        return error.message
    if keyword == "required":
        # The validator tells them one by one: the name is the first word of its message.
        name = error.message.removesuffix(_REQUIRED)
        return error.message if is_plain(name.strip("'")) else f"what the schema names{_REQUIRED}"
    return f"it does not match {keyword if keyword in _KEYWORDS else 'the schema'}"


def _until(last: float, check: Callable[..., Any]) -> Callable[..., Any]:
    def checked(*given: Any) -> Any:
        if time.monotonic() > last:
            raise TimeoutError
        return check(*given)

    return checked


def _bounded(schema: Any, depth: int = 0) -> Any:
    """The schema without what could make checking slow or reach outside: patterns, foreign references, great depth."""
    if depth > _MAX_DEPTH:
        return True
    if isinstance(schema, list):
        return [_bounded(item, depth + 1) for item in schema]
    if not isinstance(schema, dict):
        return schema
    kept: dict[str, Any] = {}
    for name, value in schema.items():
        if name in _UNSAFE or (name == "$ref" and not str(value).startswith("#")):
            continue
        if name in _NAMED and isinstance(value, dict):
            kept[name] = {key: _bounded(item, depth + 1) for key, item in value.items()}
        else:
            kept[name] = value if name in _VALUES else _bounded(value, depth + 1)
    return kept
