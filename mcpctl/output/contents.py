"""The contents that servers answer with: of tools, prompts and resources, for a terminal and for a pipe."""

import base64
import binascii
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from mcpctl.base.errors import McpctlError, UpstreamFailed
from mcpctl.base.models import RawJson
from mcpctl.output.text import block_of, line_of


class Encoded(NamedTuple):
    """An image, audio or the bytes of a resource, in base64."""

    kind: str
    mime_type: str
    data: str

    @property
    def size(self) -> int:
        return len(self.data) * 3 // 4 - self.data[-2:].count("=")


def encoded(block: Any) -> Encoded | None:
    """The bytes of a block of content, if it has some."""
    if not isinstance(block, Mapping):
        return None
    kind = block.get("type")
    holder, name = (block.get("resource"), "blob") if kind == "resource" else (block, "data")
    if kind not in ("image", "audio", "resource") or not isinstance(holder, Mapping):
        return None
    data, mime_type = holder.get(name), holder.get("mimeType")
    return Encoded(kind, str(mime_type or "of an unknown type"), data) if isinstance(data, str) else None


def decoded(blocks: Sequence[Any]) -> list[bytes]:
    """The bytes of all blocks that have some; raises `UpstreamFailed` where one is not base64."""
    try:
        return [base64.b64decode(answer.data, validate=True) for block in blocks if (answer := encoded(block))]
    except (binascii.Error, ValueError) as error:
        hint = "see the result as it came with: --json"
        raise UpstreamFailed(f"the tool's answer is not base64: {error}", hint, "bad_base64") from error


def content(blocks: Sequence[Any], *, brief: bool) -> Iterator[str]:
    """A result's texts, and other blocks as lines of JSON; where it is `brief`, bytes are only named."""
    for block in blocks:
        text = block.get("text") if isinstance(block, Mapping) and block.get("type") == "text" else None
        data = encoded(block) if brief else None
        if isinstance(text, str):
            yield block_of(text)
        elif data is not None:
            amount = f"{data.size / 1000:,.0f} kB" if data.size >= 1000 else f"{data.size} bytes"
            yield line_of(f"[{data.kind} {data.mime_type}, {amount}; --output FILE saves it]")
        else:
            yield line_of(json.dumps(block, ensure_ascii=False))


def prompt(result: RawJson) -> Iterator[str]:
    """The texts of a prompt's messages; of several, each under its role."""
    messages = _members(result, "messages")
    for number, message in enumerate(messages):
        if len(messages) > 1:
            yield from [""] if number else []
            yield f"{line_of(str(message.get('role')))}:"
        yield from content([message.get("content")], brief=False)


def resource(result: RawJson) -> Iterator[str]:
    """The texts of a resource, safe for a terminal; raises `McpctlError` for bytes."""
    contents = _members(result, "contents")
    if bytes_ := next((each for each in contents if not isinstance(each.get("text"), str)), None):
        size, kind = len(_decoded(bytes_)), bytes_.get("mimeType")
        of = f" of {line_of(kind)}" if isinstance(kind, str) else ""
        raise McpctlError(f"it has {size:,} bytes{of}, not shown on a terminal", "put > FILE at the end", "binary")
    for each in contents:
        yield block_of(each["text"])


def bytes_of(result: RawJson) -> bytes:
    return b"".join(_decoded(each) for each in _members(result, "contents"))


def _decoded(part: Mapping[str, Any]) -> bytes:
    if isinstance(text := part.get("text"), str):
        return text.encode("utf-8", "surrogatepass")
    try:
        return base64.b64decode(part.get("blob", ""), validate=True)
    except (TypeError, ValueError, binascii.Error):
        raise _odd("is neither text nor base64") from None


def _members(result: RawJson, name: str) -> Sequence[Mapping[str, Any]]:
    try:
        answer = json.loads(result)
    except (ValueError, RecursionError):
        raise _odd("cannot be read") from None
    members = answer.get(name) if isinstance(answer, dict) else None
    if not isinstance(members, list) or not all(isinstance(each, dict) for each in members):
        raise _odd(f"has no {name}")
    return members


def _odd(fault: str) -> UpstreamFailed:
    return UpstreamFailed(f"the server's answer {fault}", "see all of it with --json", "bad_answer")
