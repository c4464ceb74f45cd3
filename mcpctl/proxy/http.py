"""The MCP SDK's client transports, as `remote` needs them: messages as JSON, and every failed request told in words.

Imported only for servers with a URL, in a thread, since the SDK takes a second to import.
"""

import asyncio
import json
import logging
import re
import socket
import ssl
import urllib.request
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from http import HTTPStatus
from typing import Any

import httpx2
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER, encode_header_value, mcp_param_headers, x_mcp_header_map
from mcp.shared.message import ClientMessageMetadata, SessionMessage
from mcp_types import JSONRPCError, JSONRPCMessage, JSONRPCNotification, JSONRPCRequest, jsonrpc_message_adapter
from msgspec import Raw

from mcpctl import __version__
from mcpctl.config import Endpoint
from mcpctl.proxy import jsonrpc
from mcpctl.proxy.connection import Exchange
from mcpctl.proxy.remote import Trouble
from mcpctl.store.redact import mask

_CONNECT_S = 30.0
_NOTIFY_S = 10.0
_BODY_S = 10.0
_LONGEST_SAID = 200
_HEADER_SINCE = "2025-06-18"
"""The first revision whose requests carry the MCP-Protocol-Version header."""
# What the SDK answers in a server's place; no server says it so.
_LOST = ("SSE stream ended", "SSE stream failed")
_NO_MESSAGE = (
    "Failed to parse JSON response",
    "Failed to parse SSE message",
    "Unexpected content type",
    "server answered a request with 202",
)
_NON_FINITE = re.compile(rb"NaN|Infinity|[eE]\+?\d{3}")

# Whatever the SDK logs is told in words where it matters.
logging.getLogger("mcp").addHandler(logging.NullHandler())
logging.getLogger("mcp").propagate = False

Told = Callable[[Trouble], None]


class Streams:
    """Both directions of one connection."""

    def __init__(self, incoming: Any, outgoing: Any) -> None:
        self._incoming = incoming
        self._outgoing = outgoing

    async def send(self, line: bytes, exchange: Exchange | None, revision: str, *, modern: bool) -> None:
        """Send a line; raises ValueError when it cannot go over HTTP."""
        message = jsonrpc_message_adapter.validate_json(line, by_name=False)
        if _NON_FINITE.search(line):
            json.dumps(getattr(message, "params", None), allow_nan=False)  # the SDK would send null in its place
        headers = _headers(message, exchange, revision, modern=modern)
        await self._outgoing.send(SessionMessage(message, ClientMessageMetadata(headers=headers)))

    async def messages(self) -> AsyncIterator[jsonrpc.Message | Trouble]:
        """What comes in, until the connection ends."""
        async for item in self._incoming:
            # An exception here is a message that is none; who waited for an answer gets another item.
            if not isinstance(item, Exception):
                yield _message(item.message)


@asynccontextmanager
async def connected(where: Endpoint, told: Told) -> AsyncGenerator[Streams]:
    """The open connection; `told` hears of every request that failed below JSON-RPC."""
    client = await asyncio.to_thread(_client, where, told)
    transport: AbstractAsyncContextManager[Any]
    if where.transport == "sse":
        transport = sse_client(where.url, httpx_client_factory=lambda *_, **__: client)
        async with transport as (incoming, outgoing):
            yield Streams(incoming, outgoing)
    else:
        async with client:
            transport = streamable_http_client(where.url, http_client=client, max_sse_event_size=None)
            async with transport as (incoming, outgoing):
                yield Streams(incoming, outgoing)


