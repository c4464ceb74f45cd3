"""A server at a URL: Streamable HTTP, and the older SSE of 2024-11-05.

https://modelcontextprotocol.io/specification/2025-11-25/basic/transports. Spoken here with the SDK's HTTP client and
event streams but not through its transports: those end a whole connection for one request's failure, hide what a
refusal said, and parse what only has to pass. Imported in a thread, by the first such server: it takes 0.1 s.
"""

import asyncio
from abc import abstractmethod
from collections.abc import Callable, Coroutine, Mapping
from http import HTTPStatus
from typing import Any

import httpx2
import msgspec

from mcpctl import http
from mcpctl.config import Server
from mcpctl.errors import warn
from mcpctl.http import Failed, in_words
from mcpctl.launching import Endpoint, credentials
from mcpctl.proxy import jsonrpc
from mcpctl.proxy.connection import LISTEN, Connection, Exchange
from mcpctl.proxy.headers import mirrored

_NOTIFY_S = 10.0
"""A notification has no answer whose time could be anybody's business."""
_CLOSE_S = 0.3
_MAX_MESSAGE = 256 << 20
_FIRST_RETRY_S, _LAST_RETRY_S = 1.0, 30.0
_RESUMPTIONS = 2
_HEADER_SINCE = "2025-06-18"
"""The first revision whose requests carry the MCP-Protocol-Version header."""
_SESSION = "mcp-session-id"
_JSON, _EVENTS = "application/json", "text/event-stream"


class Remote(Connection):
    """A connection over HTTP. Each message is an HTTP request of its own, and its failure is its own."""

    def __init__(
        self,
        server: Server,
        where: Endpoint,
        on_message: Callable[[Connection, jsonrpc.Message], None],
        on_gone: Callable[[Connection], None],
    ) -> None:
        super().__init__(on_message, on_gone)
        self._server = server
        self._where = where
        self._why = ""
        self._has_answered = False
        self._tasks: set[asyncio.Task[None]] = set()
        self._posts: dict[int, asyncio.Task[None]] = {}
        self._opening = self._loop.create_task(self._open(), name="open")
        self._first: asyncio.Task[None] | None = None
        self._winding_up: asyncio.Task[None] | None = None

    @property
    def is_over(self) -> bool:
        """Whether its HTTP connections are closed."""
        return self.gone.is_set()

    @property
    def last_words(self) -> str:
        """What went wrong lately."""
        return self._why

    def how_it_ended(self) -> str:
        """Why it is gone."""
        return self._why or "the server closed the connection"

    async def ready(self) -> None:
        """Return when it can be used; raises `Failed`."""
        await asyncio.shield(self._opening)

    def write(self, line: bytes, exchange: Exchange | None = None) -> None:
        """Send a message."""
        if exchange:
            task = self._spawn(self._request(line, exchange))
            self._posts[exchange.id] = task
            task.add_done_callback(lambda _: self._posts.pop(exchange.id, None))
            return
        task = self._spawn(self._notify(line))
        if b'"notifications/initialized"' in line:
            # What follows must not overtake it.
            self._first = task

    async def stop(self) -> None:
        """End it: the session is deleted at the server, if it answers soon."""
        self.hung_up = True
        for task in [*self._tasks, self._opening]:
            task.cancel()
        await asyncio.gather(*self._tasks, self._opening, return_exceptions=True)
        if not self.gone.is_set():
            try:
                async with asyncio.timeout(_CLOSE_S):
                    await self._close()
            except Exception:
                pass  # it will forget us by itself
            self._is_gone(f"the connection was lost: {self.how_it_ended()}")

    def _other_transport(self, response: httpx2.Response) -> str:
        """What to try where the address is one, but not of this transport."""
        if self._has_answered or response.status_code not in (400, 404, 405, 406):
            return ""
        other = "sse" if self._where.transport == "http" else "http"
        return f'; is the path right? If it speaks the other transport, write transport = "{other}"'

    # ---- what the transports do differently

    async def _open(self) -> None:
        """Have what the first message needs; raises `Failed`."""
        self._client = await asyncio.to_thread(http.client, self._where.url, self._where.headers)

    @abstractmethod
    async def _post(self, line: bytes, exchange: Exchange | None) -> None:
        """Send a message and take what its response brings; raises `Failed`."""

    async def _close(self) -> None:
        """Say goodbye and let go of every socket."""
        await self._client.aclose()

    # ---- messages

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _request(self, line: bytes, exchange: Exchange) -> None:
        try:
            await self._sent(line, exchange)
        except Failed as failed:
            self._failed(exchange, failed)
        except Exception as error:
            self._failed(exchange, Failed("server_died", in_words(error)))

    async def _notify(self, line: bytes) -> None:
        try:
            async with asyncio.timeout(_NOTIFY_S):
                await self._sent(line, None)
        except Failed as failed:
            self._why = failed.words
            if not failed.was_taken:
                self._retire()
        except Exception as error:
            self._why = in_words(error)

    async def _sent(self, line: bytes, exchange: Exchange | None) -> None:
        await self.ready()
        if self._first and self._first is not asyncio.current_task():
            await asyncio.wait([self._first])
        await self._post(line, exchange)

    def _failed(self, exchange: Exchange, failed: Failed) -> None:
        """A request brought no answer: whoever waits is told, or it is sent on a new connection."""
        if self.pending.get(exchange.id) is not exchange:
            return  # answered or taken back before
        del self.pending[exchange.id]
        self._why = failed.words
        if not failed.was_taken:
            self._retire()
            if exchange.on_not_taken:
                exchange.on_not_taken(exchange)
                return
        exchange.failed(failed.code, failed.words)

    def _retire(self) -> None:
        """Take no more: the next request makes a new connection. What is under way still comes to its end."""
        if not self.hung_up:
            self.hung_up = True
            self._on_gone(self)
            # Kept, since the loop holds its tasks weakly; not one of those that the end cancels.
            self._winding_up = self._loop.create_task(self._wound_up())

    async def _wound_up(self) -> None:
        while waited_for := [task for id_, task in self._posts.items() if self._is_awaited(id_)]:
            await asyncio.wait(waited_for)
        await self.stop()

    def _is_awaited(self, id_: int) -> bool:
        exchange = self.pending.get(id_)
        return exchange is not None and exchange.method != LISTEN

    def _take(self, text: bytes, asked: Exchange | None) -> bool:
        """Take one message, or a batch; whether `asked` was answered by it."""
        text = bytes(jsonrpc.well_formed(text))
        if b"\n" in text or b"\r" in text:
            # No JSON string has a line break in it; on stdio a message is one line.
            text = text.replace(b"\n", b" ").replace(b"\r", b" ")
        try:
            items = jsonrpc.items(text) if text.lstrip().startswith(b"[") else [text]
            messages = [jsonrpc.decode(item) for item in items]
        except jsonrpc.Malformed:
            return False
        self._has_answered = True
        for message in messages:
            if message.method is None and asked and not self._is_pending(message):
                # Some servers answer with no id, or another: what is in its response is its answer.
                message.id = msgspec.Raw(b"%d" % asked.id)
            try:
                self._received(message)
            except Exception as error:
                # One message's fault must cost neither those after it nor the stream that they come in.
                warn(f"internal error: {error!r}")
        return asked is not None and asked.id not in self.pending

    def _is_pending(self, message: jsonrpc.Message) -> bool:
        text = bytes(message.id).strip(b'"')
        return text.isdigit() and int(text) in self.pending

    # ---- responses

    async def _refusal(self, response: httpx2.Response, asked: Exchange | None, *, had_session: bool) -> None:
        """Take the answer that a response of 400 and above has, or raise `Failed` with what it says."""
        body = await http.body(response)
        status = response.status_code
        said = http.refusal(response, body)
        if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
            raise Failed("unauthorized", said + credentials(self._server, self._where))
        error = _error(body)
        if error and asked and error.get("id", b"null").strip(b'"') == b"%d" % asked.id:
            self._take(body, asked)
        elif had_session and _is_no_session(status, body):
            raise Failed("no_session", said, was_taken=False)
        elif not error or asked is None:
            raise Failed("http_error", said + self._other_transport(response))
        else:
            self._take(body, asked)

    async def _events(self, response: httpx2.Response, take: Callable[[httpx2.ServerSentEvent], bool]) -> None:
        """Hand on the events of a stream until `take` has had enough, or it ends."""
        async for event in httpx2.EventSource(response, max_event_size=_MAX_MESSAGE):
            if take(event):
                return


