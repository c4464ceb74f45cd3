"""JSON-RPC 2.0 messages as bytes: only the envelope is decoded, what it carries is passed on as it came.

https://www.jsonrpc.org/specification, and the envelope of MCP 2026-07-28 in a request's `_meta`.
"""

import codecs
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Raw

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, INTERNAL_ERROR = -32700, -32600, -32601, -32602, -32603
UNSUPPORTED_VERSION = -32022

LEGACY_REVISIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""The revisions an `initialize` handshake agrees on, oldest first."""
MODERN_REVISION = "2026-07-28"
"""The revision whose requests each carry their own envelope; there is no handshake."""

VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CLIENT_INFO_KEY = "io.modelcontextprotocol/clientInfo"
CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
LOG_LEVEL_KEY = "io.modelcontextprotocol/logLevel"
SERVER_INFO_KEY = "io.modelcontextprotocol/serverInfo"

ABSENT = Raw(b"")


class Message(msgspec.Struct):
    """One message's envelope. A member that is absent is empty bytes; `null` is `null`."""

    id: Raw = ABSENT
    method: str | None = None
    params: Raw = ABSENT
    result: Raw = ABSENT
    error: Raw = ABSENT


class Malformed(ValueError):
    """A line that is no JSON-RPC message."""


_message: msgspec.json.Decoder[Message] = msgspec.json.Decoder(Message)
_members: msgspec.json.Decoder[dict[str, Raw]] = msgspec.json.Decoder(dict[str, Raw])
_items: msgspec.json.Decoder[list[Raw]] = msgspec.json.Decoder(list[Raw])


def decode(line: bytes | bytearray) -> Message:
    """The message in `line`; raises `Malformed` when there is none.

    JSON that a strict decoder refuses (NaN, half surrogates, raw control characters, deep nesting) is still taken
    apart, since what it carries is not ours to judge.
    """
    try:
        return _message.decode(line)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        pass
    line = bytes(line)
    found = {name: Raw(line[start:end]) for name, (start, end) in spans(line).items()}
    try:
        method = json.loads(bytes(found["method"])) if "method" in found else None
    except (ValueError, RecursionError) as error:
        raise Malformed("its method is no string") from error
    if method is not None and not isinstance(method, str):
        raise Malformed("its method is no string")
    empty = found.get
    return Message(
        empty("id", ABSENT), method, empty("params", ABSENT), empty("result", ABSENT), empty("error", ABSENT)
    )


def members(text: bytes | Raw) -> dict[str, bytes]:
    """The members of a JSON object, each as it came; raises `Malformed` when it is no object."""
    try:
        return {name: bytes(value) for name, value in _members.decode(text).items()}
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        data = bytes(text)
        return {name: data[start:end] for name, (start, end) in spans(data).items()}


def members_or_empty(text: bytes | Raw) -> dict[str, bytes]:
    """The members of a JSON object, each as it came; none where it is no object."""
    try:
        return members(text)
    except Malformed:
        return {}


def items(text: bytes | Raw) -> list[bytes]:
    """The items of a JSON array, each as it came; raises `Malformed` when it is no array."""
    try:
        return [bytes(value) for value in _items.decode(text)]
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        data = bytes(text)
        return [data[start:end] for start, end in _parts(data, b"[")]


_CHECKED_AT_ONCE = 1 << 20


def well_formed(line: bytes | bytearray) -> bytes | bytearray:
    """The line without a byte order mark, each byte that is no UTF-8 as U+FFFD.

    A long one is checked in pieces, so that it is in memory once.
    """
    if line.isascii():
        return line
    line = line.removeprefix(codecs.BOM_UTF8)
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for start in range(0, len(line), _CHECKED_AT_ONCE):
            decoder.decode(line[start : start + _CHECKED_AT_ONCE])
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return line.decode("utf-8", "replace").encode()
    return line


def is_id(raw: Raw) -> bool:
    """Whether a request carries an id that an answer can go to."""
    text = bytes(raw)
    return text != b"" and text != b"null"