def in_words(error: BaseException) -> str:
    """What went wrong, for a person; of several errors the first, with its cause."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    cause: BaseException | None = error
    while cause:
        if said := _cause_in_words(cause):
            return said
        cause = cause.__cause__ or cause.__context__
    if isinstance(error, httpx2.TimeoutException):
        return "it does not answer (connecting timed out)"
    if isinstance(error, httpx2.NetworkError | httpx2.RemoteProtocolError):
        return "the connection broke off"
    return mask(f"{str(error) or type(error).__name__}")[:_LONGEST_SAID]


def _cause_in_words(error: BaseException) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return (
            f"TLS: its certificate is not trusted ({error.verify_message.rstrip('.')}); "
            "if it is the right server, name the file of its certificate authority in SSL_CERT_FILE"
        )
    if isinstance(error, ssl.SSLError):
        return f"TLS: no encrypted connection comes about ({error.reason or error}); is it an http:// address?"
    if isinstance(error, socket.gaierror):
        return "no such host (its name cannot be resolved)"
    if isinstance(error, ConnectionRefusedError):
        return "nothing listens there (connection refused)"
    return ""


def _client(where: Endpoint, told: Told) -> httpx2.AsyncClient:
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=20)
    inner = httpx2.AsyncHTTPTransport(limits=limits, proxy=_proxy(where.url))
    # Calls may take as long as they take: the client, or call_timeout_s, ends them.
    timeout = httpx2.Timeout(_CONNECT_S, read=None, pool=None)
    headers = {"user-agent": f"mcpctl/{__version__}", **where.headers}
    return httpx2.AsyncClient(transport=_Wire(inner, told), headers=headers, timeout=timeout)


def _proxy(url: str) -> str | None:
    """The HTTP proxy that the environment names for this address, as curl reads it."""
    address = httpx2.URL(url)
    if urllib.request.proxy_bypass(address.host):
        return None
    proxies = urllib.request.getproxies()
    return proxies.get(address.scheme) or proxies.get("all")


class _Wire(httpx2.AsyncBaseTransport):
    """HTTP below the SDK: it ends a whole connection for one request's failure, so none reaches it."""

    def __init__(self, inner: httpx2.AsyncBaseTransport, told: Told) -> None:
        self._inner = inner
        self._told = told

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        id_ = _request_id(request)
        try:
            # A notification has no answer whose time could be anybody's business.
            async with asyncio.timeout(_NOTIFY_S if request.method == "POST" and id_ is None else None):
                response = await self._inner.handle_async_request(request)
        except TimeoutError:
            return httpx2.Response(202, request=request)
        except httpx2.TransportError as error:
            if request.method == "DELETE":
                raise
            unsent = isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.ProxyError)
            self._told(Trouble("unreachable" if unsent else "lost", in_words(error), id_))
            if request.method == "GET":
                raise
            return httpx2.Response(202, request=request)
        if response.status_code >= HTTPStatus.BAD_REQUEST and request.method != "DELETE":
            return await self._refused(request, response, id_)
        if id_ is not None and _is_json(response):
            assert isinstance(response.stream, httpx2.AsyncByteStream)
            response.stream = _Body(response.stream, lambda error: self._told(Trouble("lost", in_words(error), id_)))
        return response

    async def _refused(self, request: httpx2.Request, response: httpx2.Response, id_: int | None) -> httpx2.Response:
        body = await _body(response)
        status = response.status_code
        said = f"HTTP {status} {response.reason_phrase}".rstrip()
        said += _detail(response, body)
        if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
            self._told(Trouble("refused", said, id_))
        elif "mcp-session-id" in request.headers and _is_no_session(status, body) and request.method == "POST":
            self._told(Trouble("no_session", said, id_))
        elif id_ is not None and _is_json(response) and _is_error(body):
            return response  # a JSON-RPC error, which is the server's answer
        elif request.method == "POST":
            self._told(Trouble("failed", said, id_))
        if request.method == "GET":
            return response
        await response.aclose()
        return httpx2.Response(202, request=request)


class _Body(httpx2.AsyncByteStream):
    """A response's body, whose breaking off is told."""

    def __init__(self, inner: httpx2.AsyncByteStream, broken: Callable[[Exception], None]) -> None:
        self._inner = inner
        self._broken = broken

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._inner:
                yield chunk
        except httpx2.TransportError as error:
            self._broken(error)
            raise httpx2.StreamError(str(error)) from error  # which the SDK survives

    async def aclose(self) -> None:
        await self._inner.aclose()


