"""Calls on record as spans: names, types, parents and ids as the conventions and our contract have them."""

import hashlib
from typing import Any

from opentelemetry.proto.trace.v1.trace_pb2 import Span

from mcpctl.base.paths import Paths
from mcpctl.otlp import operations
from mcpctl.store import journal_lines
from tests.conftest import ROOT
from tests.otlp import conventions
from tests.otlp.conftest import Export
from tests.otlp.conventions import values
from tests.otlp.receiver import OwnReceiver
from tests.recorded import CLAUDE, CURSOR, at, call, call_id, closed, created, decided, opened, raw, session, started
from tests.table import for_each

SERVER, CLIENT = Span.SPAN_KIND_SERVER, Span.SPAN_KIND_CLIENT
TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


def first(text: str, size: int) -> bytes:
    return hashlib.sha256(text.encode()).digest()[:size]


def of(receiver: OwnReceiver, kind: "Span.SpanKind.ValueType") -> list[Span]:
    for span in receiver.spans:
        conventions.check_span(span)
    return [span for span in receiver.spans if span.kind == kind]


def failed(code: Any, message: str = "no", **more: Any) -> dict[str, Any]:
    return {"status": "failed", "error": raw({"code": code, "message": message}), "response": raw(None), **more}


def test_a_call_is_a_span_of_the_client_s_request_with_one_of_the_server_s_beneath(
    paths: Paths, export: Export, receiver: OwnReceiver
) -> None:
    session(paths, rest=call(1, 1, request_id=raw("request-7"), transport="stdio", duration_ms=1250))
    export()
    (server,), (client,) = of(receiver, SERVER), of(receiver, CLIENT)
    id_ = call_id(1)
    assert (server.name, client.name) == ("tools/call get_forecast", "tools/call get_forecast")
    assert server.trace_id == client.trace_id == first(CLAUDE + id_, 16)
    assert (server.span_id, server.parent_span_id) == (first(id_, 8), b"")
    assert (client.span_id, client.parent_span_id) == (first(id_ + "/client", 8), server.span_id)
    assert (server.flags, client.flags) == (0x101, 0x101)
    begun = 4_102_488_060_000_000_000
    for span in (server, client):
        assert (span.start_time_unix_nano, span.end_time_unix_nano) == (begun, begun + 1_250_000_000)
    shared = {
        "mcp.method.name": "tools/call", "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "get_forecast",
        "mcpctl.server.name": "weather", "mcpctl.call.id": id_, "mcpctl.call.status": "ok",
    }  # fmt: skip
    of_request = {"jsonrpc.request.id": "request-7", "network.transport": "pipe", "mcp.protocol.version": "2025-11-25"}
    assert values(server.attributes) == shared | of_request
    assert values(client.attributes) == shared


def test_a_request_with_a_traceparent_goes_on_with_that_trace(
    paths: Paths, export: Export, receiver: OwnReceiver
) -> None:
    rest = call(1, 1, trace=f"00-{TRACE}-{PARENT}-00")
    session(paths, rest=[*rest, *call(2, 2, trace="00-of-no-form"), *call(3, 3, trace=None)])
    export()
    server, odd, without = of(receiver, SERVER)
    client = of(receiver, CLIENT)[0]
    assert server.trace_id == client.trace_id == bytes.fromhex(TRACE)
    assert server.parent_span_id == bytes.fromhex(PARENT)
    assert (server.span_id, client.parent_span_id) == (first(call_id(1), 8), first(call_id(1), 8))
    assert (server.flags, client.flags) == (0x300, 0x100)
    assert (odd.trace_id, odd.parent_span_id) == (first(CLAUDE + call_id(2), 16), b"")
    assert (without.trace_id, without.parent_span_id) == (first(CLAUDE + call_id(3), 16), b"")


def test_what_is_sent_twice_is_the_same(paths: Paths, export: Export, receiver: OwnReceiver) -> None:
    rest = [each for number in range(1, 6) for each in call(number, number, trace=f"00-{TRACE}-{PARENT}-01")]
    session(paths, rest=rest)
    session(paths, CURSOR, 1, call(6, 1.5, CURSOR))
    export()
    before, receiver.asked[:] = list(receiver.asked), []
    export()
    assert [(each.path, each.body) for each in receiver.asked] == [(each.path, each.body) for each in before]


