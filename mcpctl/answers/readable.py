"""The parts of a tool's result that can be read in pieces: its text, and the JSON in it. Results are untrusted.

JMESPath is applied in a process of its own, since a path that a model writes may take for ever or need all memory.
"""

import contextlib
import importlib.util
import io
import json
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import msgspec
from msgspec import Raw

from mcpctl.base import bounds
from mcpctl.wire import jsonrpc
from mcpctl.wire.jsonrpc import Json

_QUOTE = ord('"')


_PIECE = 1 << 18  # bytes of a string that are decoded at once: one wide character makes Python take four times as many
_INSIDE = re.compile(  # the part of a string in which no escape, and no pair of them, goes on behind it
    rb'[^"\\]*+(?:\\(?:[^u]|u(?:[dD][89abAB][0-9a-fA-F]{2}\\u[0-9a-fA-F]{4}|(?![dD][89abAB])[0-9a-fA-F]{4}))[^"\\]*+)*+',
    re.DOTALL,
)
_only_item: msgspec.json.Decoder[tuple[Raw]] = msgspec.json.Decoder(tuple[Raw])
_SCRIPT = Path(__file__).with_name("path_process.py")
_WAIT_S = 5.0  # its CPU is bounded; this is for a machine that gives it none
_LONGEST_REASON = 300
_TOO_MUCH = f"it takes more than {bounds.PATH_S} s or {bounds.PATH_MEMORY >> 20} MB; ask for less at once"


class _ToolResult(msgspec.Struct):
    content: Raw = jsonrpc.ABSENT
    structured: Raw = msgspec.field(name="structuredContent", default=jsonrpc.ABSENT)


class _Block(msgspec.Struct):
    type: str = ""
    text: Raw = jsonrpc.ABSENT


_result: msgspec.json.Decoder[_ToolResult] = msgspec.json.Decoder(_ToolResult)
_block: msgspec.json.Decoder[_Block] = msgspec.json.Decoder(_Block)


@dataclass(frozen=True)
class Readable:
    texts: Sequence[bytes]  # the text of each text block, in UTF-8
    structured: bytes  # the structured content, in JSON; empty where there is none
    others: Sequence[Json]  # the other blocks, such as images, as they came
    size: int  # bytes of the text blocks and the structured content, as they came

    @cached_property
    def text(self) -> bytes:
        """The texts, one after the other; without any, the structured content."""
        return b"\n".join(self.texts) or self.structured

    @cached_property
    def document(self) -> bytes:
        """The structured content, or else the first text that is an object or array in JSON, as it came; else empty."""
        return self.structured or next((text for text in self.texts if _is_json(text)), b"")

    @property
    def value(self) -> bytes:
        """The JSON to which a path applies: where there is none, the text as a string."""
        return self.document or msgspec.json.encode(self.text.decode("utf-8", "replace"))


def of_result(result: Json) -> Readable:
    """The parts of a result, which may be large: copied as little as can be. Raises `Malformed`."""
    try:
        parts = _result.decode(result)
    except jsonrpc.REFUSED:
        members = jsonrpc.members(bytes(result))
        parts = _ToolResult(Raw(members.get("content", b"")), Raw(members.get("structuredContent", b"")))
    blocks = _blocks(parts.content)
    structured = b"" if parts.structured in jsonrpc.NOTHING else bytes(parts.structured)
    texts: list[bytes] = []
    others: list[Json] = []
    size = len(structured)
    for block in blocks:
        text = _text_of(block)
        if text is None:
            others.append(block)
        else:
            texts.append(text)
            size += len(block)
    return Readable(texts, structured, others, size)


def _blocks(content: Raw) -> Sequence[Json]:
    if content in jsonrpc.NOTHING:
        return ()
    try:
        return tuple(map(memoryview, _only_item.decode(content)))  # as most are
    except jsonrpc.REFUSED:
        blocks = jsonrpc.item_views(bytes(content), bounds.MEMBERS + 1)
    if len(blocks) > bounds.MEMBERS:
        raise jsonrpc.Malformed("it has too many blocks")
    return blocks


def _text_of(block: Json) -> bytes | None:
    try:
        read = _block.decode(block)
        return _decoded(memoryview(read.text) if memoryview(read.text) else b'""') if read.type == "text" else None
    except jsonrpc.REFUSED:
        pass
    try:
        loose = json.loads(bytes(block), strict=False)  # half a character, which JSON can write and UTF-8 cannot
    except (ValueError, RecursionError):
        return None
    text = loose.get("text") if isinstance(loose, dict) and loose.get("type") == "text" else None
    return text.encode("utf-8", "replace") if isinstance(text, str) else None


def _decoded(string: Json) -> bytes:
    """The text of a JSON string, in UTF-8, decoded piece after piece; raises `MsgspecError` where it is not one."""
    if len(string) <= _PIECE:
        return msgspec.json.decode(string, type=str).encode()
    if string[0] != _QUOTE:
        raise msgspec.ValidationError("it is not a string")
    text, start, end = io.BytesIO(), 1, len(string) - 1
    while start < end:
        inside = _INSIDE.match(string, start, min(start + _PIECE, end))
        stop = inside.end() if inside else start
        while start < stop < end and string[stop] & 0xC0 == 0x80:  # in the middle of a character
            stop -= 1
        stop = stop if stop > start else end  # half a pair, which no strict decoder takes
        text.write(msgspec.json.decode(b'"%b"' % bytes(string[start:stop]), type=str).encode())
        start = stop
    return text.getvalue()


def _is_json(text: bytes) -> bool:
    if text[:64].lstrip()[:1] not in (b"{", b"["):
        return False
    try:
        msgspec.json.decode(text, type=Raw)
    except jsonrpc.REFUSED:
        return False
    return True


class PathFailed(ValueError):
    """Why a path gives nothing, for whoever wrote it."""


def apply(expression: str, value: bytes) -> bytes:
    """The selection of a path in a JSON value, as JSON (of a string UTF-8), in blocks; for a thread. `PathFailed`."""
    import subprocess  # commands that only read records need no processes

    if len(expression) > bounds.PATH:
        raise PathFailed(f"it has more than {bounds.PATH:,} characters")
    if len(value) > bounds.ANSWER_JSON:
        limit = bounds.ANSWER_JSON >> 20
        raise PathFailed(f"it is for at most {limit} MB, and these are {len(value):,} bytes; use offset and grep")
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", "-B", str(_SCRIPT), _packages(), str(bounds.PATH_S), str(bounds.PATH_MEMORY),
         str(bounds.ANSWER_JSON)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env={}, cwd="/",
        start_new_session=True,
    )  # fmt: skip
    with process:
        try:
            output, _ = process.communicate(msgspec.json.encode(expression) + b"\n" + value, _WAIT_S)
        except subprocess.TimeoutExpired:
            raise PathFailed(_TOO_MUCH) from None
        finally:
            with contextlib.suppress(OSError):
                process.kill()
    if process.returncode == 0:
        return output
    raise PathFailed(output.decode("utf-8", "replace")[:_LONGEST_REASON] if process.returncode == 1 else _TOO_MUCH)


def _packages() -> str:
    spec = importlib.util.find_spec("jmespath")
    if spec is None or spec.origin is None:
        raise PathFailed("the package jmespath is not installed")
    return str(Path(spec.origin).parents[1])
