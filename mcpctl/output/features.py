"""What servers answer when a prompt is got or a resource is read, for a terminal and for a pipe."""

import base64
import binascii
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mcpctl.base.errors import McpctlError, UpstreamFailed
from mcpctl.base.models import RawJson
from mcpctl.output.text import block_of, content, line_of


def prompt(result: RawJson) -> Iterator[str]:
    """The texts of a prompt's messages; of several, each under its role."""
    messages = _members(result, "messages")
    for number, message in enumerate(messages):
        if len(messages) > 1:
            yield from [""] if number else []
            yield f"{line_of(str(message.get('role')))}:"
        yield from content([message.get("content")], brief=False)


def resource(result: RawJson) -> Iterator[str]:
    """The texts of a resource, inert; raises `McpctlError` for bytes."""
    contents = _members(result, "contents")
    if bytes_ := next((each for each in contents if not isinstance(each.get("text"), str)), None):
        size, kind = len(_decoded(bytes_)), bytes_.get("mimeType")
        of = f" of {line_of(kind)}" if isinstance(kind, str) else ""
        raise McpctlError(f"it has {size:,} bytes{of}, not shown on a terminal", "put > FILE at the end", "binary")
    for each in contents:
        yield block_of(each["text"])


def bytes_of(result: RawJson) -> bytes:
    """The texts and bytes of a resource, as they are."""
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
        found = json.loads(result)
    except (ValueError, RecursionError):
        raise _odd("cannot be read") from None
    members = found.get(name) if isinstance(found, dict) else None
    if not isinstance(members, list) or not all(isinstance(each, dict) for each in members):
        raise _odd(f"has no {name}")
    return members


def _odd(what: str) -> UpstreamFailed:
    return UpstreamFailed(f"what the server answered {what}", "see all of it with --json", "bad_answer")