class StreamableHttp(Remote):
    """Streamable HTTP: the answer is in the response; what else the server has to say is in a stream of its own."""

    session = ""

    def cancel(self, exchange: Exchange, params: Mapping[str, bytes]) -> None:
        """Take a request back: in 2026-07-28 by ending it, in older revisions by saying so."""
        if not self.modern:
            super().cancel(exchange, params)
        elif self.pending.get(exchange.id) is exchange:
            del self.pending[exchange.id]
            if post := self._posts.get(exchange.id):
                post.cancel()

    async def _post(self, line: bytes, exchange: Exchange | None) -> None:
        headers = self._headers()
        if self.modern and exchange:
            headers |= await mirrored(line, exchange)
        headers |= {"accept": f"{_JSON}, {_EVENTS}", "content-type": _JSON}
        async with http.request(self._client, "POST", self._where.url, headers, line) as response:
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
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind == _EVENTS:
            await self._answered_in(response, exchange)
        elif not self._take(await response.aread(), exchange):
            what = f" but {kind}" if kind and kind != _JSON else ""
            raise Failed("bad_answer", f"its answer is no JSON-RPC message{what}")

    async def _answered_in(self, response: httpx2.Response, exchange: Exchange) -> None:
        """Read a request's stream; one that breaks off is resumed where the server has numbered its events."""
        place, wait = "", _FIRST_RETRY_S

        def take(event: httpx2.ServerSentEvent) -> bool:
            nonlocal place, wait
            place, wait = event.id or place, wait if event.retry is None else event.retry / 1000
            return bool(event.data) and self._take(event.data.encode(), exchange)

        for _ in range(_RESUMPTIONS + 1):
            try:
                await self._events(response, take)
            except httpx2.HTTPError:
                if not place:
                    raise
            if exchange.id not in self.pending:
                return
            if not place:
                break
            await asyncio.sleep(wait)
            headers = {**self._headers(), "accept": _EVENTS, "last-event-id": place}
            async with http.request(self._client, "GET", self._where.url, headers) as resumed:
                if resumed.status_code >= HTTPStatus.BAD_REQUEST:
                    break
                await self._events(resumed, take)
            if exchange.id not in self.pending:
                return
        raise Failed("server_died", "the connection broke off before it answered")

    async def _listen(self) -> None:
        """Hear what an older server says of itself, for as long as it lets us."""
        place, wait, heard = "", _FIRST_RETRY_S, False

        def take(event: httpx2.ServerSentEvent) -> bool:
            nonlocal place, wait, heard
            place, heard = event.id or place, True
            wait = _FIRST_RETRY_S if event.retry is None else event.retry / 1000
            if event.data:
                self._take(event.data.encode(), None)
            return False

        while not self.hung_up:
            headers = {**self._headers(), "accept": _EVENTS, **({"last-event-id": place} if place else {})}
            try:
                async with http.request(self._client, "GET", self._where.url, headers) as response:
                    if response.status_code == HTTPStatus.NOT_FOUND:
                        self._retire()
                    if response.status_code >= HTTPStatus.BAD_REQUEST:
                        return  # it has nothing to say, or nothing more
                    if heard:
                        # What it said meanwhile is lost: its tools may have changed.
                        self._on_message(self, jsonrpc.Message(method="notifications/tools/list_changed"))
                    await self._events(response, take)
            except Failed:
                heard = True
            await asyncio.sleep(wait)
            wait = min(2 * wait, _LAST_RETRY_S)

    async def _close(self) -> None:
        if self.session and not self._why:
            async with http.request(self._client, "DELETE", self._where.url, self._headers()):
                pass
        await super()._close()

    def _headers(self) -> dict[str, str]:
        headers = {_SESSION: self.session} if self.session else {}
        if self.modern or self.revision >= _HEADER_SINCE:
            headers["mcp-protocol-version"] = jsonrpc.MODERN_REVISION if self.modern else self.revision
        return headers


