"""A server at a URL: what its two transports have in common.
https://modelcontextprotocol.io/specification/2025-11-25/basic/transports. Spoken here with the SDK's HTTP client and
event streams but not through its transports: those end a whole connection for one request's failure, hide what a
refusal said, and parse what only has to pass. Imported in a thread, by the first such server: it takes 0.1 s."""

import asyncio
from abc import abstractmethod
from collections.abc import AsyncGenerator, Coroutine, Mapping
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from http import HTTPStatus
from typing import Any

import httpx2
import msgspec

from mcpctl.base import bounds
from mcpctl.base.failure import OF_LOGIN, Failed, Failure, failed
from mcpctl.config.server_environment import Endpoint, credentials
from mcpctl.config.server_settings import Server
from mcpctl.oauth.bearer import Bearer
from mcpctl.oauth.requests import refusal
from mcpctl.upstreams.connection import LISTEN, Connection, Exchange, OnGone, OnMessage
from mcpctl.upstreams.event_stream import EventStream, ServerSentEvent, TooLong
from mcpctl.wire import http_client, jsonrpc, loose_json
from mcpctl.wire.http_client import in_words
from mcpctl.wire.threads import apart, beside
from mcpctl.wire.writer import Readers

_NOTIFY_S = 10.0  # a notification has no answer whose time could be anybody's business
_CLOSE_S = 0.3
_SETTLE_S = 1.0
_IN_A_ROW = 50
JSON, EVENTS = "application/json", "text/event-stream"


