"""The older transport of 2024-11-05: all that the server says is in one stream, which names where messages go.

https://modelcontextprotocol.io/specification/2024-11-05/basic/transports#http-with-sse
"""

import asyncio
from http import HTTPStatus

import httpx2

from mcpctl.base.failure import Failed, Failure, failed
from mcpctl.upstreams.connection import Exchange
from mcpctl.upstreams.remote import EVENTS, JSON, Remote
from mcpctl.wire import http_client
from mcpctl.wire.http_client import in_words

_LONGEST_URL = 4096


class Sse(Remote):
    """A connection over HTTP with SSE."""

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
            async with stream as response, self._events(response) as events:
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
        # What was asked can only have been answered here.
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
                raise failed("no_session", http_client.status(response), was_sent=False, http_status=status)
            if response.status_code >= HTTPStatus.BAD_REQUEST:
                await self._refusal(response, exchange, had_session=False)
