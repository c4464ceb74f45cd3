"""Answers without a result: of calls and reads that did not happen, and of searches."""

import msgspec
from msgspec.structs import replace

from mcpctl.base import bounds
from mcpctl.base.callers import Caller
from mcpctl.base.failure import Failure
from mcpctl.base.near_names import nearest
from mcpctl.base.tool_keys import is_plain
from mcpctl.catalog.cache import Catalog
from mcpctl.metatools import offers
from mcpctl.metatools.offers import AnswerForm
from mcpctl.policy import words
from mcpctl.wire import jsonrpc

_LONGEST_KEY = 256
_STAMP = b'"_meta":{"%b":%b}' % (jsonrpc.SERVER_INFO_KEY.encode(), offers.SERVER_INFO)
_COMPLETE = b',"resultType":"complete"'
_RESOURCE_NOT_FOUND = -32002
"""Older revisions have it where 2026-07-28 has `INVALID_PARAMS`."""
_OF_PARAMS = words.OF_FEATURE | words.DENIED | {"not_open"}


def result(message: str, caller: Caller) -> bytes:
    content = [{"type": "text", "text": f"mcpctl: {message}"}]
    return own(msgspec.json.encode({"content": content, "isError": True}), caller)


def no_results(message: str, caller: Caller) -> bytes:
    """The answer of a search that could not be understood, or not be made."""
    if offers.form_of(caller) is AnswerForm.TEXT:
        return result(message, caller)
    structured = {"results": [], "notice": message}
    content = [{"type": "text", "text": f"mcpctl: {message}"}]
    return own(msgspec.json.encode({"content": content, "structuredContent": structured, "isError": True}), caller)


def own(result: bytes, caller: Caller, *, complete: bool = True) -> bytes:
    """A result of mcpctl's own, a JSON object with members, as the caller's revision has it. 2026-07-28 wants the
    server's name in its `_meta`, and a `resultType`, which a result that is not `complete` has itself."""
    if not caller.modern:
        return result
    return b"%b,%b%b}" % (result[:-1], _STAMP, _COMPLETE if complete else b"")


def near(key: str, catalog: Catalog) -> list[str]:
    """Similar keys of tools that may be found; takes time in a large catalog."""
    return nearest(key[:_LONGEST_KEY], filter(is_plain, catalog.keys()))


def rejection(failure: Failure, caller: Caller) -> bytes:
    """A failure as a JSON-RPC error, in words of ours alone."""
    code = jsonrpc.INVALID_PARAMS if failure.code in _OF_PARAMS else jsonrpc.INTERNAL_ERROR
    if failure.code == "unknown_resource" and not caller.modern:
        code = _RESOURCE_NOT_FOUND
    # Whatever was sent of it has changed nothing.
    message = words.for_model(replace(failure, was_sent=False))
    if failure.code == "interrupted":
        message = "the session is ending before the server has answered"
    uri = failure.facts["uri"] if failure.code == "unknown_resource" else ""
    data = {"uri": uri} if uri and len(uri) <= bounds.URI else None
    return jsonrpc.error_object(code, f"mcpctl: {message}", data)


def read_error(error: bytes, *, modern: bool) -> bytes:
    members = jsonrpc.members_or_empty(error)
    codes = (_RESOURCE_NOT_FOUND, jsonrpc.INVALID_PARAMS)
    before, after = (b"%d" % code for code in (codes if modern else reversed(codes)))
    return jsonrpc.object_of({**members, "code": after}) if members.get("code") == before else error


def outcome(failure: Failure) -> tuple[str, bytes]:
    """The status and the error on record of a request that failed."""
    error = {"code": failure.code, "message": words.for_person(failure).message}
    status = "denied" if failure.code in words.DENIED else "failed"
    return "interrupted" if failure.code == "interrupted" else status, msgspec.json.encode(error)
