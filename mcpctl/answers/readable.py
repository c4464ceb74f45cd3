"""What of a tool's result can be read in parts: its text, and the JSON in it. Results are untrusted."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import msgspec
from msgspec import Raw

from mcpctl import bounds
from mcpctl.wire import jsonrpc

_NOTHING = (b"", b"null")


class _Block(msgspec.Struct):
    type: str = ""
    text: str = ""


@dataclass(frozen=True)
class Readable:
    """The parts of one result."""

    texts: Sequence[bytes]
    """The text of each of its text blocks, in UTF-8."""
    structured: bytes
    """Its structured content, JSON; empty where it has none."""
    others: Sequence[bytes]
    """Its other blocks, such as images, as they came."""
    size: int
    """Bytes of the text blocks and the structured content, as they came."""

    @cached_property
    def text(self) -> bytes:
        """What is read in pieces: the texts, one after the other; without any, the structured content."""
        return b"\n".join(self.texts) or self.structured

    @cached_property
    def document(self) -> bytes:
        """The JSON in it, as it came: the structured content, or else the first text that is an object or an array in
        JSON; empty where there is neither."""
        return self.structured or next((text for text in self.texts if _is_json(text)), b"")

    @property
    def value(self) -> bytes:
        """The JSON to which a path applies: where there is none, the text as a string."""
        return self.document or msgspec.json.encode(self.text.decode("utf-8", "replace"))


def of_result(result: bytes) -> Readable:
    """The parts of a result; raises `Malformed` where they cannot be told apart."""
    members = jsonrpc.members(result)
    return of_parts(members.get("content", b""), members.get("structuredContent", b""))


def of_parts(content: bytes, structured: bytes) -> Readable:
    """The same, of the JSON of a result's content and structured content; empty where it has none."""
    blocks = [] if content in _NOTHING else jsonrpc.items(content, bounds.MEMBERS + 1)
    if len(blocks) > bounds.MEMBERS:
        raise jsonrpc.Malformed("it has too many blocks")
    structured = b"" if structured in _NOTHING else structured
    texts: list[bytes] = []
    others: list[bytes] = []
    size = len(structured)
    for block in blocks:
        text = _text_of(block)
        if text is None:
            others.append(block)
        else:
            texts.append(text)
            size += len(block)
    return Readable(texts, structured, others, size)


def _text_of(block: bytes) -> bytes | None:
    """The text of a text block; None for another."""
    try:
        read = msgspec.json.decode(block, type=_Block)
        return read.text.encode() if read.type == "text" else None
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        pass
    try:
        loose = json.loads(block, strict=False)  # half a character, which JSON can write and UTF-8 cannot
    except (ValueError, RecursionError):
        return None
    text = loose.get("text") if isinstance(loose, dict) and loose.get("type") == "text" else None
    return text.encode("utf-8", "replace") if isinstance(text, str) else None


def _is_json(text: bytes) -> bool:
    if text[:64].lstrip()[:1] not in (b"{", b"["):
        return False
    try:
        msgspec.json.decode(text, type=Raw)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return False
    return True
