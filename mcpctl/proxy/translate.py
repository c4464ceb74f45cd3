"""Results and errors as a client's era has them: those of servers, with few changes, and our own where there is none.

All else of a server's result passes as the bytes it came as. A tool that runs only as a task (2025-11-25) is called as
any other: its server answers with a task, whose result is asked for at once, since that answer waits for its end.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Raw
from msgspec.structs import replace

from mcpctl.base import bounds
from mcpctl.base.callers import Caller
from mcpctl.base.failure import Failure
from mcpctl.base.models import HTTP
from mcpctl.base.near_names import nearest
from mcpctl.base.tool_keys import is_plain
from mcpctl.catalog.cache import Catalog
from mcpctl.metatools import offers
from mcpctl.metatools.offers import AnswerForm
from mcpctl.policy import words
from mcpctl.store.recordable import Json
from mcpctl.upstreams import question
from mcpctl.upstreams.connection import TASKS_RESULT, TOOLS_CALL, Connection, Exchange, Reply
from mcpctl.wire import jsonrpc

PARAMS = {"task": b"{}"}
_STRUCTURED_SINCE = "2025-06-18"
_LONGEST_KEY = 256
_STAMP = b'"_meta":{"%b":%b}' % (jsonrpc.SERVER_INFO_KEY.encode(), offers.SERVER_INFO)
_COMPLETE = b',"resultType":"complete"'
_RESOURCE_NOT_FOUND = -32002  # older revisions have it where 2026-07-28 has `INVALID_PARAMS`
_OF_PARAMS = words.OF_FEATURE | words.DENIED | {"not_open"}


class _Task(msgspec.Struct):
    taskId: str


class _Created(msgspec.Struct):
    task: _Task


def runs_as_task(definition: Mapping[str, Any]) -> bool:
    execution = definition.get("execution")
    return isinstance(execution, dict) and execution.get("taskSupport") == "required"


def unrunnable(definitions: Iterable[bytes], connection: Connection) -> list[bytes]:
    """Definitions that run only as tasks, on a connection to a server that does not say it runs any."""
    return [] if connection.runs_tasks else [each for each in definitions if b'"taskSupport"' in each and _only(each)]


def runnable(definitions: Sequence[bytes], connection: Connection) -> list[bytes]:
    left_out = frozenset(unrunnable(definitions, connection))
    return [each for each in definitions if each not in left_out]


def _only(definition: bytes) -> bool:
    try:
        return runs_as_task(jsonrpc.value(definition, dict))
    except jsonrpc.Malformed:
        return False


def awaited(result: memoryview, exchange: Exchange, caller: Caller, reply: Reply) -> Exchange | None:
    if exchange.method != TOOLS_CALL:
        return None
    try:
        task = jsonrpc.value(bytes(result), _Created).task
    except jsonrpc.Malformed:
        return None
    return Exchange(TASKS_RESULT, {"taskId": msgspec.json.encode(task.taskId)}, {}, caller, reply, exchange.tool)


class Head(msgspec.Struct):
    """The members of a tool's result that decide how it is passed on; empty bytes where absent."""

    is_error: Raw = msgspec.field(name="isError", default=jsonrpc.ABSENT)
    result_type: Raw = msgspec.field(name="resultType", default=jsonrpc.ABSENT)
    content: Raw = jsonrpc.ABSENT
    structured: Raw = msgspec.field(name="structuredContent", default=jsonrpc.ABSENT)
    meta: Raw = msgspec.field(name="_meta", default=jsonrpc.ABSENT)


_head: msgspec.json.Decoder[Head] = msgspec.json.Decoder(Head)


def head(result: Json) -> Head:
    try:
        return _head.decode(result)
    except jsonrpc.REFUSED:
        pass
    members = jsonrpc.members_or_empty(bytes(result))
    names = ("isError", "resultType", "content", "structuredContent", "_meta")
    return Head(*(Raw(members.get(name, b"")) for name in names))


class _HttpAnswer(msgspec.Struct):
    status: int = 0


class _AnswerMeta(msgspec.Struct):
    http: _HttpAnswer = msgspec.field(name=HTTP, default_factory=_HttpAnswer)


