"""Calls on record as operations of MCP: a server's for the client's request, and a client's beneath for what mcpctl
asked of the server. Names and attributes are those of the semantic conventions at `COMMIT`; what they have no name for
begins with mcpctl.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import msgspec

from mcpctl.base.callers import LEGACY_REVISIONS
from mcpctl.base.models import NOT_THERE, Row
from mcpctl.base.tool_keys import OWN

CONVENTIONS = "open-telemetry/semantic-conventions-genai"
COMMIT = "e57c543b4889619eb2a05702471937db5119165d"  # of 2026-09-24; status: Development

METHOD = "tools/call"
TOOL_ERROR = "tool_error"
_OTHER = "_OTHER"  # an error of which no class is known
_OF_CLIENTS = ("client", "direct")  # the `via` of calls that an MCP client has made; for others, nobody asked mcpctl
_OF_CALLERS = ("-32700", "-32600", "-32601", "-32602", "-32002")  # codes that are no errors of the server that answers
_CODE = re.compile(r"-?[0-9]{1,10}", re.ASCII)
_OURS = "mcpctl: "  # begins the JSON-RPC errors of our own, which no server was asked about
_NEVER_ASKED = (*NOT_THERE, "server_unusable")
_EPOCH = datetime.fromtimestamp(0, UTC)

Attributes = Mapping[str, str | int]


class McpOperation(NamedTuple):
    is_server: bool  # whether mcpctl answered it, and did not ask
    call: Row
    is_beneath: bool  # whether it is the second of two of one call
    attributes: Attributes  # of its span and of its duration
    details: Mapping[str, Any]  # attributes of its span alone
    begun_ns: int
    ended_ns: int

    @property
    def name(self) -> str:
        """Its target is a tool that there is; names that models make up are of any number."""
        tool = self.attributes.get("gen_ai.tool.name")
        return f"{METHOD} {tool}" if tool else METHOD


def of_call(
    call: Row, revision: str | None, *, ended: str | None = None, decided: str | None = None, content: bool = False
) -> list[McpOperation]:
    """The operations of a call that has ended, or was `ended` with its session, whose client speaks this revision. Its
    server was asked once it was `decided` on, for which a person may have taken long."""
    begun_ns = nanoseconds(call["started_at"])
    lasted_ms = call["duration_ms"]
    ended_ns = begun_ns + lasted_ms * 1_000_000 if lasted_ms is not None else nanoseconds(ended or call["started_at"])
    ended_ns = max(begun_ns, ended_ns)
    sent_ns = min(max(begun_ns, nanoseconds(decided)), ended_ns) if decided else begun_ns
    is_of_client = call["via"] in _OF_CLIENTS
    details = _details(call, content)
    sides = []
    if is_of_client:
        of_request = _of_request(call, revision)
        attributes = {**_attributes(call, is_server=True), **_network(call["transport"]), **_revision(revision)}
        sides.append(McpOperation(True, call, False, attributes, {**details, **of_request}, begun_ns, ended_ns))
    if _was_asked(call):
        of_api = _of_api(call)
        attributes = {**_attributes(call, is_server=False), **(_network("http") if of_api else {})}
        sides.append(McpOperation(False, call, is_of_client, attributes, {**details, **of_api}, sent_ns, ended_ns))
    return sides


def has_session_id(transport: str | None, revision: str | None) -> bool:
    """Whether the session has an Mcp-Session-Id: the newer protocol has none, nor has stdio."""
    return transport == "http" and revision in LEGACY_REVISIONS


def of_session(revision: str) -> Attributes:
    """The attributes of the duration of a session that has an Mcp-Session-Id."""
    return {"network.protocol.name": "http", **_revision(revision)}


def nanoseconds(timestamp: str) -> int:
    """Nanoseconds since the epoch; raises `ValueError`."""
    moment = datetime.fromisoformat(timestamp)
    if moment.tzinfo is None:
        raise ValueError("a time without its zone is of many moments")
    return (moment - _EPOCH) // timedelta(microseconds=1) * 1000


def _attributes(call: Row, *, is_server: bool) -> dict[str, str | int]:
    attributes: dict[str, str | int] = {
        "mcp.method.name": METHOD, "gen_ai.operation.name": "execute_tool",
    }  # fmt: skip
    if call["error_code"] not in NOT_THERE:
        attributes |= _target(call)
    error, status = _error(call, is_server)
    if error:
        attributes["error.type"] = error
    if status:
        attributes["rpc.response.status_code"] = status
    return attributes


def _target(call: Row) -> dict[str, str]:
    return {"gen_ai.tool.name": call["tool"], "mcpctl.server.name": call["server"]}


def _error(call: Row, is_server: bool) -> tuple[str, str]:
    """The class of its error, and the code of a JSON-RPC error; empty where there is none. A refusal of ours is a
    result with isError."""
    status, code = call["status"], call["error_code"] or ""
    if status in ("ok", "input_required"):
        return "", ""
    if status == TOOL_ERROR:
        return TOOL_ERROR, ""
    if status in ("cancelled", "interrupted"):
        return status, ""
    if _CODE.fullmatch(code):
        return "" if is_server and code in _OF_CALLERS else code, code
    return TOOL_ERROR if is_server else code or _OTHER, ""


def _was_asked(call: Row) -> bool:
    """Whether its server was to do it: it was neither refused, nor answered by mcpctl itself."""
    code = call["error_code"] or ""
    if call["server"] == OWN or call["status"] == "denied" or code in _NEVER_ASKED:
        return False
    return not (_CODE.fullmatch(code) and (call["error_message"] or "").startswith(_OURS))


def _network(transport: str | None) -> dict[str, str]:
    if transport == "http":
        return {"network.transport": "tcp", "network.protocol.name": "http"}
    return {"network.transport": "pipe"}


def _revision(revision: str | None) -> dict[str, str]:
    return {"mcp.protocol.version": revision} if revision else {}


def _of_request(call: Row, revision: str | None) -> Attributes:
    id_ = _decoded(call["request_id"])
    attributes = {} if id_ is None else {"jsonrpc.request.id": id_ if isinstance(id_, str) else str(call["request_id"])}
    if has_session_id(call["transport"], revision):
        attributes["mcp.session.id"] = call["session_id"]
    return attributes


def _of_api(call: Row) -> dict[str, str | int]:
    """The request of an HTTP API's tool, as conventions for HTTP have it."""
    request = _decoded(call["http"])
    if not isinstance(request, dict):
        return {}
    attributes: dict[str, str | int] = {
        "http.request.method": str(request.get("method")), "url.template": str(request.get("path")),
    }  # fmt: skip
    if call["http_status"] is not None:
        attributes["http.response.status_code"] = call["http_status"]
    return attributes


def _details(call: Row, content: bool) -> Mapping[str, Any]:
    details: dict[str, Any] = {"mcpctl.call.id": call["id"], "mcpctl.call.status": call["status"]}
    code = call["error_code"] or ""
    if code and code != TOOL_ERROR and not _CODE.fullmatch(code):
        details["mcpctl.error.code"] = code
    if call["error_code"] in NOT_THERE:
        details |= _target(call)
    details["mcpctl.machine.name"] = call.get("machine")  # only over --store
    if content:
        details["gen_ai.tool.call.arguments"] = _decoded(call["arguments"])
        if call["status"] == "ok":
            details["gen_ai.tool.call.result"] = _decoded(call["response"])
    return {name: value for name, value in details.items() if value is not None}


def _decoded(text: str | None) -> Any:
    """The value of JSON on record; the text itself where it cannot be read."""
    try:
        return None if text is None else msgspec.json.decode(text.encode())
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return str(text)
