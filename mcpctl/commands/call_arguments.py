"""The arguments of `tools call`."""

import json
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from mcpctl.base import files
from mcpctl.base.errors import NotFound, Unusable, WrongUsage
from mcpctl.base.files import read_stdin
from mcpctl.base.models import Tool
from mcpctl.base.tool_keys import split_typed
from mcpctl.jsonc import fault, fault_in_words
from mcpctl.wire import jsonrpc

_FILE = re.compile(r"@(?!@)(?=.)", re.DOTALL)  # a word that stands for the content of a file
Arguments = Callable[[Tool | None], bytes]
_LINE = 'give {"toolKey": "server:tool", "arguments": {}}, server:tool {…} or server:tool key=value'


def read(words: Sequence[str], tool: Tool | None) -> bytes:
    """The arguments' JSON: `{…}`, `-` from stdin, `@FILE`, else pairs typed by the tool's schema, whose values may be
    `@FILE`, too; raises `WrongUsage`, and what reading a file raises."""
    if sum(map(_reads_stdin, words)) > 1:
        raise WrongUsage("stdin is read twice, and is empty then", "give one argument from it, the others from files")
    first = words[0] if len(words) == 1 else ""
    if source := first.removeprefix("@") if first == "-" or _FILE.match(first) else "":
        return _json(_content(source), "stdin" if source == "-" else source)
    if first.lstrip().startswith("{"):
        return _json(first, "the argument")
    values: dict[str, bytes] = {}
    properties = tool.input_schema.get("properties") if tool else None
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise WrongUsage(f"'{word}' is not KEY=VALUE", "give JSON, - for JSON on stdin, or KEY=VALUE pairs")
        if name in values:
            raise WrongUsage(f"'{name}' is given twice, and only one value can count", f"give {name}=VALUE once")
        schema = properties.get(name) if isinstance(properties, Mapping) else None
        if _FILE.match(value):
            values[name] = _value_in_file(value[1:], name, schema)
        else:
            values[name] = _value(value[1:] if value.startswith("@@") else value, schema)
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
    if any(map(_reads_stdin, words)):
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


def _reads_stdin(word: str) -> bool:
    return word in ("-", "@-") or word.partition("=")[2] == "@-"


def _content(name: str, key: str = "") -> str:
    """The text of a file, or for `-` of stdin; `key` is the argument whose value it is."""
    if name == "-":
        return read_stdin()
    try:
        with Path(name).expanduser().open("rb") as file:  # it may be a pipe, such as <(command)
            content = file.read(files.MAX_BYTES + 1)
        if len(content) > files.MAX_BYTES:
            too_large = f"cannot read {name}: it is larger than {files.MAX_BYTES >> 20} MB"
            raise Unusable(too_large, "name another file", "file_unreadable")
        return content.decode().removeprefix(files.BOM)
    except (FileNotFoundError, NotADirectoryError, RuntimeError):  # the last is of ~name
        literal = f"; a value that begins with @ has it twice: {key}=@@{name}" if key else ""
        raise NotFound(f"there is no file {name}", f"check the name{literal}", "file_not_found") from None
    except OSError as error:
        raise Unusable(
            f"cannot read {name}: {error.strerror}", "name a file that can be read", "file_unreadable"
        ) from None
    except UnicodeDecodeError:
        hint = f"where the tool takes base64: base64 -w0 FILE | mcpctl tools call KEY {key or 'NAME'}=@-"
        raise Unusable(f"cannot read {name}: it is not UTF-8", hint, "file_unreadable") from None


def _value_in_file(name: str, key: str, schema: Any) -> bytes:
    """The JSON of a value in a file, as if it was written in the pair; what cannot be text must be JSON."""
    text = _content(name, key)
    kinds = _kinds(schema)
    if kinds and not kinds & {"string", "any"}:
        try:
            json.loads(text)
        except ValueError as error:
            where, hint = "stdin" if name == "-" else name, f"the tool takes {' or '.join(sorted(kinds))} as {key}"
            raise WrongUsage(f"{where} is not JSON: {fault_in_words(text, error)}", hint) from None
        except RecursionError:
            raise WrongUsage(f"{name} is nested too deeply to be read", "give JSON that is less deep") from None
    return _value(text, schema)


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
