"""The results that say why there is none: of calls that did not happen, of searches that could not be answered."""

import msgspec

from mcpctl.callers import Caller
from mcpctl.catalog.cache import Catalog
from mcpctl.near_names import nearest
from mcpctl.proxy import metatools
from mcpctl.tool_keys import is_plain
from mcpctl.wire import jsonrpc

_LONGEST_KEY = 256
_STAMP = b'"_meta":{"%b":%b}' % (jsonrpc.SERVER_INFO_KEY.encode(), metatools.SERVER_INFO)
_COMPLETE = b',"resultType":"complete"'


def result(message: str, caller: Caller) -> bytes:
    """A tool result that says why there is none."""
    content = [{"type": "text", "text": f"mcpctl: {message}"}]
    return own(msgspec.json.encode({"content": content, "isError": True}), caller)


def no_results(message: str, caller: Caller) -> bytes:
    """The answer of a search that could not be understood."""
    structured = {"results": [], "notice": message}
    content = [{"type": "text", "text": f"mcpctl: {message}"}]
    return own(msgspec.json.encode({"content": content, "structuredContent": structured, "isError": True}), caller)


def own(result: bytes, caller: Caller, *, complete: bool = True) -> bytes:
    """A result of mcpctl's own, a JSON object with members, as the caller's revision has it.

    2026-07-28 wants the server's name in its `_meta`, and a `resultType`, which one that is not `complete` has itself.
    """
    if not caller.modern:
        return result
    return b"%b,%b%b}" % (result[:-1], _STAMP, _COMPLETE if complete else b"")


def near(key: str, catalog: Catalog) -> list[str]:
    """The keys that are like one that no tool has, of tools that may be found; takes time in a large catalog."""
    return nearest(key[:_LONGEST_KEY], filter(is_plain, catalog.keys()))