class Remote(Connection):
    """A connection over HTTP. Each message is an HTTP request of its own, and its failure is its own."""

    def __init__(
        self, server: Server, where: Endpoint, readers: Readers, on_message: OnMessage, on_gone: OnGone,
        bearer: Bearer | None = None,
    ) -> None:  # fmt: skip
        super().__init__(on_message, on_gone)
        self._readers = readers
        self._bearer = bearer
        self._server = server
        self._where = where
        self._why: Failure | None = None
        self._has_answered = False
        self._is_ending = False
        self._long = asyncio.Lock()  # held while a long answer is read: one at a time, since each is in memory whole
        self._tasks: set[asyncio.Task[None]] = set()
        self._posts: dict[bytes, asyncio.Task[None]] = {}
        self._opening = self._loop.create_task(self._open(), name="open")
        self._in_a_row = 0
        self._first: asyncio.Task[None] | None = None
        self._winding_up: asyncio.Task[None] | None = None
        self._ending: asyncio.Task[None] | None = None

    @property
    def last_words(self) -> str:
        return self._why.said if self._why else ""

    def how_it_ended(self) -> str:
        return str(self._why.facts["reason"]) if self._why else "the server closed the connection"

    def cancel(self, exchange: Exchange, params: Mapping[str, bytes]) -> None:
        """Take a request back: by saying so, and by reading no more of what it brings."""
        if self.pending.get(exchange.id) is exchange:
            super().cancel(exchange, params)
            if post := self._posts.get(exchange.id):
                post.cancel()

    async def ready(self) -> None:
        await asyncio.shield(self._opening)

    def write(self, *pieces: jsonrpc.Json, exchange: Exchange | None = None) -> None:
        """Send a message; nothing once it ends, since a socket that is opened then is closed by nobody."""
        if self._is_ending:
            return
        line = b"".join(pieces)
        if exchange:
            self._posts[exchange.id] = task = self._spawn(self._request(line, exchange))
            task.add_done_callback(lambda _: self._posts.pop(exchange.id, None))
            return
        task = self._spawn(self._notify(line))
        if b'"notifications/initialized"' in line:
            self._first = task  # what follows must not overtake it

    async def stop(self) -> None:
        """End it, once for all who want that: the session is deleted at the server, if it answers soon."""
        self.hung_up = self._is_ending = True
        self._ending = self._ending or self._loop.create_task(self._end())
        await asyncio.shield(self._ending)

    async def _end(self) -> None:
        for task in [*self._tasks, self._opening]:
            task.cancel()
        await asyncio.gather(*self._tasks, self._opening, return_exceptions=True)
        if self._bearer:
            await self._bearer.settle(_SETTLE_S)
        try:
            async with asyncio.timeout(_CLOSE_S):
                await self._close()
        except Exception:
            pass  # it will forget us by itself
        reason = f"the connection was lost: {self.how_it_ended()}"
        self._is_gone(Failure("server_died", {"reason": reason, "said": self.last_words}))
        await asyncio.sleep(0)  # a socket that was closed is let go in the next turn of the loop

    def _other_transport(self, response: httpx2.Response) -> str:
        if self._has_answered or response.status_code not in (400, 404, 405, 406):
            return ""
        other = "sse" if self._where.transport == "http" else "http"
        return f'; is the path right? If it speaks the other transport, write transport = "{other}"'

    # ---- what the transports do differently

    async def _open(self) -> None:
        self._client = await apart(http_client.client, self._where.url, self._where.headers)
        if self._bearer:
            await self._bearer.look()
            await self._bearer.header()  # now, since a server's first answer is not waited for as long as an issuer's

    @abstractmethod
    async def _post(self, line: bytes, exchange: Exchange | None) -> None:
        """Send a message and take what its response brings; raises `Failed`."""

    async def _close(self) -> None:
        await self._client.aclose()

    @asynccontextmanager
    async def _http(
        self, method: str, url: str, headers: Mapping[str, str], content: bytes | None = None
    ) -> AsyncGenerator[httpx2.Response]:
        """The response to a request, sent again once with another token if refused for its token; raises `Failed`."""
        bearer = await self._bearer.header() if self._bearer else None
        async with AsyncExitStack() as open_:
            sent = http_client.request(self._client, method, url, _with(headers, bearer), content)
            response = await open_.enter_async_context(sent)
            if self._bearer and response.status_code == HTTPStatus.UNAUTHORIZED:
                other = await self._bearer.renewed(bearer)
                if other:
                    await open_.aclose()
                    sent = http_client.request(self._client, method, url, _with(headers, other), content)
                    response = await open_.enter_async_context(sent)
            yield response

    # ---- messages

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _request(self, line: bytes, exchange: Exchange) -> None:
        try:
            await self._sent(line, exchange)
        except Failed as error:
            self._has_failed(exchange, error.failure)
        except Exception as error:
            self._has_failed(exchange, failed("server_died", in_words(error)).failure)

    async def _notify(self, line: bytes) -> None:
        try:
            async with asyncio.timeout(_NOTIFY_S):
                await self._sent(line, None)
        except Failed as error:
            self._why = error.failure
            if not error.failure.was_sent and error.failure.code not in OF_LOGIN:
                self._retire()
        except Exception as error:
            self._why = failed("server_died", in_words(error)).failure

    async def _sent(self, line: bytes, exchange: Exchange | None) -> None:
        await self.ready()
        if self._first and self._first is not asyncio.current_task():
            await asyncio.wait([self._first])
        await self._post(line, exchange)

    def _has_failed(self, exchange: Exchange, failure: Failure) -> None:
        if self.pending.get(exchange.id) is not exchange:
            return  # answered or taken back before
        del self.pending[exchange.id]
        self._why = failure = failure.about(server=self.server) if failure.code in OF_LOGIN else failure
        exchange.was_sent = failure.was_sent
        if not failure.was_sent and failure.code not in OF_LOGIN:
            self._retire()
            if exchange.reply.not_taken(exchange):
                return
        exchange.failed(failure)

    def _retire(self) -> None:
        """Take no more: the next request makes a new connection. Requests under way still come to their end."""
        if not self.hung_up:
            self.hung_up = True
            self._on_gone(self)
            # Kept, since the loop holds its tasks weakly; not one of those that the end cancels.
            self._winding_up = self._loop.create_task(self._wound_up())

    async def _wound_up(self) -> None:
        while tasks := [
            post for id_, post in self._posts.items() if id_ in self.pending and self.pending[id_].method != LISTEN
        ]:
            await asyncio.wait(tasks)
        await self.stop()

    async def _take(self, text: bytes | bytearray, exchange: Exchange | None) -> bool:
        """Take one message, or a batch; whether `exchange` was answered by it. An answer with the id of no request is
        kept: it counts for `_is_answered`, once there is nothing more to come."""
        await self._readers.released()
        if len(text) > bounds.AT_ONCE:
            self._readers.turn.was_large()
        try:
            messages = await beside(_read, text) if len(text) > bounds.LITTLE else _read(text)
        except jsonrpc.Malformed:
            return False
        self._has_answered = True
        for message in messages:
            if isinstance(message, jsonrpc.Malformed):
                continue
            if message.method is None and exchange and self.awaited(message.id) is None:
                exchange.other = message
            else:
                self.hear_out(message)
        return exchange is not None and exchange.id not in self.pending

    def _is_answered(self, exchange: Exchange) -> bool:
        if exchange.id in self.pending and exchange.other:
            # Some servers answer with no id, or another: what is in its response is its answer.
            exchange.other.id = msgspec.Raw(exchange.id)
            self.hear_out(exchange.other)
        return exchange.id not in self.pending

    # ---- responses

    async def _refusal(self, response: httpx2.Response, exchange: Exchange | None, *, had_session: bool) -> None:
        """Take the answer that a response of 400 and above has, or raise `Failed` with what it says."""
        body = await http_client.body(response)
        status, said, code = (
            http_client.status_line(response.status_code),
            http_client.detail(response, body),
            response.status_code,
        )
        if code in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
            self._needs_login(response, f": {status}{said}")
            raise failed("unauthorized", status, said=said + credentials(self._server, self._where), http_status=code)
        error = _error(body)
        # 404 by the specification, 400 by the TypeScript SDK's examples.
        is_forgotten = code == HTTPStatus.NOT_FOUND or (code == HTTPStatus.BAD_REQUEST and b"session" in body.lower())
        if error and exchange and self.awaited(error.get("id", b"null")) is exchange:
            await self._take(body, exchange)
        elif had_session and is_forgotten:
            raise failed("no_session", status, was_sent=False, said=said, http_status=code)
        elif not error or exchange is None:
            raise failed("http_error", status, said=said + self._other_transport(response), http_status=code)
        else:
            await self._take(body, exchange)
            self._is_answered(exchange)

    def _needs_login(self, response: httpx2.Response, said: str) -> None:
        challenge = response.headers.get("www-authenticate", "")
        has_login = bool(self._bearer and self._bearer.has_login)
        # One that says how to log in means that, whatever else it is given.
        has_headers = bool(self._server.headers) and not self._server.oauth
        error = refusal(response.status_code, challenge, said, has_login=has_login, has_headers=has_headers)
        if error and self._bearer:
            raise error

    async def _events(self, response: httpx2.Response) -> AsyncGenerator[ServerSentEvent]:
        """The events of a stream until it ends, for a reader that closes it itself; raises `Failed`."""
        kind = http_client.media_type(response)
        if kind != EVENTS:
            raise failed("bad_answer", "its answer is not an event stream", said=f" but {kind[:100]!r}" if kind else "")
        stream = EventStream(bounds.MESSAGE)
        try:
            async with aclosing(http_client.pieces(response)) as pieces:
                async for piece in pieces:
                    for event in stream.feed(piece):
                        yield event
                        self._in_a_row += 1
                        if self._in_a_row % _IN_A_ROW == 0:
                            await asyncio.sleep(0)  # others have their turn
        except TooLong:
            reason = f"an event of its stream has more than {bounds.MESSAGE >> 20} MB"
            raise failed("answer_unreadable", reason) from None


def _with(headers: Mapping[str, str], bearer: str | None) -> Mapping[str, str]:
    return {**headers, "authorization": bearer} if bearer else headers


def _read(text: bytes | bytearray) -> list[jsonrpc.Message | jsonrpc.Malformed]:
    if b"\n" in text or b"\r" in text:
        # No JSON string has a line break in it; on stdio a message is one line.
        text = text.replace(b"\n", b" ").replace(b"\r", b" ")
    text = loose_json.well_formed(text)
    message = jsonrpc.decode(text)
    return [message] if message else jsonrpc.messages(bytes(text))


def _error(body: bytes) -> dict[str, bytes]:
    """The members of a JSON-RPC error, none where the body is not one."""
    members = jsonrpc.members_or_empty(body)
    return members if members.get("error", b"").startswith(b"{") and "jsonrpc" in members else {}