_OUTCOMES: list[tuple[dict[str, Any], tuple[str | None, str | None], tuple[str | None, str | None] | None]] = [
    # the members of the record, then error.type and rpc.response.status_code of the server's span and the client's
    ({"status": "ok"}, (None, None), (None, None)),
    ({"status": "input_required"}, (None, None), (None, None)),
    ({"status": "tool_error", "response": raw({"content": [], "isError": True})}, ("tool_error", None),
     ("tool_error", None)),
    (failed(-32603), ("-32603", "-32603"), ("-32603", "-32603")),
    (failed(-32001), ("-32001", "-32001"), ("-32001", "-32001")),
    (failed(-32602), (None, "-32602"), ("-32602", "-32602")),
    (failed(-32601), (None, "-32601"), ("-32601", "-32601")),
    (failed(-32002), (None, "-32002"), ("-32002", "-32002")),
    (failed(-32602, "mcpctl: inputResponses must be an object"), (None, "-32602"), None),
    (failed("timed_out"), ("tool_error", None), ("timed_out", None)),
    (failed("server_died"), ("tool_error", None), ("server_died", None)),
    (failed("unknown_tool"), ("tool_error", None), None),
    (failed("server_unusable"), ("tool_error", None), None),
    (failed(None), ("tool_error", None), ("_OTHER", None)),
    (failed("needs_consent", status="denied"), ("tool_error", None), None),
    ({"status": "cancelled", "response": raw(None)}, ("cancelled", None), ("cancelled", None)),
    (failed("interrupted", status="interrupted"), ("interrupted", None), ("interrupted", None)),
    ({"status": "ok", "server": "@mcpctl", "tool": "read"}, (None, None), None),
]  # fmt: skip


@for_each("number, members, of_server, of_client", [(n, *each) for n, each in enumerate(_OUTCOMES)])
def test_errors_are_classified_on_either_side(
    paths: Paths, export: Export, receiver: OwnReceiver, number: int, members: dict[str, Any],
    of_server: tuple[str | None, ...], of_client: tuple[str | None, ...] | None,
) -> None:  # fmt: skip
    id_ = f"{number:08}-0000-4000-8000-000000000000"
    of_session = f"5e551050-0000-4000-8000-{number:012}"
    opened(paths, created(of_session), call(id_, number, of_session, **members)).close()
    receiver.asked.clear()
    export("--since", at(number))
    told = {
        kind: [
            (known.get("error.type"), known.get("rpc.response.status_code"))
            for known in (values(span.attributes) for span in of(receiver, kind))
        ]
        for kind in (SERVER, CLIENT)
    }
    assert told == {SERVER: [of_server], CLIENT: [of_client] if of_client else []}
    assert members["status"] == values(receiver.spans[0].attributes)["mcpctl.call.status"]


def test_the_words_of_an_error_are_there_and_what_a_tool_has_answered_only_with_content(
    paths: Paths, export: Export, receiver: OwnReceiver
) -> None:
    answer = raw({"content": [{"type": "text", "text": "the tool's own words"}], "isError": True})
    rest = [*call(1, 1, **failed(-32603, "x" * 5000)), *call(2, 2, status="tool_error", response=answer)]
    session(paths, rest=rest)
    export()
    assert [span.status.message for span in of(receiver, CLIENT)] == ["x" * 1000, ""]
    receiver.asked.clear()
    export("--content")
    assert [span.status.message for span in of(receiver, CLIENT)] == ["x" * 1000, "the tool's own words"]


def test_arguments_and_results_are_sent_with_content_alone_as_they_are_on_record(
    paths: Paths, export: Export, receiver: OwnReceiver
) -> None:
    given = {"city": "Oslo", "key": "[redacted:1a2b3c4d]", "n": [1, 2.5, True, None, 1 << 70], "deep": {"er": {}}}
    answer = {"content": [{"type": "text", "text": "cloudy"}]}
    cut = '{"city":"Oslo and'
    deep: Any = "bottom"
    for _ in range(60):
        deep = [deep]
    rest = [
        *call(1, 1, arguments=raw(given), response=raw(answer)),
        *call(2, 2, arguments=raw(cut), **failed(-32603)),
        *call(3, 3, arguments=raw({"deep": deep}), status="tool_error", response=raw(answer)),
    ]
    session(paths, rest=rest)
    export()
    assert not any(b"Oslo" in span.SerializeToString() for span in receiver.spans)
    names = {each.key for span in receiver.spans for each in span.attributes}
    assert names.isdisjoint(("gen_ai.tool.call.arguments", "gen_ai.tool.call.result"))
    receiver.asked.clear()
    export("--content")
    for kind in (SERVER, CLIENT):
        first, second, third = (values(span.attributes) for span in of(receiver, kind))
        assert first["gen_ai.tool.call.arguments"] == {**given, "n": [1, 2.5, True, None, str(1 << 70)]}
        assert first["gen_ai.tool.call.result"] == answer
        assert second["gen_ai.tool.call.arguments"] == cut
        assert "gen_ai.tool.call.result" not in second
        assert "gen_ai.tool.call.result" not in third
        value = third["gen_ai.tool.call.arguments"]["deep"]
        while isinstance(value, list):
            (value,) = value
        assert value.strip("[]") == '"bottom"'


