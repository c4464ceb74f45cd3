"""What tools answer that is not text: images, audio and the bytes of resources, in base64 as they come."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from mcpctl.base.errors import UpstreamFailed


class Encoded(NamedTuple):
    """Bytes in base64, and what they are said to be."""

    kind: str
    mime_type: str
    data: str

    @property
    def size(self) -> int:
        """How many bytes they are."""
        return len(self.data) * 3 // 4 - self.data[-2:].count("=")


def encoded(block: Any) -> Encoded | None:
    """The bytes of a block of content; None where it has none."""
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
    import base64
    import binascii

    try:
        return [base64.b64decode(found.data, validate=True) for block in blocks if (found := encoded(block))]
    except (binascii.Error, ValueError) as error:
        hint = "see the result as it came with: --json"
        raise UpstreamFailed(f"what the tool answered is not base64: {error}", hint, "bad_base64") from error
