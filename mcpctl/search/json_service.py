"""A service at a URL that answers JSON requests with JSON within a time limit."""

import asyncio
import os
import threading
import time
import weakref
from collections.abc import Mapping
from typing import TYPE_CHECKING

from mcpctl.base import bounds
from mcpctl.base.failure import Failed
from mcpctl.search.ranking import Unavailable

if TYPE_CHECKING:
    import httpx2

_FIRST_PAUSE_S, _LAST_PAUSE_S = 5.0, 60.0


class Service:
    """The service at one address. It may be called from any thread, and keeps its connections open."""

    def __init__(self, url: str, variable: str, most: int) -> None:
        """`variable` has the bearer token (RFC 6750), if one is needed; `most` is an answer's limit in bytes."""
        self._url = url
        self._most = most
        self._variable = variable
        self._slow = 0
        self._late = self._not_before = 0.0
        self._starting = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._clients: list[httpx2.AsyncClient] = []

    def post(self, body: bytes, seconds: float) -> bytes:
        """The answer to a JSON body within so many seconds, sending and reading included; raises `Unavailable`."""
        if (wait := self._not_before - time.monotonic()) > 0:
            raise Unavailable(f"no answer in time, {self._slow} times in a row; the next try is in {wait:.0f} s")
        began = time.monotonic()
        try:
            answer = asyncio.run_coroutine_threadsafe(self._post_async(body, seconds), self._running()).result()
            self._slow = 0
            return answer
        except TimeoutError:
            if began >= self._late:  # requests that were sent at once count as one
                self._slow, self._late = self._slow + 1, time.monotonic()
            if self._slow > 1:  # the second failure starts a pause, so that not each search waits
                self._not_before = time.monotonic() + bounds.back_off(self._slow - 1, _FIRST_PAUSE_S, _LAST_PAUSE_S)
            raise Unavailable(f"no answer within {seconds:.3g} s") from None
        except Unavailable:
            self._slow = 0
            raise
        except Exception as error:
            from mcpctl.wire.http_client import in_words

            raise Unavailable(in_words(error)) from error

    def _running(self) -> asyncio.AbstractEventLoop:
        # A loop of its own, since only an asynchronous client can limit the time of a whole request.
        with self._starting:
            if self._loop is None:
                loop = self._loop = asyncio.new_event_loop()
                threading.Thread(target=_run, args=(loop, self._clients), name="search service", daemon=True).start()
                weakref.finalize(self, loop.call_soon_threadsafe, loop.stop)
            return self._loop

    async def _post_async(self, body: bytes, seconds: float) -> bytes:
        from mcpctl.wire import http_client

        token = os.environ.get(self._variable, "").strip()
        headers = {"content-type": "application/json", "accept": "application/json"}
        if not (token.isascii() and token.isprintable()):
            raise Unavailable(f"{self._variable} has characters that a header cannot have")
        if token:
            headers["authorization"] = f"Bearer {token}"
        async with asyncio.timeout(seconds):
            if not self._clients:
                self._clients.append(http_client.client(self._url, {}))
            try:
                return await self._answer(headers, body, token)
            except Failed as error:
                if error.failure.code != "server_died":
                    raise
                # It may have closed an idle connection; sending a search twice does no harm.
                return await self._answer(headers, body, token)

    async def _answer(self, headers: Mapping[str, str], body: bytes, token: str) -> bytes:
        from mcpctl.wire import http_client

        async with http_client.request(self._clients[0], "POST", self._url, headers, body) as response:
            if response.status_code >= 400:
                words = http_client.refusal(response, await http_client.body(response))
                unset = "" if token else f"; {self._variable} is not set"
                masked = words.replace(token, "***") if token else words
                raise Unavailable(masked + (unset if response.status_code in (401, 403) else ""))
            content = bytearray()
            async for part in response.aiter_bytes():
                content += part
                if len(content) > self._most:
                    raise Unavailable(f"its answer is longer than {self._most >> 20} MB")
            return bytes(content)


def _run(loop: asyncio.AbstractEventLoop, clients: "list[httpx2.AsyncClient]") -> None:
    """Run the loop until its service is gone, then close its clients."""
    loop.run_forever()
    for client in clients:
        loop.run_until_complete(client.aclose())
    loop.close()