def http_status(top: Head) -> int | None:
    """The status of the answer of an HTTP API; None where there is none."""
    try:
        return jsonrpc.value(bytes(top.meta) or b"{}", _AnswerMeta).http.status or None
    except jsonrpc.Malformed:
        return None


def without_headers(result: Json) -> Json:
    """The result of an HTTP API as it is put on record: without what headers said of addresses."""
    members = jsonrpc.members_or_empty(bytes(result))
    meta = jsonrpc.members_or_empty(members.get("_meta", b""))
    if meta.pop(HTTP, None) is None:
        return result
    return jsonrpc.object_of({**members, "_meta": jsonrpc.object_of(meta)})


def is_waiting(top: Head) -> bool:
    """Whether the result wants input before its tool goes on, however that is spelled."""
    kind = bytes(top.result_type)
    if b"\\" not in kind:
        return kind == b'"input_required"'
    try:
        return jsonrpc.value(kind, str) == "input_required"
    except jsonrpc.Malformed:
        return False


def with_names(result: bytes, server: str, may_put: Callable[[str], bool]) -> bytes | None:
    """A result that wants input, each question with its server's name; None if it may not ask. Raises `Malformed`."""
    members = jsonrpc.members(result)
    if not members.get("inputRequests", b"").startswith(b"{"):
        return result  # whatever it is, it asks nobody anything
    requests = question.input_requests(result)
    changed = False
    for key, request in requests.items():
        if not request.startswith(b"{"):
            continue
        method, params = question.question_in(request)
        if not may_put(method):
            return None
        if (named := question.named(method, params, server)) is not params:
            requests[key] = jsonrpc.object_of({**jsonrpc.members(request), "params": named})
            changed = True
    return jsonrpc.object_of({**members, "inputRequests": jsonrpc.object_of(requests)}) if changed else result


def for_client(result: Json, top: Head, caller: Caller, connection: Connection | None) -> Json:
    """An upstream's result as the caller's revision has it: in most cases itself."""
    from_modern = connection is not None and connection.modern
    if caller.modern:
        if from_modern:
            return result
        return _for_modern(bytes(result), top, connection.server_info if connection else b"")
    if from_modern:
        result = _for_legacy(bytes(result), top)
    if caller.revision < _STRUCTURED_SINCE:
        result = _with_text(bytes(result), top)
    return result


def cacheable(result: bytes) -> bytes:
    """The result of an older server with what 2026-07-28 wants said: that it may not be kept."""
    members = jsonrpc.members_or_empty(result)
    for name, value in (("ttlMs", b"0"), ("cacheScope", b'"private"')):
        if members and name not in members:
            result = _inserted(result, b'"%b":%b' % (name.encode(), value))
    return result


def with_block(result: bytes, text: str) -> bytes:
    block = msgspec.json.encode({"type": "text", "text": text})
    where = jsonrpc.spans(result).get("content")
    if where is None:
        return _inserted(result, b'"content":[%b]' % block)
    start, end = where
    content = result[start:end]
    if not content.startswith(b"["):
        return result
    inner = content[1:-1].rstrip()
    return b"%b[%b%b%b]%b" % (result[:start], inner, b"," if inner.strip() else b"", block, result[end:])


def with_data(error: bytes, text: str) -> bytes:
    try:
        members = jsonrpc.members(error)
    except jsonrpc.Malformed:
        return error
    if members.get("data", b"null") != b"null":
        return error
    return jsonrpc.object_of({**members, "data": msgspec.json.encode({"help": text})})


def message_of(error: bytes) -> str:
    try:
        decoded: Any = jsonrpc.value(error, object)
    except jsonrpc.Malformed:
        decoded = error.decode("utf-8", "replace")
    return str(decoded.get("message", decoded) if isinstance(decoded, dict) else decoded)[:500]


def text_of(result: bytes) -> str:
    try:
        blocks = jsonrpc.value(bytes(head(result).content) or b"[]", object)
    except jsonrpc.Malformed:
        return ""
    if not isinstance(blocks, list):
        return ""
    texts = (block.get("text") for block in blocks if isinstance(block, dict))
    return "\n".join(text for text in texts if isinstance(text, str))