def test_a_call_of_a_command_is_a_client_s_span_alone(paths: Paths, export: Export, receiver: OwnReceiver) -> None:
    """Nobody has asked mcpctl for it by MCP."""
    session(paths, rest=[*call(1, 1, via="cli"), *call(2, 2, via="replay"), *call(3, 3, via="direct")])
    export()
    command, replayed, direct = of(receiver, CLIENT)
    assert (command.span_id, command.parent_span_id) == (first(call_id(1), 8), b"")
    assert (replayed.span_id, replayed.parent_span_id) == (first(call_id(2), 8), b"")
    assert direct.parent_span_id == first(call_id(3), 8)
    assert [span.span_id for span in of(receiver, SERVER)] == [first(call_id(3), 8)]


def test_a_server_is_asked_once_a_person_has_said_yes(paths: Paths, export: Export, receiver: OwnReceiver) -> None:
    asked, approved = (decided(call_id(1), each) for each in ("asked", "approved"))
    approved.timestamp = at(3)
    begun, ended = call(1, 1, duration_ms=180_000)
    denied = call(2, 5, duration_ms=60_000, **failed("declined", status="denied"))
    session(paths, rest=[begun, asked, approved, ended, *denied])
    export()
    server, refused = of(receiver, SERVER)
    (client,) = of(receiver, CLIENT)
    assert (server.end_time_unix_nano - server.start_time_unix_nano) == 180 * 10**9
    assert (client.end_time_unix_nano - client.start_time_unix_nano) == 60 * 10**9
    assert client.end_time_unix_nano == server.end_time_unix_nano
    assert values(refused.attributes)["mcpctl.error.code"] == "declined"
    assert receiver.metrics["mcp.client.operation.duration"].histogram.data_points[0].sum == 60


def test_the_name_that_is_of_no_tool_is_no_target(paths: Paths, export: Export, receiver: OwnReceiver) -> None:
    session(paths, rest=call(1, 1, tool="made-up-by-a-model", **failed("unknown_tool")))
    export()
    (server,) = of(receiver, SERVER)
    assert server.name == "tools/call"
    assert values(server.attributes)["gen_ai.tool.name"] == "made-up-by-a-model"
    (point,) = receiver.metrics["mcp.server.operation.duration"].histogram.data_points
    assert values(point.attributes).keys().isdisjoint(("gen_ai.tool.name", "mcpctl.server.name"))


@for_each(
    "number, transport, revision, expected",
    [
        (1, "http", "2025-03-26", {"network.transport": "tcp", "network.protocol.name": "http", "mcp.session.id": ...}),
        (2, "http", "2025-11-25", {"network.transport": "tcp", "network.protocol.name": "http", "mcp.session.id": ...}),
        (3, "http", "2026-07-28", {"network.transport": "tcp", "network.protocol.name": "http"}),
        (4, "stdio", "2025-11-25", {"network.transport": "pipe"}),
        (5, "stdio", "2026-07-28", {"network.transport": "pipe"}),
    ],
)
def test_a_session_has_an_id_only_where_it_has_an_mcp_session_id(
    paths: Paths, export: Export, receiver: OwnReceiver, number: int, transport: str, revision: str,
    expected: dict[str, Any],
) -> None:  # fmt: skip
    id_ = f"5e551050-0000-4000-8000-{number:012}"
    begun = created(id_, number, protocol_version=revision)
    journal = opened(paths, begun, call(f"{number}-call", number, id_, transport=transport))
    journal.close(journal_lines.encode(closed(id_, number + 0.5)))
    receiver.asked.clear()
    export("--since", at(number))
    known = values(of(receiver, SERVER)[0].attributes)
    told = {name: known[name] for name in known if name.startswith(("network.", "mcp.session"))}
    assert told == {name: id_ if value is ... else value for name, value in expected.items()}
    assert known["mcp.protocol.version"] == revision
    assert not any(name.startswith("mcp.session") for name in values(of(receiver, CLIENT)[0].attributes))
    sessions = receiver.metrics.get("mcp.server.session.duration")
    assert (sessions is not None) == ("mcp.session.id" in expected)
    if sessions:
        (point,) = sessions.histogram.data_points
        conventions.check(point.attributes, conventions.SESSION_DURATION)
        assert (point.count, point.sum) == (1, 30.0)
        assert values(point.attributes)["mcp.protocol.version"] == revision


