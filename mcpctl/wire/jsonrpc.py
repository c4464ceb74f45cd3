"""JSON-RPC 2.0 messages as bytes: only the envelope is decoded, what it carries is passed on as it came.
https://www.jsonrpc.org/specification, and the envelope of MCP 2026-07-28 in a request's `_meta`."""

import json
import re
from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec
from msgspec import Raw

from mcpctl.base import bounds
from mcpctl.wire import loose_json

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, INTERNAL_ERROR = -32700, -32600, -32601, -32602, -32603
UNSUPPORTED_VERSION, MISSING_CAPABILITY, HEADER_MISMATCH = -32022, -32021, -32020

VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CLIENT_INFO_KEY = "io.modelcontextprotocol/clientInfo"
CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
LOG_LEVEL_KEY = "io.modelcontextprotocol/logLevel"
SERVER_INFO_KEY = "io.modelcontextprotocol/serverInfo"
SUBSCRIPTION_KEY = "io.modelcontextprotocol/subscriptionId"

ABSENT = Raw(b"")
NOTHING = (ABSENT, Raw(b"null"))  # the texts that stand for none, as an id that no answer can go to
ID = re.compile(rb'"[^\x00-\x1f]*"|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?')  # an id that can stand in an answer as it came
Json = bytes | memoryview  # JSON as it came; a large one is not copied on its way


class Message(msgspec.Struct):
    """One message's envelope. A member that is absent is empty bytes; `null` is `null`."""

    id: Raw = ABSENT
    method: str | None = None
    params: Raw = ABSENT
    result: Raw = ABSENT
    error: Raw = ABSENT


class Malformed(ValueError):
    """A text that is not the JSON-RPC message, or the part of one, that it should be."""


_message: msgspec.json.Decoder[Message] = msgspec.json.Decoder(Message)
_members: msgspec.json.Decoder[dict[str, Raw]] = msgspec.json.Decoder(dict[str, Raw])
_items: msgspec.json.Decoder[list[Raw]] = msgspec.json.Decoder(list[Raw])
_whole: msgspec.json.Decoder[Raw] = msgspec.json.Decoder(Raw)
REFUSED = (msgspec.MsgspecError, RecursionError, UnicodeDecodeError)  # a strict decoder's refusals
decoded = _message.decode  # the message in a line; raises `REFUSED` where only `messages` can tell
ONE_LINE = bytes.maketrans(b"\r\n", b"  ")  # outside of its strings, where neither may be, JSON takes all spaces alike
_MANY = 100_000  # a text with more commas or colons is counted out: each part would be an object of a hundred bytes


def decode(line: bytes | bytearray) -> Message | None:
    """The message in `line`; None where a strict decoder refuses it."""
    try:
        return decoded(line)
    except REFUSED:
        return None


def messages(line: bytes) -> "list[Message | Malformed]":
    """The message in a line, or those of a batch; in place of one that cannot be read, why. Takes linear time. JSON
    that a strict decoder refuses is taken apart all the same, since what it carries is not ours to judge. Raises
    `Malformed` where the line is neither."""
    line = bytes(loose_json.well_formed(line))
    if not line.lstrip().startswith(b"["):
        message = _loosely(line)
        if type(message) is Malformed:
            raise message
        return [message]
    batch = items(line, bounds.BATCH + 1)
    if len(batch) > bounds.BATCH:
        return [Malformed(f"a batch has at most {bounds.BATCH} messages")]
    return [_loosely(item) for item in batch]


def _loosely(text: bytes) -> "Message | Malformed":
    if message := decode(text):
        return message
    try:
        where = loose_json.members(text, bounds.MEMBERS)
        members = {name: text[start:end] for name, (start, end) in where.items()}
        method = json.loads(members["method"]) if "method" in members else None
    except (ValueError, RecursionError) as error:
        return Malformed(str(error))
    if not isinstance(method, str | None):
        return Malformed("its method is not a string")
    if method is not None:
        method = method.encode("utf-8", "replace").decode()  # half a character could be put in no answer
    id_, params, answer, failure = (Raw(members.get(name, b"")) for name in ("id", "params", "result", "error"))
    return Message(id_, method, params, answer, failure)


def members(text: bytes | Raw) -> dict[str, bytes]:
    """The members of a JSON object, each as it came; raises `Malformed` when it is not an object, or a huge one."""
    data = text if isinstance(text, bytes) else bytes(text)
    if data.count(b":") < _MANY:
        try:
            return {name: bytes(value) for name, value in _members.decode(data).items()}
        except REFUSED:
            pass
    return {name: data[start:end] for name, (start, end) in spans(data).items()}


