"""Operations as spans. Their ids follow from the ids on record: whoever exports a call again makes the same spans."""

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, KeyValue, KeyValueList
from opentelemetry.proto.trace.v1.trace_pb2 import Span, SpanFlags, Status

from mcpctl.base import bounds, trace_context
from mcpctl.base.models import Row
from mcpctl.otlp.operations import TOOL_ERROR, McpOperation

_SAMPLED = 1
_HAS_REMOTE, _IS_REMOTE = SpanFlags.SPAN_FLAGS_CONTEXT_HAS_IS_REMOTE_MASK, SpanFlags.SPAN_FLAGS_CONTEXT_IS_REMOTE_MASK
_BENEATH = "/client"  # follows the id of a call for the second of its spans
_DEEPEST = 24  # levels of a value, each of which is three of a message: protobuf takes no more than a hundred
_LONG_MIN, _LONG_MAX = -(1 << 63), (1 << 63) - 1


def span(operation: McpOperation, *, content: bool) -> Span:
    """The span of an operation. The words of an error are there if they are not what a tool has answered, else with
    the `content` of calls."""
    call = operation.call
    parent = trace_context.read(call["trace"])
    made = Span(
        trace_id=parent.trace_id if parent else _first(call["session_id"] + call["id"], 16),
        span_id=_span_id(call, operation.is_beneath),
        name=operation.name,
        kind=Span.SPAN_KIND_SERVER if operation.is_server else Span.SPAN_KIND_CLIENT,
        start_time_unix_nano=operation.begun_ns,
        end_time_unix_nano=operation.ended_ns,
        attributes=attributes({**operation.attributes, **operation.details}),
        flags=(parent.flags if parent else _SAMPLED) | _HAS_REMOTE,
    )
    if operation.is_beneath:
        made.parent_span_id = _span_id(call, False)
    elif parent:
        made.parent_span_id = parent.span_id
        made.flags |= _IS_REMOTE
    if "error.type" in operation.attributes:
        made.status.code = Status.STATUS_CODE_ERROR
        if call["error_message"] and (content or call["status"] != TOOL_ERROR):
            made.status.message = call["error_message"][: bounds.OTLP_MESSAGE]
    return made


def attributes(values: Mapping[str, Any]) -> Iterable[KeyValue]:
    return [KeyValue(key=name, value=_any_value(value)) for name, value in values.items()]


def _span_id(call: Row, is_beneath: bool) -> bytes:
    return _first(call["id"] + _BENEATH * is_beneath, 8)


def _first(ids: str, size: int) -> bytes:
    return hashlib.sha256(ids.encode()).digest()[:size]


def _any_value(value: Any, depth: int = 0) -> AnyValue:
    match value:
        case None:
            return AnyValue()
        case bool():
            return AnyValue(bool_value=value)
        case int() if _LONG_MIN <= value <= _LONG_MAX:
            return AnyValue(int_value=value)
        case float():
            return AnyValue(double_value=value)
        case dict() if depth < _DEEPEST:
            members = (KeyValue(key=name, value=_any_value(each, depth + 1)) for name, each in value.items())
            return AnyValue(kvlist_value=KeyValueList(values=members))
        case list() if depth < _DEEPEST:
            return AnyValue(array_value=ArrayValue(values=(_any_value(each, depth + 1) for each in value)))
        case str():
            return AnyValue(string_value=value)
        case _:
            return AnyValue(string_value=msgspec.json.encode(value).decode())
