"""The definitions of an HTTP API's tools in memory: parts that many of them have, such as those of `$defs`, are there
once. 839 tools of Kubernetes are 7 MB of JSON, of which a fifth is different."""

from collections.abc import Mapping
from typing import Any

import msgspec

_SHARED = ("properties", "$defs")
_members = msgspec.json.Decoder(dict[str, msgspec.Raw])


class CommonParts(dict[bytes, Any]):
    """The parts of the tools of one list by their JSON; each is kept by the tools that have it, and never changed."""

    def __missing__(self, text: bytes) -> Any:
        value = self[text] = msgspec.json.decode(text)
        return value

    def definition(self, text: str) -> Mapping[str, Any]:
        """A definition as `msgspec.json.decode` makes it."""
        definition = {name: self._member(name, raw) for name, raw in _members.decode(text).items()}
        return definition

    def _member(self, name: str, raw: msgspec.Raw) -> Any:
        if name != "inputSchema" or not bytes(raw).startswith(b"{"):
            return msgspec.json.decode(raw)
        schema = _members.decode(raw)
        return {
            member: self._parts(part) if member in _SHARED else self[bytes(part)] for member, part in schema.items()
        }

    def _parts(self, raw: msgspec.Raw) -> Any:
        text = bytes(raw)
        return (
            {name: self[bytes(part)] for name, part in _members.decode(text).items()}
            if text[:1] == b"{"
            else self[text]
        )