def is_quick(text: bytes) -> bool:
    """Whether the parts of a text, and theirs, are found in little time: by a strict decoder, or at few brackets."""
    if text.count(b"[") + text.count(b"{") <= bounds.BRACKETS:
        return True
    if text.count(b":") >= _MANY or (text.lstrip()[:1] == b"[" and text.count(b",") >= _MANY):
        return False
    try:
        _whole.decode(text)
    except REFUSED:
        return False
    return True


def members_or_empty(text: bytes | Raw) -> dict[str, bytes]:
    try:
        return members(text)
    except Malformed:
        return {}


def spans(text: bytes) -> dict[str, tuple[int, int]]:
    """The place of each member's value in a JSON object, of equal names the last; raises `Malformed`."""
    try:
        return loose_json.members(text, bounds.MEMBERS)
    except loose_json.NotJson as error:
        raise Malformed(str(error)) from error


def items(text: bytes | Raw, most: int) -> list[bytes]:
    """The first `most` items of a JSON array, each as it came; raises `Malformed` when it is not an array."""
    return [bytes(item) for item in item_views(text if isinstance(text, bytes) else bytes(text), most)]


def item_views(text: bytes, most: int) -> list[memoryview]:
    """The items of an array that may be large, without a copy of any."""
    if text.count(b",") < _MANY:
        try:
            return [memoryview(value) for value in _items.decode(text)[:most]]
        except REFUSED:
            pass
    views: list[memoryview] = []
    try:
        for start, end in loose_json.parts(text, b"[", most):
            views.append(memoryview(text)[start:end])
    except loose_json.NotJson as error:
        if len(views) < most:
            raise Malformed(str(error)) from error
    return views


T = TypeVar("T")


def value(text: bytes, kind: type[T]) -> T:
    """The Python value of a short JSON text; raises `Malformed` when it is not of this kind."""
    try:
        return msgspec.json.decode(text, type=kind)
    except REFUSED as error:
        raise Malformed(str(error)) from error


def text(string: bytes) -> str:
    """The text of a JSON string, or the JSON that stands there instead."""
    try:
        return value(string, str)
    except Malformed:
        return string.decode("utf-8", "replace")


def result(id_: bytes, payload: bytes) -> bytes:
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}\n' % (id_, payload)


def result_pieces(id_: bytes, payload: bytes | memoryview) -> tuple[bytes | memoryview, ...]:
    """A response line in pieces, so that a large payload need not be copied."""
    return b'{"jsonrpc":"2.0","id":%b,"result":' % id_, payload, b"}\n"


def error(id_: bytes, payload: bytes) -> bytes:
    return b'{"jsonrpc":"2.0","id":%b,"error":%b}\n' % (id_, payload)


def error_object(code: int, message: str, data: Any = None) -> bytes:
    return msgspec.json.encode({"code": code, "message": message} | ({} if data is None else {"data": data}))


def request(id_: bytes, method: str, params: bytes) -> bytes:
    return b'{"jsonrpc":"2.0","id":%b,"method":%b,"params":%b}\n' % (id_, msgspec.json.encode(method), params)


def request_pieces(id_: bytes, method: str, params: Mapping[str, Json]) -> list[Json]:
    """A request line in pieces, so that large params need not be copied."""
    beginning = b'{"jsonrpc":"2.0","id":%b,"method":%b,"params":' % (id_, msgspec.json.encode(method))
    return [beginning, *_object_pieces(params), b"}\n"]


def notification(method: str, params: bytes = b"") -> bytes:
    rest = b',"params":%b' % params if params else b""
    return b'{"jsonrpc":"2.0","method":%b%b}\n' % (msgspec.json.encode(method), rest)


def object_of(values: Mapping[str, Json]) -> bytes:
    """A JSON object with these members, in this order, each value as it stands."""
    return b"".join(_object_pieces(values))


_KNOWN = {name: msgspec.json.encode(name) for name in ("name", "arguments", "_meta", "uri")}


def _object_pieces(values: Mapping[str, Json]) -> list[Json]:
    pieces: list[Json] = []
    before = b"{"
    for name, value in values.items():
        pieces += (before, _KNOWN.get(name) or _name(name), b":", value)
        before = b","
    pieces.append(b"}" if pieces else b"{}")
    return pieces


def _name(name: str) -> bytes:
    try:
        return msgspec.json.encode(name)
    except UnicodeEncodeError:
        return json.dumps(name).encode()  # half a character, which JSON can write and UTF-8 cannot
