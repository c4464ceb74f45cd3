"""A server at a URL: Streamable HTTP, and the older SSE of 2024-11-05.

https://modelcontextprotocol.io/specification/2025-11-25/basic/transports. Spoken here with the SDK's HTTP client and
event streams but not through its transports: those end a whole connection for one request's failure, hide what a
refusal said, and parse what only has to pass. Imported in a thread, by the first such server: it takes 0.1 s.
"""

import asyncio
import base64
import json
import re
import socket
import ssl
import urllib.request
from abc import abstractmethod
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import httpx2
import msgspec

from mcpctl import __version__
from mcpctl.config import Endpoint, Server, credentials
from mcpctl.proxy import jsonrpc
from mcpctl.proxy.connection import LISTEN, Connection, Exchange
from mcpctl.store.redact import mask

_CONNECT_S = 30.0
_NOTIFY_S = 10.0
"""A notification has no answer whose time could be anybody's business."""
_BODY_S = 10.0
_CLOSE_S = 0.3
_MAX_MESSAGE = 256 << 20
_MAX_REDIRECTS = 5
_FIRST_RETRY_S, _LAST_RETRY_S = 1.0, 30.0
_RESUMPTIONS = 2
_LONGEST_SAID = 200
_HEADER_SINCE = "2025-06-18"
"""The first revision whose requests carry the MCP-Protocol-Version header."""
_SESSION = "mcp-session-id"
_PRINTABLE = re.compile(r"[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?\Z")
_JSON, _EVENTS = "application/json", "text/event-stream"


@dataclass
class Failed(Exception):
    """An HTTP request that brought no message."""

    code: str
    """`unreachable` and `no_session`: the server has certainly not taken it."""
    words: str

    def __str__(self) -> str:
        return self.words

    @property
    def was_taken(self) -> bool:
        """Whether the server may have begun with it."""
        return self.code not in ("unreachable", "no_session")


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
        self._client = await asyncio.to_thread(_client, self._where)

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
            self._received(message)
        return asked is not None and asked.id not in self.pending

    def _is_pending(self, message: jsonrpc.Message) -> bool:
        text = bytes(message.id).strip(b'"')
        return text.isdigit() and int(text) in self.pending

    # ---- HTTP

    @asynccontextmanager
    async def _response(
        self, method: str, url: str, headers: Mapping[str, str], content: bytes | None = None
    ) -> AsyncGenerator[httpx2.Response]:
        """The response to a request, redirects on the same origin followed; raises `Failed`."""
        request = self._client.build_request(method, url, headers=dict(headers), content=content)
        try:
            response = await self._client.send(request, stream=True)
            for _ in range(_MAX_REDIRECTS):
                if (following := _same_origin(response, content)) is None:
                    break
                await response.aclose()
                response = await self._client.send(following, stream=True)
        except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.ProxyError) as error:
            raise Failed("unreachable", in_words(error)) from error
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise Failed("server_died", in_words(error)) from error
        try:
            if response.has_redirect_location:
                raise Failed("http_error", f"it redirects to {_place(response)}; write that as its url if it is right")
            yield response
        except (httpx2.HTTPError, httpx2.StreamError) as error:
            raise Failed("server_died", in_words(error)) from error
        finally:
            await response.aclose()

    async def _refusal(self, response: httpx2.Response, asked: Exchange | None, *, had_session: bool) -> None:
        """Take the answer that a response of 400 and above has, or raise `Failed` with what it says."""
        body = await _body(response)
        status = response.status_code
        said = f"HTTP {status} {response.reason_phrase}".rstrip() + _detail(response, body)
        if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
            raise Failed("unauthorized", said + credentials(self._server))
        error = _error(body)
        if error and asked and error.get("id", b"null").strip(b'"') == b"%d" % asked.id:
            self._take(body, asked)
        elif had_session and _is_no_session(status, body):
            raise Failed("no_session", said)
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
        headers = {**self._headers(), **await _mirrored(line, exchange, modern=self.modern)}
        headers |= {"accept": f"{_JSON}, {_EVENTS}", "content-type": _JSON}
        async with self._response("POST", self._where.url, headers, line) as response:
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
            async with self._response("GET", self._where.url, headers) as resumed:
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
                async with self._response("GET", self._where.url, headers) as response:
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
            async with self._response("DELETE", self._where.url, self._headers()):
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
            async with self._response("GET", self._where.url, {"accept": _EVENTS}) as response:
                if response.status_code >= HTTPStatus.BAD_REQUEST:
                    await self._refusal(response, None, had_session=False)
                await self._events(response, take)
        except Failed as error:
            failed = error
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
        if _origin(url) != _origin(httpx2.URL(self._where.url)):
            raise Failed("http_error", f"it wants its messages at another place, {url.host}, which is not its url's")
        return str(url)

    async def _post(self, line: bytes, exchange: Exchange | None) -> None:
        async with self._response("POST", self._endpoint, {"content-type": _JSON}, line) as response:
            if response.status_code in (HTTPStatus.NOT_FOUND, HTTPStatus.GONE):
                raise Failed("no_session", f"HTTP {response.status_code} {response.reason_phrase}")
            if response.status_code >= HTTPStatus.BAD_REQUEST:
                await self._refusal(response, exchange, had_session=False)


TRANSPORTS: Mapping[str, type[Remote]] = {"http": StreamableHttp, "sse": Sse}


