"""When two definitions of a tool are the same: the hash of all that models read and clients show; hints beside it."""

import hashlib
import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import msgspec

from mcpctl.base.feature_names import is_feature
from mcpctl.base.models import HINTS, HTTP, OLDER_PAGE, REQUEST, Tool

_HASHED = ("name", "title", "description", "inputSchema", "outputSchema")
OF_FEATURES = ("arguments", "uri", "uriTemplate", "mimeType")  # also in prompts, resources and templates
SHOWN = ("icons", "_meta")  # members that clients show; of `_meta` only the page: the rest may change by itself
VERSION = "sha256/v2"  # how hashes are made: from which members, in which form, by which function
OLDER = "sha256/v1"  # without what clients show
_DEEPEST = 100


class TooDeep(ValueError):
    """A value is nested so deep that it has no canonical text here."""


def described(tool: Tool, version: str = VERSION) -> Mapping[str, Any]:
    """The hashed members of a tool, as its server defines it."""
    definition = msgspec.json.decode(tool.text)
    hashed = (*_HASHED, *OF_FEATURES) if is_feature(tool.name) else _HASHED
    members = {name: definition[name] for name in hashed if name in definition}
    annotations = definition.get("annotations")
    if isinstance(annotations, dict) and "title" in annotations:
        members["annotations"] = {"title": annotations["title"]}  # the older place of the title, which models read too
    if version != VERSION:
        return members
    members = {**members, **shown(definition)}
    if tool.inferred is not None:  # an API's tool: its request is what it does
        method, path = tool.request
        made = {REQUEST: tool.request_hash} if tool.request_hash else {}
        members["_meta"] = {HTTP: {"method": method, "path": path}, **made}
    return members


def shown(definition: Mapping[str, Any]) -> Mapping[str, Any]:
    meta = definition.get("_meta")
    pages = {name: meta[name] for name in ("ui", OLDER_PAGE) if name in meta} if isinstance(meta, dict) else {}
    page = {"_meta": pages} if pages else {}
    return {"icons": definition["icons"], **page} if "icons" in definition else page


@lru_cache(maxsize=8192)
def hash_of(tool: Tool, version: str = VERSION) -> str:
    """The hash of a tool as its server defines it; one that is nested too deep is hashed as it came."""
    try:
        return hashed(described(tool, version), version)
    except TooDeep:
        return hashed(f"as it came: {tool.text}", version)


def hashed(value: Any, version: str = OLDER) -> str:
    return f"{version}:{hashlib.sha256(canonical(value)).hexdigest()}"


def canonical(value: Any) -> bytes:
    """The one JSON text of a value in the manner of RFC 8785; whole numbers have no fraction."""
    text = json.dumps(_whole(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return text.encode("utf-8", "surrogatepass")


def _whole(value: Any, deep: int = 0) -> Any:
    if deep > _DEEPEST:  # a bound of its own: how deep the interpreter goes depends on who calls
        raise TooDeep
    if isinstance(value, dict):
        return {name: _whole(member, deep + 1) for name, member in value.items()}
    if isinstance(value, list):
        return [_whole(item, deep + 1) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 1 << 53 else value


def declared_hints(tool: Tool) -> Mapping[str, bool]:
    return {name: value for name in HINTS if isinstance(value := tool.annotations.get(name), bool)}


def pin_of(tool: Tool) -> str:
    """The pin that a yes to a call of a tool is bound to: its hash, and the hints that its server declares."""
    kept = vars(tool)  # as `cached_property` keeps what it gives: there may be tens of thousands
    if "pin" not in kept:
        kept["pin"] = _pin(tool, VERSION)
    pin: str = kept["pin"]
    return pin


def older_pin_of(tool: Tool) -> str:
    return _pin(tool, OLDER)


def is_pin_of(pin: str, tool: Tool) -> bool:
    """Whether a pin, perhaps of an older version, is that of a tool as it is."""
    return pin == (older_pin_of(tool) if pin.startswith(OLDER) else pin_of(tool))


def _pin(tool: Tool, version: str) -> str:
    hints = "".join(f"{name[0]}{int(value)}" for name, value in declared_hints(tool).items())
    return f"{hash_of(tool, version)};{hints}"