def _for_modern(result: bytes, top: Head, server_info: bytes) -> bytes:
    """2026-07-28 wants `resultType` in every result and the server's name in its `_meta`."""
    if not result.lstrip().startswith(b"{"):
        return result
    meta = bytes(top.meta)
    if server_info and meta in (b"", b"null"):
        stamp = b'"_meta":{"%b":%b}' % (jsonrpc.SERVER_INFO_KEY.encode(), server_info)
        result = _replaced(result, "_meta", stamp) if meta else _inserted(result, stamp)
    elif server_info and jsonrpc.SERVER_INFO_KEY.encode() not in meta and meta.startswith(b"{"):
        stamp = b'"%b":%b' % (jsonrpc.SERVER_INFO_KEY.encode(), server_info)
        start, end = jsonrpc.spans(result)["_meta"]
        result = result[:start] + _inserted(meta, stamp) + result[end:]
    return result if bytes(top.result_type) else _inserted(result, b'"resultType":"complete"')


def _for_legacy(result: bytes, top: Head) -> bytes:
    """Older revisions know no `resultType`, and structured content that is an object only."""
    structured = bytes(top.structured)
    if not bytes(top.result_type) and structured[:1] in (b"", b"{"):
        return result
    members = jsonrpc.members(result)
    members.pop("resultType", None)
    if structured and structured[:1] != b"{":
        members["structuredContent"] = b'{"result":%b}' % structured
    return jsonrpc.object_of(members)


def _with_text(result: bytes, top: Head) -> bytes:
    """The result for clients before 2025-06-18, which had only content: lone structured content is repeated as text."""
    if bytes(top.structured) in (b"", b"null") or bytes(top.content).strip(b"[] \t\r\n") not in (b"", b"null"):
        return result
    members = jsonrpc.members(result)
    text = bytes(top.structured).decode("utf-8", "replace")
    return jsonrpc.object_of({**members, "content": msgspec.json.encode([{"type": "text", "text": text}])})


def _inserted(text: bytes, member: bytes) -> bytes:
    body = text.rstrip()[:-1].rstrip()
    return b"%b%b%b}" % (body, b"" if body.endswith(b"{") else b",", member)


def _replaced(text: bytes, name: str, member: bytes) -> bytes:
    members = jsonrpc.members(text)
    members.pop(name)
    return _inserted(jsonrpc.object_of(members), member)


def refusal(message: str, caller: Caller) -> bytes:
    content = [{"type": "text", "text": f"mcpctl: {message}"}]
    return own_result(msgspec.json.encode({"content": content, "isError": True}), caller)


def no_results(message: str, caller: Caller) -> bytes:
    """The answer of a search that could not be understood, or not be made."""
    if offers.form_of(caller) is AnswerForm.TEXT:
        return refusal(message, caller)
    structured = {"results": [], "notice": message}
    content = [{"type": "text", "text": f"mcpctl: {message}"}]
    return own_result(
        msgspec.json.encode({"content": content, "structuredContent": structured, "isError": True}), caller
    )


def own_result(result: bytes, caller: Caller, *, complete: bool = True) -> bytes:
    """A result of our own as the caller's revision has it; one that is not `complete` has a `resultType` itself."""
    if not caller.modern:
        return result
    return b"%b,%b%b}" % (result[:-1], _STAMP, _COMPLETE if complete else b"")


def near(key: str, catalog: Catalog) -> list[str]:
    """Similar keys of tools that may be found; takes time in a large catalog."""
    return nearest(key[:_LONGEST_KEY], filter(is_plain, catalog.keys()))


def rejection(failure: Failure, caller: Caller) -> bytes:
    code = jsonrpc.INVALID_PARAMS if failure.code in _OF_PARAMS else jsonrpc.INTERNAL_ERROR
    if failure.code == "unknown_resource" and not caller.modern:
        code = _RESOURCE_NOT_FOUND
    message = words.for_model(replace(failure, was_sent=False))  # whatever was sent of it has changed nothing
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
    error = {"code": failure.code, "message": words.for_person(failure).message}
    status = "denied" if failure.code in words.DENIED else "failed"
    return "interrupted" if failure.code == "interrupted" else status, msgspec.json.encode(error)
