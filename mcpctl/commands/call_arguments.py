"""The arguments of `tools call`."""

import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from mcpctl.base.errors import WrongUsage
from mcpctl.base.files import read_stdin
from mcpctl.base.models import Tool
from mcpctl.base.tool_keys import split_typed
from mcpctl.jsonc import fault, fault_in_words
from mcpctl.wire import jsonrpc

Arguments = Callable[[Tool | None], bytes]
_LINE = 'give {"toolKey": "server:tool", "arguments": {}}, server:tool {…} or server:tool key=value'


def read(words: Sequence[str], tool: Tool | None) -> bytes:
    """The arguments' JSON: `{…}`, `-` from stdin, else pairs typed by the tool's schema; raises `WrongUsage`."""
    if list(words) == ["-"]:
        return _json(read_stdin(), "stdin")
    if len(words) == 1 and words[0].lstrip().startswith("{"):
        return _json(words[0], "the argument")
    values: dict[str, bytes] = {}
    properties = tool.input_schema.get("properties") if tool else None
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise WrongUsage(f"'{word}' is not KEY=VALUE", "give JSON, - for JSON on stdin, or KEY=VALUE pairs")
        if name in values:
            raise WrongUsage(f"'{name}' is given twice, and only one value can count", f"give {name}=VALUE once")
        schema = properties.get(name) if isinstance(properties, Mapping) else None
        values[name] = _value(value, schema)
    return jsonrpc.object_of(values)


def texts(words: Sequence[str]) -> bytes:
    """The arguments' JSON as `read` gives it, where every value of a pair is a text: those of a prompt."""
    schema = {"properties": {word.partition("=")[0]: {"type": "string"} for word in words}}
    return read(words, Tool("", "", {"inputSchema": schema}, "{}"))


def parse_line(line: bytes) -> tuple[str, str, Arguments]:
    """The server, the tool and the arguments of a line; raises `WrongUsage`, as giving the arguments may. It is
    `{"toolKey": …, "arguments": {…}}`, or words: `server:tool key=value …`, where JSON needs no quotes."""
    if line.startswith(b"{"):
        return _parse_json(line)
    try:
        text = line.decode()
        parts = text.split(maxsplit=1)
        key, *words = parts if parts[1:] and parts[1].startswith("{") else shlex.split(text)
    except ValueError as error:  # of UTF-8 too
        raise WrongUsage(f"the line cannot be read: {error}", _LINE, "bad_line") from None
    if words == ["-"]:
        raise WrongUsage("stdin has the calls, so it cannot have arguments", _LINE, "bad_line")
    return *split_typed(key), partial(read, words)


def _parse_json(line: bytes) -> tuple[str, str, Arguments]:
    try:
        members = jsonrpc.members(line)
        key = jsonrpc.value(members.pop("toolKey", b"null"), str)
    except jsonrpc.Malformed as error:
        found = fault(line.decode(errors="replace"))
        raise WrongUsage(f"the line is not a call: {found.message if found else error}", _LINE, "bad_line") from None
    arguments = members.pop("arguments", b"{}")
    if members or not arguments.startswith(b"{"):
        what = f"'{next(iter(members))}' is unknown" if members else "arguments is not an object"
        raise WrongUsage(f"the line is not a call: {what}", _LINE, "bad_line")
    return *split_typed(key), lambda _: arguments


def _value(text: str, schema: Any) -> bytes:
    """The JSON of a pair's value: text if the schema takes nothing else, else the value itself if it is JSON."""
    kinds = _kinds(schema)
    if "string" not in kinds or kinds - {"string", "null"}:
        try:
            msgspec.json.decode(text)
            return _one_line(text)
        except (msgspec.DecodeError, RecursionError):
            pass
    return msgspec.json.encode(text)


def _kinds(schema: Any) -> set[Any]:
    if not isinstance(schema, Mapping):
        return set()
    types = schema.get("type")
    kinds = {kind for kind in (types if isinstance(types, list) else [types]) if isinstance(kind, str)}
    for alternatives in (schema.get("anyOf"), schema.get("oneOf")):
        for alternative in alternatives if isinstance(alternatives, list) else ():
            kinds |= _kinds(alternative) or {"any"}
    return kinds


def _json(text: str, where: str) -> bytes:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise WrongUsage(f"{where} is not JSON: {fault_in_words(text, error)}", "give one JSON object") from None
    except RecursionError:
        raise WrongUsage(f"{where} is nested too deeply to be read", "give a JSON object that is less deep") from None
    if not isinstance(value, dict):
        raise WrongUsage(f"{where} is not a JSON object", 'give one, such as {"city": "Oslo"}')
    return _one_line(text.strip())


def _one_line(text: str) -> bytes:
    # JSON-RPC on stdio has one message a line. A line break in JSON is never in a string, but U+2028 may be.
    return text.replace("\r", " ").replace("\n", " ").encode()