class Sse(Remote):
    """The older transport: all that the server says is in one stream, which names where messages go."""

    _endpoint = ""

    async def _open(self) -> None:
        await super()._open()
        opened: asyncio.Future[str] = self._loop.create_future()
        self._spawn(self._hear(opened))
        self._endpoint = await opened

    async def _hear(self, opened: "asyncio.Future[str]") -> None:
        def take(event: httpx2.ServerSentEvent) -> bool:
            if event.event == "endpoint" and not opened.done():
                opened.set_result(self._checked(event.data))
            elif event.data:
                self._take(event.data.encode(), None)
            return False

        failed = Failed("server_died", "the connection broke off")
        try:
            async with http.request(self._client, "GET", self._where.url, {"accept": _EVENTS}) as response:
                if response.status_code >= HTTPStatus.BAD_REQUEST:
                    await self._refusal(response, None, had_session=False)
                await self._events(response, take)
        except Exception as error:
            failed = error if isinstance(error, Failed) else Failed("server_died", in_words(error))
        self._why = failed.words
        if not opened.done():
            opened.set_exception(failed)
            return
        # What was asked can only have been answered here.
        self._retire()
        for exchange in list(self.pending.values()):
            self._failed(exchange, Failed("server_died", failed.words))

    def _checked(self, address: str) -> str:
        url = httpx2.URL(self._where.url).join(address)
        if http.origin(url) != http.origin(httpx2.URL(self._where.url)):
            raise Failed("http_error", f"it wants its messages at another place, {url.host}, which is not its url's")
        return str(url)

    async def _post(self, line: bytes, exchange: Exchange | None) -> None:
        async with http.request(self._client, "POST", self._endpoint, {"content-type": _JSON}, line) as response:
            if response.status_code in (HTTPStatus.NOT_FOUND, HTTPStatus.GONE):
                raise Failed("no_session", http.status(response), was_taken=False)
            if response.status_code >= HTTPStatus.BAD_REQUEST:
                await self._refusal(response, exchange, had_session=False)


TRANSPORTS: Mapping[str, type[Remote]] = {"http": StreamableHttp, "sse": Sse}


def _error(body: bytes) -> dict[str, bytes]:
    """The members of a JSON-RPC error, none where the body is no such thing."""
    members = jsonrpc.members_or_empty(body)
    return members if members.get("error", b"").startswith(b"{") and "jsonrpc" in members else {}


def _is_no_session(status: int, body: bytes) -> bool:
    """Whether the server has forgotten the session: 404 by the specification, 400 by the TypeScript SDK's examples."""
    return status == HTTPStatus.NOT_FOUND or (status == HTTPStatus.BAD_REQUEST and b"session" in body.lower())
