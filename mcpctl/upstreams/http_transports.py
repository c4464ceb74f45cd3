"""The two transports over HTTP, Streamable HTTP and the older one of 2024-11-05.
https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#streamable-http
https://modelcontextprotocol.io/specification/2024-11-05/basic/transports#http-with-sse"""

import asyncio
import base64
import json
import re
from collections.abc import Mapping
from contextlib import aclosing, nullcontext
from http import HTTPStatus
from typing import Any

import httpx2

from mcpctl.base import bounds
from mcpctl.base.callers import MODERN_REVISION
from mcpctl.base.failure import Failed, Failure, failed
from mcpctl.upstreams.connection import RESOURCES_READ, Exchange
from mcpctl.upstreams.event_stream import ServerSentEvent
from mcpctl.upstreams.remote import EVENTS, JSON, Remote
from mcpctl.wire import http_client, jsonrpc
from mcpctl.wire.http_client import in_words
from mcpctl.wire.threads import beside

_RESUMPTIONS = 2
_HEADER_SINCE = "2025-06-18"  # the first revision whose requests carry the MCP-Protocol-Version header
_SESSION = "mcp-session-id"
_PRINTABLE = re.compile(r"[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?\Z")
_LONGEST_URL = 4096


class StreamableHttp(Remote):
    session = ""

    def cancel(self, exchange: Exchange, params: Mapping[str, bytes]) -> None:
        """Take a request back: in 2026-07-28 by ending it alone."""
        if not self.modern:
            super().cancel(exchange, params)
        elif self.pending.pop(exchange.id, None) and (post := self._posts.get(exchange.id)):
            post.cancel()

    async def _post(self, line: bytes, exchange: Exchange | None) -> None:
        headers = self._headers()
        if self.modern and exchange:
            headers |= await _mirrored(line, exchange)
        headers |= {"accept": f"{JSON}, {EVENTS}", "content-type": JSON}
        async with self._http("POST", self._where.url, headers, line) as response:
            if response.status_code >= HTTPStatus.BAD_REQUEST:
                await self._refusal(response, exchange, had_session=_SESSION in headers)
            elif exchange is None:
                if b'"notifications/initialized"' in line and self.session:
                    self._spawn(self._listen())
            else:
                await self._answer(response, exchange)

    async def _answer(self, response: httpx2.Response, exchange: Exchange) -> None:
        if exchange.method == "initialize":
            self.session = response.headers.get(_SESSION, "")
        if http_client.media_type(response) == EVENTS:
            await self._answered_in(response, exchange)
        elif not await self._answered_by(response, exchange):
            kind = http_client.media_type(response)
            said = f" but {kind[:100]!r}" if kind and kind != JSON else ""
            raise failed("bad_answer", "its answer is not a JSON-RPC message", said=said)

    async def _answered_by(self, response: httpx2.Response, exchange: Exchange) -> bool:
        """Whether the body is the answer. Bodies that are not declared to be short are read one at a time."""
        length = response.headers.get("content-length", "")
        is_told = "content-encoding" not in response.headers and length.isdecimal() and len(length) < 20
        is_short = is_told and int(length) <= bounds.AT_ONCE
        async with nullcontext() if is_short else self._long:
            await self._take(await http_client.whole(response, bounds.MESSAGE), exchange)
            return self._is_answered(exchange)

    async def _answered_in(self, response: httpx2.Response, exchange: Exchange) -> None:
        """Read a request's stream; one that breaks off is resumed where the server has numbered its events."""
        place, wait = await self._read_answer(response, exchange, "", bounds.FIRST_RETRY_S)
        for _ in range(_RESUMPTIONS):
            if self._is_answered(exchange):
                return
            if not place:
                break
            await asyncio.sleep(wait)
            headers = {**self._headers(), "accept": EVENTS, "last-event-id": place}
            async with self._http("GET", self._where.url, headers) as resumed:
                if resumed.status_code >= HTTPStatus.BAD_REQUEST:
                    break
                place, wait = await self._read_answer(resumed, exchange, place, wait)
        if not self._is_answered(exchange):
            raise failed("server_died", "the connection broke off before it answered")

    async def _read_answer(
        self, response: httpx2.Response, exchange: Exchange, place: str, wait: float
    ) -> tuple[str, float]:
        """Read a stream until it has answered, or ends; the place where it can be resumed, and when, in seconds."""
        try:
            async with aclosing(self._events(response)) as events:
                async for event in events:
                    place, wait = event.id or place, _wait(event, wait)
                    if event.data and await self._take(event.data, exchange):
                        break
        except httpx2.HTTPError:
            if not place:
                raise
        return place, wait

    async def _listen(self) -> None:
        place, wait, heard = "", bounds.FIRST_RETRY_S, False
        while not self.hung_up:
            headers = {**self._headers(), "accept": EVENTS, **({"last-event-id": place} if place else {})}
            try:
                async with (
                    self._http("GET", self._where.url, headers) as response,
                    aclosing(self._events(response)) as events,
                ):
                    if response.status_code == HTTPStatus.NOT_FOUND:
                        self._retire()
                    if response.status_code >= HTTPStatus.BAD_REQUEST:
                        return  # it has nothing to say, or nothing more
                    if heard:
                        # Its messages in the meantime are lost: its lists may have changed.
                        for each in ("tools", "prompts", "resources"):
                            self._on_message(self, jsonrpc.Message(method=f"notifications/{each}/list_changed"))
                    async for event in events:
                        place, heard, wait = event.id or place, True, _wait(event, bounds.FIRST_RETRY_S)
                        if event.data:
                            await self._take(event.data, None)
            except Failed:
                heard = True
            await asyncio.sleep(wait)
            wait = min(2 * wait, bounds.LAST_RETRY_S)

    async def _close(self) -> None:
        try:
            if self.session and not (self._why and self._why.code == "no_session"):
                async with self._http("DELETE", self._where.url, self._headers()):
                    pass
        finally:
            await super()._close()

    def _headers(self) -> dict[str, str]:
        headers = {_SESSION: self.session} if self.session else {}
        if self.modern or self.revision >= _HEADER_SINCE:
            headers["mcp-protocol-version"] = MODERN_REVISION if self.modern else self.revision
        return headers