def _request_id(request: httpx2.Request) -> int | None:
    """The id of the JSON-RPC request that a POST carries; None for notifications and answers."""
    if request.method != "POST":
        return None
    message = jsonrpc.decode(request.content)
    text = bytes(message.id)
    return int(text) if message.method is not None and text.isdigit() else None


async def _body(response: httpx2.Response) -> bytes:
    try:
        async with asyncio.timeout(_BODY_S):
            return await response.aread()
    except (TimeoutError, httpx2.HTTPError, httpx2.StreamError):
        return b""


def _is_json(response: httpx2.Response) -> bool:
    return response.headers.get("content-type", "").lower().startswith("application/json")


def _is_error(body: bytes) -> bool:
    try:
        return jsonrpc.members(body).get("error", b"").startswith(b"{")
    except jsonrpc.Malformed:
        return False


def _is_no_session(status: int, body: bytes) -> bool:
    """Whether the server has forgotten the session: 404 by the specification, 400 by the TypeScript SDK's examples."""
    return status == HTTPStatus.NOT_FOUND or (status == HTTPStatus.BAD_REQUEST and b"session" in body.lower())


def _detail(response: httpx2.Response, body: bytes) -> str:
    """What the server says of its refusal, on one line."""
    described = re.search(r'error_description="([^"]*)"', response.headers.get("www-authenticate", ""))
    text = described[1] if described else body[: 4 * _LONGEST_SAID].decode("utf-8", "replace")
    try:
        found = json.loads(body) if not described else {}
        error = found.get("error", found)
        text = next(v for v in (error.get("message"), found.get("error_description"), found.get("error")) if v)
    except (ValueError, AttributeError, StopIteration):
        pass
    text = " ".join(str(text).split()) if not str(text).lstrip().startswith("<") else ""
    return f": {mask(text)[:_LONGEST_SAID]}" if text else ""


def _headers(
    message: JSONRPCMessage, exchange: Exchange | None, revision: str, *, modern: bool
) -> dict[str, str] | None:
    """The headers that mirror a message: all of 2026-07-28's, the revision alone for older ones."""
    if not modern:
        return {MCP_PROTOCOL_VERSION_HEADER: revision} if revision >= _HEADER_SINCE else None
    headers = {MCP_PROTOCOL_VERSION_HEADER: jsonrpc.MODERN_REVISION}
    if not isinstance(message, JSONRPCRequest):
        return headers
    headers["mcp-method"] = message.method
    params = message.params or {}
    if isinstance(name := params.get("name"), str):
        headers["mcp-name"] = encode_header_value(name)
    if exchange and exchange.tool and "x-mcp-header" in exchange.tool.text:
        mapped = x_mcp_header_map(exchange.tool.input_schema)
        headers.update(mcp_param_headers(mapped, params.get("arguments") or {}))
    return headers


def _message(message: JSONRPCMessage) -> jsonrpc.Message | Trouble:
    """A message of the SDK's as its JSON."""
    if isinstance(message, JSONRPCNotification):
        return jsonrpc.Message(method=message.method, params=_json(message.params))
    if isinstance(message, JSONRPCRequest):
        return jsonrpc.Message(_json(message.id), message.method, _json(message.params))
    id_ = message.id if isinstance(message.id, int) else None
    if isinstance(message, JSONRPCError):
        said = message.error.message
        if said.startswith(_LOST):
            return Trouble("lost", "the connection broke off before it answered", id_)
        if said.startswith(_NO_MESSAGE):
            return Trouble("failed", "its answer is no JSON-RPC message", id_)
        return jsonrpc.Message(_json(message.id), error=_json(message.error.model_dump(exclude_unset=True)))
    try:
        return jsonrpc.Message(_json(message.id), result=_json(message.result))
    except ValueError:
        return Trouble("failed", "its answer has numbers that JSON does not have (NaN, Infinity)", id_)


def _json(value: Any) -> Raw:
    if value is None:
        return jsonrpc.ABSENT
    return Raw(json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":")).encode())