def in_words(error: BaseException) -> str:
    """What went wrong, for a person. Never an address: it may hold a secret."""
    if isinstance(error, Failed):
        return error.words
    cause: BaseException | None = error
    while cause:
        if said := _cause_in_words(cause):
            return said
        cause = cause.__cause__ or cause.__context__
    if isinstance(error, httpx2.TimeoutException):
        return "it does not answer (connecting timed out)"
    if isinstance(error, httpx2.NetworkError | httpx2.RemoteProtocolError):
        return "the connection broke off"
    if isinstance(error, httpx2.DecodingError):
        return "its answer is compressed in a way that it is not"
    if isinstance(error, httpx2.SSEError | httpx2.StreamError):
        return "its event stream is none, or a message in it is too long"
    return f"the HTTP request failed ({type(error).__name__})"


def _cause_in_words(error: BaseException) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return (
            f"TLS: its certificate is not trusted ({error.verify_message.rstrip('.')}); "
            "if it is the right server, name the file of its certificate authority in SSL_CERT_FILE"
        )
    if isinstance(error, ssl.SSLError):
        return f"TLS: no encrypted connection comes about ({error.reason or 'refused'}); is it an http:// address?"
    if isinstance(error, socket.gaierror):
        return "no such host (its name cannot be resolved)"
    if isinstance(error, ConnectionRefusedError):
        return "nothing listens there (connection refused)"
    if isinstance(error, ImportError):
        return (
            "the environment names a SOCKS proxy, which is not supported; unset ALL_PROXY or list the host in NO_PROXY"
        )
    return ""


def _client(where: Endpoint) -> httpx2.AsyncClient:
    """The HTTP client: made in a thread, since reading the system's certificates takes its time."""
    try:
        proxy = _proxy(where.url)
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=20)
        # Calls may take as long as they take: the client, or call_timeout_s, ends them.
        timeout = httpx2.Timeout(_CONNECT_S, read=None, pool=None)
        headers = {"user-agent": f"mcpctl/{__version__}", **where.headers}
        return httpx2.AsyncClient(headers=headers, timeout=timeout, limits=limits, proxy=proxy, trust_env=True)
    except Exception as error:
        raise Failed("unreachable", in_words(error)) from error


def _proxy(url: str) -> str | None:
    """The HTTP proxy that the environment names for this address; one without a scheme is http, as for curl."""
    address = httpx2.URL(url)
    if urllib.request.proxy_bypass(address.host):
        return None
    proxies = urllib.request.getproxies()
    proxy = proxies.get(address.scheme) or proxies.get("all")
    return proxy if not proxy or "://" in proxy else f"http://{proxy}"


def _same_origin(response: httpx2.Response, content: bytes | None) -> httpx2.Request | None:
    """The request that follows a redirect, if it stays on the origin and keeps what was sent."""
    following = response.next_request
    if following is None:
        return None
    sent = response.request
    upgraded = (sent.url.scheme, following.url.scheme, sent.url.port, following.url.port) == (
        "http",
        "https",
        None,
        None,
    )
    stays = _origin(sent.url) == _origin(following.url) or (upgraded and sent.url.host == following.url.host)
    if not stays or following.method != sent.method or following.url.userinfo not in (b"", sent.url.userinfo):
        return None
    headers = [(name, value) for name, value in sent.headers.raw if name.lower() not in (b"host", b"content-length")]
    return httpx2.Request(sent.method, following.url, headers=headers, content=content, extensions=sent.extensions)


def _origin(url: httpx2.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port


def _place(response: httpx2.Response) -> str:
    """Where a redirect leads, without what may be secret."""
    url = response.next_request.url if response.next_request else httpx2.URL("")
    return str(url.copy_with(userinfo=b"", query=None, fragment=None))


async def _body(response: httpx2.Response) -> bytes:
    try:
        async with asyncio.timeout(_BODY_S):
            return await response.aread()
    except (TimeoutError, httpx2.HTTPError, httpx2.StreamError):
        return b""


def _error(body: bytes) -> dict[str, bytes]:
    """The members of a JSON-RPC error, none where the body is no such thing."""
    members = jsonrpc.members_or_empty(body)
    return members if members.get("error", b"").startswith(b"{") and "jsonrpc" in members else {}


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
        told = error.get("message") if isinstance(error, dict) else None
        text = told or found.get("error_description") or (error if isinstance(error, str) else text)
    except (ValueError, AttributeError, RecursionError):
        pass  # no JSON object: the text itself
    text = "" if str(text).lstrip().startswith("<") else " ".join(str(text).split())
    return f": {mask(text)[:_LONGEST_SAID]}" if text and text != response.reason_phrase else ""


async def _mirrored(line: bytes, exchange: Exchange | None, *, modern: bool) -> dict[str, str]:
    """The headers that repeat a request of 2026-07-28: its method, its tool, and what the tool's schema names."""
    if not modern or exchange is None:
        return {}
    headers = {"mcp-method": exchange.method}
    if (name := exchange.params.get("name", b"")).startswith(b'"'):
        headers["mcp-name"] = _header(json.loads(name))
    if exchange.tool and "x-mcp-header" in exchange.tool.text:
        headers |= await asyncio.to_thread(_named, exchange.tool.input_schema, line)
    return headers


def _header(text: str) -> str:
    """A header's value, in base64 where HTTP would not carry it as it is."""
    if _PRINTABLE.match(text) and not text.startswith("=?base64?"):
        return text
    return f"=?base64?{base64.b64encode(text.encode()).decode()}?="


def _named(schema: Mapping[str, Any], line: bytes) -> dict[str, str]:
    """The headers that a tool's schema asks for, by the SDK's reading of it; none where it asks wrongly."""
    from mcp.shared.inbound import find_invalid_x_mcp_header, mcp_param_headers, x_mcp_header_map

    if find_invalid_x_mcp_header(schema) is not None:
        return {}
    return mcp_param_headers(x_mcp_header_map(schema), json.loads(line)["params"].get("arguments") or {})
