"""The headers of a request of 2026-07-28 that repeat its body, by which others on the way route it: they have to agree.
https://modelcontextprotocol.io/specification/2026-07-28/basic/transports#request-headers"""

import base64
import json
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from mcpctl.base import bounds
from mcpctl.over_http.http_exchange import HttpExchange, HttpRefusal
from mcpctl.wire import jsonrpc

VERSION = b"mcp-protocol-version"
_NAMES = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_BEGIN, _END = "=?base64?", "?="


def check(http: HttpExchange, id_: bytes, method: str, params: Mapping[str, bytes], meta: Mapping[str, bytes]) -> None:
    """Raises `HttpRefusal` where a header is not what the body says, or the envelope lacks something."""
    repeated = method, params.get(_NAMES.get(method, ""), b""), params.get("_meta", b"")
    if http.notes.get("mirrored") == repeated:
        return
    for key in (jsonrpc.VERSION_KEY, jsonrpc.CAPABILITIES_KEY):
        if key not in meta:
            raise refusal(id_, f"_meta needs {key}", jsonrpc.INVALID_PARAMS)
    if http.header(VERSION) != _text(meta[jsonrpc.VERSION_KEY]):
        raise refusal(id_, "the header MCP-Protocol-Version is not the version in _meta")
    if http.header(b"mcp-method") != method:
        raise refusal(id_, "the header Mcp-Method is not the body's method")
    if member := _NAMES.get(method):
        name = _text(params.get(member, b""))
        if decoded(http.header(b"mcp-name")) != name:
            raise refusal(id_, f"the header Mcp-Name is not the body's {member}")
    if len(repeated[1]) + len(repeated[2]) <= bounds.CLIENT_INFO:
        http.notes["mirrored"] = repeated


def refusal(id_: bytes, message: str, code: int = jsonrpc.HEADER_MISMATCH) -> HttpRefusal:
    return HttpRefusal(HTTPStatus.BAD_REQUEST, message, code=code, id_=id_)


def _text(raw: bytes) -> str | None:
    try:
        return jsonrpc.value(raw, str)
    except jsonrpc.Malformed:
        return None


def decoded(value: str | None) -> str | None:
    """The text of a header's value; None where it says that it is in base64 and is not."""
    if value is None or not (value.startswith(_BEGIN) and value.endswith(_END)):
        return value
    text = value[len(_BEGIN) : -len(_END)]
    try:
        raw = base64.b64decode(text)
        return raw.decode() if base64.b64encode(raw).decode() == text else None  # of one text there is one form
    except ValueError:
        return None


def problem_of_arguments(schema: Mapping[str, Any], arguments: bytes, headers: Sequence[tuple[str, str]]) -> str:
    """The problem of the headers that a tool's schema asks for, by the SDK's reading of it; empty where all agree."""
    from mcp.shared.inbound import validate_mcp_param_headers

    if len({name for name, _ in headers}) < len(headers):
        return "a header Mcp-Param-* appears more than once"
    try:
        values = json.loads(arguments or b"{}")
    except (ValueError, RecursionError):
        return ""  # the server can read it, perhaps
    problem = validate_mcp_param_headers(schema, values if isinstance(values, dict) else {}, dict(headers))
    return problem.message if problem else ""
