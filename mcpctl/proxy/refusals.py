"""What a model is told when a call is refused, by us or by the upstream, so that its next try is right."""

import json
import re
import time
from collections.abc import Callable
from typing import Any

import msgspec

from mcpctl.catalog.cache import Catalog
from mcpctl.models import Tool
from mcpctl.proxy import metatools, translate
from mcpctl.proxy.connection import Caller

_PLAIN_KEY = re.compile(r"[A-Za-z0-9_-]{1,64}(?::[A-Za-z0-9_./-]{1,128})?")
"""Server names are ours; tool names have this form by the specification (2025-11-25, Tool Names)."""
_MAX_CHECKED = 64 * 1024
_MAX_SCHEMA = 64 * 1024
_MAX_DEPTH = 20
_MAX_S = 0.5
"""The longest that a check may take: references that double take time exponential in their number, or in depth."""
_UNSAFE = frozenset(("pattern", "patternProperties", "format", "$schema", "$id", "$dynamicRef", "uniqueItems"))
_NAMED = frozenset(("properties", "$defs", "definitions", "dependentSchemas"))
_VALUES = frozenset(("enum", "const", "default", "examples", "required"))


def result(message: str, caller: Caller) -> bytes:
    """A tool result that says why there is none."""
    content = [{"type": "text", "text": f"mcpctl: {message}"}]
    return own(msgspec.json.encode({"content": content, "isError": True}), caller)


def no_results(message: str, caller: Caller) -> bytes:
    """The answer of a search that could not be understood."""
    found = {"results": [], "notice": message}
    content = [{"type": "text", "text": f"mcpctl: {message}"}]
    return own(msgspec.json.encode({"content": content, "structuredContent": found, "isError": True}), caller)


def own(result: bytes, caller: Caller) -> bytes:
    """A result of mcpctl's own as the caller's revision has it."""
    return translate.stamped(result, caller, metatools.SERVER_INFO)


def unknown(key: str, catalog: Catalog) -> str:
    """That there is no such tool, and which are near; nothing is ever executed in its place."""
    near = _near(key, catalog)
    servers = ", ".join(list(catalog.config.enabled)[:50]) or "none"
    suggestion = f"did you mean {' or '.join(near)}? " if near else ""
    told = f"there is no {named(key)}: {suggestion}"
    return f"{told}Keys are server:tool; servers: {servers}. Search with tool_discovery"


def not_in_toolset(key: str, tool: Tool | None, catalog: Catalog) -> str:
    """That the toolset in force does not have this tool; where there is no such tool, which ones it has are near."""
    toolset = catalog.toolset
    assert toolset
    near = [] if tool else _near(key, catalog)
    suggestion = f"; did you mean {' or '.join(near)}?" if near else ""
    trouble = f" ({toolset.problem})" if toolset.problem else ""
    told = f"{named(key)} is not in the toolset '{toolset.name}', whose tools alone may be called now{trouble}"
    return f"{told}{suggestion or '; do not retry it'}"


def named(key: str) -> str:
    """The tool of this key, in a sentence of ours: a name that is a sentence itself is left out of it."""
    return f"tool '{key}'" if is_plain(key) else "such tool"


def is_plain(key: str) -> bool:
    """Whether a key has a name of the protocol's grammar, so that it cannot say anything in a sentence of ours."""
    return _PLAIN_KEY.fullmatch(key) is not None


def _near(key: str, catalog: Catalog) -> list[str]:
    from mcpctl.near_names import nearest

    return nearest(key[:256], filter(is_plain, catalog.keys()))


def help_with(tool: Tool, arguments: bytes) -> str:
    """What in `arguments` does not match the tool's schema, and the schema; empty when all of it matches."""
    if len(arguments) > _MAX_CHECKED or len(tool.text) > _MAX_SCHEMA or not tool.input_schema:
        return ""
    try:
        wrong = _mismatches(tool, msgspec.json.decode(arguments or b"{}"))
    except Exception:
        # The schema is the server's and may be anything; without help its own answer still stands.
        return ""
    if not wrong:
        return ""
    schema = json.dumps(tool.input_schema, ensure_ascii=False)
    found = "\n".join(f"- {line}" for line in wrong)
    return f"mcpctl: these arguments do not match the schema of {tool.key}:\n{found}\nIts inputSchema: {schema}"


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
        lines.append(f"{where.lstrip('.') or 'arguments'}: {error.message}"[:300])
        if len(lines) == 5:
            break
    return sorted(lines)


def _until(last: float, check: Callable[..., Any]) -> Callable[..., Any]:
    """A keyword's check that gives up once it is too late."""

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
