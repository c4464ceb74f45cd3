"""Requests to one receiver, by OTLP over HTTP: protobuf, compressed, and sent again where the standard says so.
https://opentelemetry.io/docs/specs/otlp/"""

import asyncio
import gzip
import math
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from email.utils import parsedate_to_datetime
from http import HTTPStatus

import httpx2
from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTracePartialSuccess

from mcpctl.base import bounds
from mcpctl.base.errors import warn
from mcpctl.base.failure import Failed
from mcpctl.base.texts import duration, one_line
from mcpctl.secrets.redact import mask
from mcpctl.store import clock
from mcpctl.wire import http_client

_AGAIN = (
    HTTPStatus.TOO_MANY_REQUESTS,
    HTTPStatus.BAD_GATEWAY,
    HTTPStatus.SERVICE_UNAVAILABLE,
    HTTPStatus.GATEWAY_TIMEOUT,
)
_FIRST_S, _LAST_S = 1.0, 60.0  # between two tries, where the receiver does not say when to try again
_PROTOBUF = "application/x-protobuf"
_LONGEST = 300  # characters of a receiver's own words
_LEAST_SECRET = 6  # characters of a header's value that is looked for in them


class RefusedByReceiver(Exception):
    """The receiver does not take a message, which must not be sent again."""


class ReceiverAway(Exception):
    """Nothing was taken for as long as there is patience."""


class _Unanswered(Exception):
    """To be tried again, after so many seconds where the receiver says so."""

    def __init__(self, reason: str, after_s: float | None = None) -> None:
        super().__init__(reason)
        self.after_s = after_s


class Receiver:
    """One address, with its connection kept open; `close` ends it. Everything waits while something is tried again."""

    def __init__(
        self, url: str, headers: Mapping[str, str], *, patience_s: float = math.inf,
        pause: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:  # fmt: skip
        self.origin = str(httpx2.URL(url).copy_with(raw_path=b"/", fragment=None)).rstrip("/")
        self._url = url
        self._headers = {**headers, "content-type": _PROTOBUF, "content-encoding": "gzip"}
        self._secrets = [part for value in headers.values() for part in {value, *value.split()}]
        self._patience_s = patience_s
        self._pause = pause
        self._runner = asyncio.Runner()
        self._client: httpx2.AsyncClient | None = None

    def post(self, message: bytes) -> bytes:
        """The answer to a message; raises `RefusedByReceiver` or `ReceiverAway`."""
        return self._runner.run(self._taken(gzip.compress(message, mtime=0)))

    def close(self) -> None:
        if self._client:
            self._runner.run(self._client.aclose())
        self._runner.close()

    def words(self, text: str) -> str:
        """The receiver's own words, on one line and without what it was sent in headers."""
        for secret in sorted(self._secrets, key=len, reverse=True):
            text = text.replace(secret, "***") if len(secret) >= _LEAST_SECRET else text
        return one_line(mask(text))[:_LONGEST]

    async def _taken(self, body: bytes) -> bytes:
        failures, began = 0, time.monotonic()
        while True:
            try:
                answer = await self._answer(body)
            except _Unanswered as error:
                failures += 1
                wait_s = error.after_s
                if wait_s is None:
                    wait_s = bounds.back_off(failures, _FIRST_S, _LAST_S) * random.uniform(0.5, 1)
                if time.monotonic() - began + wait_s > self._patience_s:
                    raise ReceiverAway(str(error)) from None
                if failures == 1:
                    warn(f"{clock.local(time.time())}: {self.origin}: {error}; it is tried again")
                await self._pause(wait_s)
            else:
                if failures:
                    away = duration(round((time.monotonic() - began) * 1000))
                    warn(f"{clock.local(time.time())}: {self.origin} takes what it is sent again, after {away}")
                return answer

    async def _answer(self, body: bytes) -> bytes:
        try:
            async with asyncio.timeout(bounds.OTLP_S):
                return await self._asked(body)
        except TimeoutError:
            raise _Unanswered(f"it does not answer within {bounds.OTLP_S:g} s") from None
        except Failed as error:
            raise _Unanswered(self.words(str(error))) from None

    async def _asked(self, body: bytes) -> bytes:
        if self._client is None:
            self._client = await asyncio.to_thread(http_client.client, self._url, self._headers)
        request = self._client.build_request("POST", self._url, content=body)
        async with http_client.responded(self._client, request, follows=False) as response:
            if response.is_success:
                return await http_client.body(response)  # it is taken, whatever becomes of the rest of the answer
            reason = self._refusal(response, await http_client.body(response))
            if response.status_code in _AGAIN:
                raise _Unanswered(reason, _retry_after(response.headers.get("retry-after", "")))
            raise RefusedByReceiver(reason)

    def _refusal(self, response: httpx2.Response, body: bytes) -> str:
        if following := response.next_request:
            place = following.url.copy_with(userinfo=b"", query=None, fragment=None)
            return self.words(f"it redirects to {place}, which has to be named itself")
        if http_client.media_type(response) != _PROTOBUF:
            return self.words(http_client.refusal(response, body))
        said = ""
        with suppress(DecodeError):  # google.rpc.Status has its message where this one has it
            said = ExportTracePartialSuccess.FromString(body).error_message
        return self.words(": ".join(filter(None, (http_client.status_line(response.status_code), said))))


def _retry_after(value: str) -> float | None:
    """Seconds, or a date; None where it is neither."""
    if value.isascii() and value.isdigit():
        seconds = float(value[:9])
    else:
        try:
            seconds = parsedate_to_datetime(value).timestamp() - time.time()
        except (ValueError, OverflowError):
            return None
    return min(max(seconds, 0.0), bounds.OTLP_WAIT_S)