def test_a_call_of_an_http_api_has_what_was_asked_there(paths: Paths, export: Export, receiver: OwnReceiver) -> None:
    http = raw({"method": "GET", "path": "/orders/{id}"})
    session(paths, rest=call(1, 1, http=http, status="tool_error", http_status=404))
    export()
    known = values(of(receiver, CLIENT)[0].attributes)
    assert {name: known[name] for name in known if name.split(".")[0] in ("http", "url", "network")} == {
        "http.request.method": "GET", "url.template": "/orders/{id}", "http.response.status_code": 404,
        "network.transport": "tcp", "network.protocol.name": "http",
    }  # fmt: skip
    assert not any(name.startswith(("http", "url")) for name in values(of(receiver, SERVER)[0].attributes))


def test_a_call_without_an_end_has_that_of_its_session(paths: Paths, export: Export, receiver: OwnReceiver) -> None:
    journal = opened(paths, created(), [started(1, 1), started(2, 2), *call(3, 3)])
    export()
    assert [values(span.attributes)["mcpctl.call.id"] for span in of(receiver, SERVER)] == [call_id(3)]
    receiver.asked.clear()
    journal.close(journal_lines.encode(closed(minute=10)))
    export("--since", at(9))
    interrupted = of(receiver, SERVER)
    assert {span.span_id for span in interrupted} == {first(call_id(number), 8) for number in (1, 2)}
    for span in interrupted:
        assert values(span.attributes)["error.type"] == "interrupted"
        assert span.end_time_unix_nano == 4_102_488_600_000_000_000


def test_a_name_of_many_bytes_or_none_is_sent_all_the_same(paths: Paths, export: Export, receiver: OwnReceiver) -> None:
    tools = ["søk\N{GRINNING FACE}", "a\x00b\nc", "x" * 1024, ""]
    session(paths, rest=[each for number, tool in enumerate(tools, 1) for each in call(number, number, tool=tool)])
    export()
    assert [span.name for span in receiver.spans if span.kind == SERVER] == [
        "tools/call søk\N{GRINNING FACE}", "tools/call a\x00b\nc", "tools/call " + "x" * 1024, "tools/call"
    ]  # fmt: skip


@for_each("time", ["yesterday", "0001-01-01T00:00:00.000Z", "1969-12-31T23:59:59.000Z", "2100-01-01T12:00:00"])
def test_a_line_whose_time_cannot_be_read_keeps_no_other_from_being_sent(
    paths: Paths, export: Export, receiver: OwnReceiver, time: str
) -> None:
    number = len(list(paths.sessions.glob("*"))) if paths.sessions.exists() else 0
    of_session = f"5e551050-0000-4000-8000-{number:012}"
    begin, end = call(f"{number:08}-odd", number, of_session)
    begin.timestamp = time
    opened(paths, created(of_session), [begin, end, *call(f"{number:08}-call", number, of_session)]).close()
    receiver.asked.clear()
    ran = export("--since", at(number))
    assert f"{number:08}-odd: the times of its lines cannot be read" in ran.err
    assert [values(span.attributes)["mcpctl.call.id"] for span in of(receiver, SERVER)] == [f"{number:08}-call"]


@for_each("id_, expected", [(7, "7"), ("7", "7"), (1.5, "1.5"), (None, None)])
def test_the_id_of_a_request_is_a_string(
    paths: Paths, export: Export, receiver: OwnReceiver, id_: Any, expected: str | None
) -> None:
    number = len(list(paths.sessions.glob("*"))) if paths.sessions.exists() else 0
    of_session = f"5e551050-0000-4000-8000-{number:012}"
    opened(paths, created(of_session), call(f"{number}-call", number, of_session, request_id=raw(id_))).close()
    receiver.asked.clear()
    export("--since", at(number))
    (server,) = of(receiver, SERVER)
    assert values(server.attributes).get("jsonrpc.request.id") == expected


def test_the_guide_names_the_conventions_by_their_commit() -> None:
    guide = (ROOT / "mcpctl" / "docgen" / "guides" / "team.md").read_text(encoding="utf-8")
    assert f"`{operations.COMMIT}` of `{operations.CONVENTIONS}`" in guide.replace("\n  ", " ")
    assert all(f"`{name}`" in guide for name in conventions.OWN)
