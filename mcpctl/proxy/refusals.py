"""The results that say why there is none: of calls that did not happen, of searches that could not be answered."""

import msgspec

from mcpctl.callers import Caller
from mcpctl.catalog.cache import Catalog
from mcpctl.near_names import nearest
from mcpctl.proxy import metatools, translate
from mcpctl.tool_keys import is_plain

_LONGEST_KEY = 256


def result(message: str, caller: Caller) -> bytes:
    """A tool result that says why there is none."""
    content = [{"type": "text", "text": f"mcpctl: {message}"}]
    return own(msgspec.json.encode({"content": content, "isError": True}), caller)


def no_results(message: str, caller: Caller) -> bytes:
    """The answer of a search that could not be understood."""
    found = {"results": [], "notice": message}
    content = [{"type": "text", "text": f"mcpctl: {message}"}]
    return own(msgspec.json.encode({"content": content, "structuredContent": found, "isError": True}), caller)


def own(result: bytes, caller: Caller) -> bytes:
    """A result of mcpctl's own as the caller's revision has it."""
    return translate.stamped(result, caller, metatools.SERVER_INFO)


def near(key: str, catalog: Catalog) -> list[str]:
    """The keys that are like one that no tool has, of tools that may be found; takes time in a large catalog."""
    return nearest(key[:_LONGEST_KEY], filter(is_plain, catalog.keys()))