def _wait(event: ServerSentEvent, otherwise: float) -> float:
    """Seconds before the stream is opened again, as its server wishes within bounds."""
    if event.retry_ms is None:
        return otherwise
    return min(max(event.retry_ms / 1000.0, bounds.FIRST_RETRY_S), bounds.LAST_RETRY_S)


async def _mirrored(line: bytes, exchange: Exchange) -> dict[str, str]:
    """The headers that repeat a request of 2026-07-28, so that proxies on the way need not read its body."""
    headers = {"mcp-method": exchange.method}
    name = bytes(exchange.params.get("uri" if exchange.method == RESOURCES_READ else "name", b""))
    if name.startswith(b'"'):
        headers["mcp-name"] = _encoded(json.loads(name))
    if exchange.tool and "x-mcp-header" in exchange.tool.text:
        headers |= await beside(_named, exchange.tool.input_schema, line)
    return headers


def _encoded(text: str) -> str:
    """A header's value, in base64 where HTTP would not carry it as it is."""
    if _PRINTABLE.match(text) and not text.startswith("=?base64?"):
        return text
    return f"=?base64?{base64.b64encode(text.encode()).decode()}?="


def _named(schema: Mapping[str, Any], line: bytes) -> dict[str, str]:
    """The headers that a tool's schema asks for, by the SDK's reading of it; none where it asks wrongly."""
    from mcp.shared.inbound import find_invalid_x_mcp_header, mcp_param_headers, x_mcp_header_map

    if find_invalid_x_mcp_header(schema) is not None:
        return {}
    try:
        params = json.loads(line)["params"]
    except (ValueError, RecursionError):
        return {}  # the server can read it, perhaps
    return mcp_param_headers(x_mcp_header_map(schema), params.get("arguments") or {})


class Sse(Remote):
    """Every message of the server is in one stream, which names the address that messages to it go to."""

    _endpoint = ""

    async def _open(self) -> None:
        await super()._open()
        opened: asyncio.Future[str] = self._loop.create_future()
        self._spawn(self._hear(opened))
        self._endpoint = await opened

    async def _hear(self, opened: "asyncio.Future[str]") -> None:
        end = failed("server_died", "the connection broke off")
        try:
            stream = self._http("GET", self._where.url, {"accept": EVENTS})
            async with stream as response, aclosing(self._events(response)) as events:
                if response.status_code >= HTTPStatus.BAD_REQUEST:
                    await self._refusal(response, None, had_session=False)
                async for event in events:
                    if event.name == "endpoint" and not opened.done():
                        opened.set_result(self._checked(event.data[:_LONGEST_URL].decode("utf-8", "replace")))
                    elif event.data:
                        await self._take(event.data, None)
        except Exception as error:
            end = error if isinstance(error, Failed) else failed("server_died", in_words(error))
        self._why = end.failure
        if not opened.done():
            opened.set_exception(end)
            return
        # Requests can only have been answered here.
        self._retire()
        for exchange in list(self.pending.values()):
            self._has_failed(exchange, Failure("server_died", end.failure.facts, was_sent=True))

    def _checked(self, address: str) -> str:
        url = httpx2.URL(self._where.url).join(address)
        if http_client.origin(url) != http_client.origin(httpx2.URL(self._where.url)):
            raise failed("http_error", "it wants its messages at another place than its url's", said=f": {url.host}")
        return str(url)

    async def _post(self, line: bytes, exchange: Exchange | None) -> None:
        async with self._http("POST", self._endpoint, {"content-type": JSON}, line) as response:
            if response.status_code in (HTTPStatus.NOT_FOUND, HTTPStatus.GONE):
                status = response.status_code
                raise failed("no_session", http_client.status_line(status), was_sent=False, http_status=status)
            if response.status_code >= HTTPStatus.BAD_REQUEST:
                await self._refusal(response, exchange, had_session=False)