def result(id_: bytes, payload: bytes) -> bytes:
    """A response line."""
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}\n' % (id_, payload)


def result_pieces(id_: bytes, payload: bytes | memoryview) -> tuple[bytes | memoryview, ...]:
    """A response line in pieces, so that a large payload need not be copied."""
    return b'{"jsonrpc":"2.0","id":%b,"result":' % id_, payload, b"}\n"


def error(id_: bytes, payload: bytes) -> bytes:
    """An error response line; `payload` is the JSON of the error object."""
    return b'{"jsonrpc":"2.0","id":%b,"error":%b}\n' % (id_, payload)


def error_object(code: int, message: str, data: Any = None) -> bytes:
    """The JSON of an error object."""
    return msgspec.json.encode({"code": code, "message": message} | ({} if data is None else {"data": data}))


def request(id_: bytes, method: str, params: bytes) -> bytes:
    """A request line."""
    return b'{"jsonrpc":"2.0","id":%b,"method":%b,"params":%b}\n' % (id_, msgspec.json.encode(method), params)


def notification(method: str, params: bytes = b"") -> bytes:
    """A notification line."""
    rest = b',"params":%b' % params if params else b""
    return b'{"jsonrpc":"2.0","method":%b%b}\n' % (msgspec.json.encode(method), rest)


def object_of(found: Mapping[str, bytes]) -> bytes:
    """A JSON object with these members, in this order, each value as it stands."""
    return b"{%b}" % b",".join(b"%b:%b" % (_name(name), value) for name, value in found.items())


def _name(name: str) -> bytes:
    try:
        return msgspec.json.encode(name)
    except UnicodeEncodeError:
        return json.dumps(name).encode()  # half a character, which JSON can write and UTF-8 cannot


_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\],:]', re.DOTALL)


def spans(text: bytes) -> dict[str, tuple[int, int]]:
    """Where each member's value stands in the JSON object `text`; of equal names the last, as parsers take it.

    A scanner of brackets and strings, not a parser: it takes what only looks like JSON, to any depth.
    """
    found: dict[str, tuple[int, int]] = {}
    for start, end in _parts(text, b"{"):
        name = _TOKEN.match(text, start)
        if not name or not name.group().startswith(b'"'):
            raise Malformed("a member has no name")
        colon = _TOKEN.search(text, name.end(), end)
        if not colon or colon.group() != b":" or text[name.end() : colon.start()].strip():
            raise Malformed("a member has no value")
        try:
            key = json.loads(name.group())
        except ValueError as error:
            raise Malformed("a member's name is no string") from error
        found[key] = _trimmed(text, colon.end(), end)
    return found


def _parts(text: bytes, opening: bytes) -> Iterator[tuple[int, int]]:
    """Where the parts between the commas of the outermost brackets stand, white space left out."""
    text = text.rstrip()
    start = len(text) - len(text.lstrip())
    if text[start : start + 1] != opening or text[-1:] not in (b"}", b"]"):
        raise Malformed("it is no JSON " + ("object" if opening == b"{" else "array"))
    depth = 0
    begin = start + 1
    for token in _TOKEN.finditer(text, start):
        mark = token.group()
        if mark in (b"{", b"["):
            depth += 1
        elif mark in (b"}", b"]"):
            depth -= 1
            if depth == 0 and token.end() != len(text):
                raise Malformed("something follows it")
        if (depth == 1 and mark == b",") or depth == 0:
            if text[begin : token.start()].strip():
                yield _trimmed(text, begin, token.start())
            begin = token.end()
    if depth:
        raise Malformed("it is cut short")


def _trimmed(text: bytes, start: int, end: int) -> tuple[int, int]:
    while start < end and text[start : start + 1] in (b" ", b"\t", b"\r", b"\n"):
        start += 1
    while end > start and text[end - 1 : end] in (b" ", b"\t", b"\r", b"\n"):
        end -= 1
    return start, end
