"""What `tools call` is given as arguments."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from mcpctl.errors import WrongUsage
from mcpctl.files import read_stdin
from mcpctl.models import Tool
from mcpctl.proxy import jsonrpc


def read(words: Sequence[str], tool: Tool | None) -> bytes:
    """The arguments' JSON: `{…}` as it stands, `-` from stdin, else `key=value` pairs; raises `WrongUsage`.

    What the values of pairs are, the schema of the tool decides, where the tool is known.
    """
    if list(words) == ["-"]:
        return _json(read_stdin(), "stdin")
    if len(words) == 1 and words[0].lstrip().startswith("{"):
        return _json(words[0], "the argument")
    given: dict[str, bytes] = {}
    properties = tool.input_schema.get("properties") if tool else None
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise WrongUsage(f"'{word}' is no KEY=VALUE", "give JSON, - for JSON on stdin, or KEY=VALUE pairs")
        if name in given:
            raise WrongUsage(f"'{name}' is given twice, and only one value can count", f"give {name}=VALUE once")
        schema = properties.get(name) if isinstance(properties, Mapping) else None
        given[name] = _value(value, schema)
    return jsonrpc.object_of(given)


def _value(text: str, schema: Any) -> bytes:
    """What a pair's value is: text where the schema takes nothing else, else JSON if it is some, else text."""
    kinds = _kinds(schema)
    if "string" not in kinds or kinds - {"string", "null"}:
        try:
            msgspec.json.decode(text)
            return _one_line(text)
        except (msgspec.DecodeError, RecursionError):
            pass
    return msgspec.json.encode(text)


def _kinds(schema: Any) -> set[Any]:
    """The JSON types that a parameter's schema names, in itself or in its alternatives."""
    if not isinstance(schema, Mapping):
        return set()
    named = schema.get("type")
    kinds = {kind for kind in (named if isinstance(named, list) else [named]) if isinstance(kind, str)}
    for alternatives in (schema.get("anyOf"), schema.get("oneOf")):
        for each in alternatives if isinstance(alternatives, list) else ():
            kinds |= _kinds(each) or {"any"}
    return kinds


def _json(text: str, where: str) -> bytes:
    try:
        found = json.loads(text)
    except ValueError as error:
        raise WrongUsage(f"{where} is no JSON: {error}", "give one JSON object") from None
    except RecursionError:
        raise WrongUsage(f"{where} is nested too deeply to be read", "give one JSON object that is not") from None
    if not isinstance(found, dict):
        raise WrongUsage(f"{where} is no JSON object", 'give one, such as {"city": "Oslo"}')
    return _one_line(text.strip())


def _one_line(text: str) -> bytes:
    # JSON-RPC on stdio is one line a message; no JSON string has a line break in it, though it may have U+2028.
    return text.replace("\r", " ").replace("\n", " ").encode()
