"""The semantic conventions for MCP as tests know them: names, types and values, by docs/gen-ai/mcp.md and model/mcp of
open-telemetry/semantic-conventions-genai at the commit that `mcpctl.otlp.operations` names."""

from collections.abc import Iterable
from typing import Any

from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

ANY = "any"
STRING, INT = "string_value", "int_value"
_OF_OPERATIONS = {
    "mcp.method.name": STRING, "error.type": STRING, "gen_ai.prompt.name": STRING, "gen_ai.tool.name": STRING,
    "rpc.response.status_code": STRING, "gen_ai.operation.name": STRING, "jsonrpc.protocol.version": STRING,
    "mcp.protocol.version": STRING, "network.protocol.name": STRING, "network.protocol.version": STRING,
    "network.transport": STRING,
}  # fmt: skip
_OF_SPANS = _OF_OPERATIONS | {
    "jsonrpc.request.id": STRING, "mcp.session.id": STRING, "mcp.resource.uri": STRING,
    "gen_ai.tool.call.arguments": ANY, "gen_ai.tool.call.result": ANY,
}  # fmt: skip
_OF_HTTP = {"http.request.method": STRING, "url.template": STRING, "http.response.status_code": INT}
SERVER_SPAN = _OF_SPANS | {"client.address": STRING, "client.port": INT}
CLIENT_SPAN = _OF_SPANS | {"server.address": STRING, "server.port": INT} | _OF_HTTP
SERVER_DURATION, CLIENT_DURATION = _OF_OPERATIONS, _OF_OPERATIONS | {"server.address": STRING, "server.port": INT}
SESSION_DURATION = {
    "error.type": STRING, "jsonrpc.protocol.version": STRING, "mcp.protocol.version": STRING,
    "network.protocol.name": STRING,
}  # fmt: skip
METRICS = {
    "mcp.server.operation.duration": SERVER_DURATION, "mcp.client.operation.duration": CLIENT_DURATION,
    "mcp.server.session.duration": SESSION_DURATION,
}  # fmt: skip
BOUNDARIES = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300]
WELL_KNOWN = {"gen_ai.operation.name": {"execute_tool"}, "network.transport": {"tcp", "pipe"}}
OWN = {"mcpctl.server.name", "mcpctl.call.id", "mcpctl.call.status", "mcpctl.error.code", "mcpctl.machine.name"}
NOT_ERRORS_OF_SERVERS = {"-32700", "-32600", "-32601", "-32602", "-32002"}


def value(of: AnyValue) -> Any:
    """The Python value of an attribute's."""
    kind = of.WhichOneof("value")
    if kind == "kvlist_value":
        return {each.key: value(each.value) for each in of.kvlist_value.values}
    if kind == "array_value":
        return [value(each) for each in of.array_value.values]
    return getattr(of, kind) if kind else None


def values(of: Iterable[KeyValue]) -> dict[str, Any]:
    """All attributes by their names."""
    return {each.key: value(each.value) for each in of}


def check(attributes: Iterable[KeyValue], types: dict[str, str]) -> None:
    """Each name once, known to the conventions or our own, with the type that they say."""
    names = [each.key for each in attributes]
    assert len(names) == len(set(names))
    for each in attributes:
        if each.key in OWN:
            assert each.value.WhichOneof("value") == STRING
            continue
        assert each.key in types, each.key
        assert types[each.key] == ANY or each.value.WhichOneof("value") == types[each.key], each
        assert value(each.value) in WELL_KNOWN.get(each.key, [value(each.value)])


def check_span(span: Span) -> None:
    """What the conventions say of every span of a tool's call."""
    is_server = span.kind == Span.SPAN_KIND_SERVER
    assert is_server or span.kind == Span.SPAN_KIND_CLIENT
    check(span.attributes, SERVER_SPAN if is_server else CLIENT_SPAN)
    known = values(span.attributes)
    assert known["mcp.method.name"] == "tools/call"
    assert span.name in ("tools/call", f"tools/call {known['gen_ai.tool.name']}")
    assert (span.status.code == Status.STATUS_CODE_ERROR) == ("error.type" in known)
    assert span.status.code in (Status.STATUS_CODE_UNSET, Status.STATUS_CODE_ERROR)
    code = known.get("rpc.response.status_code")
    assert known.get("error.type", code) in (code, "tool_error") or code is None
    if code:
        assert ("error.type" in known) != (is_server and code in NOT_ERRORS_OF_SERVERS)
    assert (known.get("network.transport") == "tcp") == ("network.protocol.name" in known)
    assert (len(span.trace_id), len(span.span_id)) == (16, 8)
    assert len(span.parent_span_id) in (0, 8)
    assert 0 < span.start_time_unix_nano <= span.end_time_unix_nano
