"""An HTTP API as a server: what MCP asks is answered from its compiled document, and a call is one HTTP request."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping
from contextlib import aclosing
from functools import partial
from http import HTTPStatus
from http.cookiejar import DefaultCookiePolicy
from typing import Any

import httpcore2
import httpx2
import msgspec

from mcpctl.base import bounds, files
from mcpctl.base.callers import MODERN_REVISION
from mcpctl.base.errors import McpctlError
from mcpctl.base.failure import Failed, Failure, failed
from mcpctl.base.paths import Paths
from mcpctl.config.api_environment import Api
from mcpctl.config.server_environment import CannotLaunch
from mcpctl.config.server_settings import Server
from mcpctl.openapi import snapshot
from mcpctl.openapi.snapshot import CompiledDocument, HttpOperation
from mcpctl.upstreams.connection import TOOLS_CALL, Connection, Exchange, OnGone, OnMessage
from mcpctl.upstreams.http_api import answer, credentials, request
from mcpctl.upstreams.http_api.answer import Received
from mcpctl.upstreams.http_api.client_tokens import ClientTokens, heard
from mcpctl.upstreams.http_api.masking import Masking
from mcpctl.upstreams.http_api.request import HttpRequest
from mcpctl.wire import http_client, jsonrpc
from mcpctl.wire.http_client import in_words
from mcpctl.wire.threads import apart, beside
from mcpctl.wire.writer import Readers

_CLOSE_S = 0.3
_PAGE = 1 << 18  # bytes of one page of the list of its tools
_PIECE = 1 << 18  # bytes of a body that are handed on in one step
_BODILESS = ("GET", "HEAD")
_FILES = ("binary", "multipart")  # the bodies that may have files in them
_ENCODINGS = "gzip, deflate"  # those that are decompressed here, within bounds
_NOT_KEPT = msgspec.Raw(b"{}")
_Answer = Callable[[Exchange], Coroutine[Any, Any, bytes | bytearray]]


class HttpApi(Connection):
    def __init__(
        self, server: Server, entry: Api, secrets: list[str], paths: Paths, readers: Readers, on_message: OnMessage,
        on_gone: OnGone,
    ) -> None:  # fmt: skip
        super().__init__(on_message, on_gone)
        self._settings = server
        self._entry = entry
        self._secrets = secrets
        self._masking = Masking(secrets)
        self._paths = paths
        self._readers = readers
        self._document: CompiledDocument
        self._operations: Mapping[str, HttpOperation] = {}
        self._listed: list[bytes] = []
        self._stamp: object = None
        self._reading: asyncio.Task[None] | None = None
        self._clients: dict[str, asyncio.Future[httpx2.AsyncClient]] = {}
        self._tokens = ClientTokens(paths)
        self._long = asyncio.Lock()  # held while a long answer is read: one at a time, since each is in memory whole
        self._tasks: dict[bytes, asyncio.Task[None]] = {}
        self._ending: asyncio.Task[None] | None = None
        self._answers: Mapping[str, _Answer] = {
            "server/discover": self._discover, "initialize": self._initialize, "ping": self._ping,
            "tools/list": self._list, TOOLS_CALL: self._call,
        }  # fmt: skip

    def how_it_ended(self) -> str:
        return "it was closed"

    async def ready(self) -> None:
        try:
            await self._look()
        except McpctlError as error:
            raise CannotLaunch(error.message, error.hint) from error

    def write(self, *pieces: jsonrpc.Json, exchange: Exchange | None = None) -> None:
        if exchange is None or self.hung_up:
            return  # an API has no use for a notification
        exchange.was_sent = False
        self._tasks[exchange.id] = task = self._loop.create_task(self._answered(exchange))
        task.add_done_callback(lambda _: self._tasks.pop(exchange.id, None))

    def cancel(self, exchange: Exchange, params: Mapping[str, bytes]) -> None:
        """Take a request back: its connection is closed."""
        if self.pending.get(exchange.id) is exchange:
            del self.pending[exchange.id]
            if task := self._tasks.get(exchange.id):
                task.cancel()

    async def stop(self) -> None:
        self.hung_up = True
        self._ending = self._ending or self._loop.create_task(self._end())
        await asyncio.shield(self._ending)

    async def _end(self) -> None:
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._tokens.settle()
        for opening in self._clients.values():
            try:
                async with asyncio.timeout(_CLOSE_S):
                    await (await opening).aclose()
            except Exception:
                pass  # what is left of it ends with the process
        self._is_gone(Failure("server_died", {"reason": self.how_it_ended()}))
        await asyncio.sleep(0)  # a socket that was closed is let go in the next turn of the loop

    # ---- the document

    async def _look(self) -> None:
        """Read the compiled document, and again where `tools refresh` has made another."""
        stamp = files.stamp(snapshot.path_of(self._paths, self.server, self._settings))
        if self._operations and stamp in (self._stamp, None):
            return
        if self._reading is None or self._reading.done():
            self._reading = self._loop.create_task(self._read())
            self._reading.add_done_callback(heard)
        await asyncio.shield(self._reading)

    async def _read(self) -> None:
        stamp = files.stamp(snapshot.path_of(self._paths, self.server, self._settings))
        self._document, self._operations, self._listed = await apart(self._loaded)
        is_new, self._stamp = self._stamp not in (None, stamp), stamp
        if is_new:
            self._on_message(self, jsonrpc.Message(method="notifications/tools/list_changed"))

    def _loaded(self) -> tuple[CompiledDocument, Mapping[str, HttpOperation], list[bytes]]:
        """The document, its operations by their tools, and the definitions: the catalog keeps these, once listed."""
        document = snapshot.load(self._paths, self.server, self._settings)
        listed = [bytes(operation.definition) for operation in document.operations]
        bare = (msgspec.structs.replace(operation, definition=_NOT_KEPT) for operation in document.operations)
        return msgspec.structs.replace(document, operations=[]), {each.tool: each for each in bare}, listed

    # ---- what MCP asks

    async def _answered(self, exchange: Exchange) -> None:
        try:
            if work := self._answers.get(exchange.method):
                result = msgspec.Raw(await work(exchange))
                await self._readers.released()
                self._take(exchange, jsonrpc.Message(msgspec.Raw(exchange.id), result=result))
            else:
                error = jsonrpc.error_object(jsonrpc.METHOD_NOT_FOUND, f"an HTTP API has no {exchange.method[:100]}")
                self._take(exchange, jsonrpc.Message(msgspec.Raw(exchange.id), error=msgspec.Raw(error)))
        except Failed as error:
            self._has_failed(exchange, error.failure)
        except McpctlError as error:
            self._has_failed(exchange, Failure("server_did_not_start", {"reason": f"{error.message}; {error.hint}"}))
        except Exception as error:
            self._has_failed(exchange, failed("server_died", in_words(error)).failure)

    def _take(self, exchange: Exchange, message: jsonrpc.Message) -> None:
        if self.pending.get(exchange.id) is exchange:
            self.hear_out(message)

    def _has_failed(self, exchange: Exchange, failure: Failure) -> None:
        if self.pending.get(exchange.id) is exchange:
            del self.pending[exchange.id]
            exchange.failed(failure)

    async def _discover(self, exchange: Exchange) -> bytes:
        return self._about({"supportedVersions": [MODERN_REVISION], "resultType": "complete"})

    async def _initialize(self, exchange: Exchange) -> bytes:
        revision = jsonrpc.text(bytes(exchange.params.get("protocolVersion", b'""')))
        return self._about({"protocolVersion": revision})

    def _about(self, of_era: Mapping[str, Any]) -> bytes:
        document = self._document
        instructions = "\n\n".join(filter(None, (document.title, document.description)))
        info = {"name": document.title[: bounds.NAME] or self.server, "version": document.version[: bounds.NAME]}
        about = {"capabilities": {"tools": {}}, "serverInfo": info, "instructions": instructions[: bounds.INSTRUCTIONS]}
        return msgspec.json.encode({**of_era, **about})

    async def _ping(self, exchange: Exchange) -> bytes:
        return b"{}"

    async def _list(self, exchange: Exchange) -> bytes:
        """A page of the definitions, as they are in the document."""
        await self._look()
        if not self._listed:
            await self._read()
        cursor, listed = jsonrpc.text(bytes(exchange.params.get("cursor", b'"0"'))), self._listed
        at, size, page = int(cursor) if cursor.isdecimal() else 0, 0, list[bytes]()
        while at < len(listed) and size < _PAGE:
            page.append(listed[at])
            size, at = size + len(page[-1]), at + 1
        more = b',"nextCursor":"%d"' % at if at < len(listed) else b""
        if not more:
            self._listed = []
            self._readers.turn.was_large()
        kind = b',"resultType":"complete"' if self.modern else b""
        return b'{"tools":[%b]%b%b}' % (b",".join(page), more, kind)

    # ---- a call

    async def _call(self, exchange: Exchange) -> bytearray:
        await self._look()
        name, arguments = jsonrpc.text(bytes(exchange.params.get("name", b""))), exchange.params.get("arguments", b"")
        if (operation := self._operations.get(name)) is None:
            raise failed("unknown_operation", "its document has no such operation any more", was_sent=False)
        if exchange.tool and exchange.tool.request_hash != operation.request_hash:  # it was decided on another request
            raise failed("request_changed", "its document has changed how it is called: try again", was_sent=False)
        chosen = credentials.chosen(self._document, operation, self._entry)
        token = await self._tokens.of(chosen) if chosen.client else ""
        make = partial(request.made, self._document, operation, bytes(arguments), self._entry, token)
        has_files = operation.body and any(content.kind in _FILES for content in operation.body.contents)
        sent = await apart(make) if has_files or len(arguments) > bounds.LITTLE else make()
        received = await self._sent(sent, exchange)
        if received.status == HTTPStatus.UNAUTHORIZED and chosen.client:
            self._tokens.was_refused(chosen, token)
        needs = credentials.lacking(f"{self.server}:{name}", chosen.needs, self._entry) if any(chosen.needs) else ""
        masking = Masking([*self._secrets, token]) if token else self._masking
        result = partial(answer.result, received, operation, sent, modern=self.modern, needs=needs, masking=masking)
        if len(received.body) <= bounds.LITTLE:
            return result()
        if len(received.body) > bounds.AT_ONCE:
            self._readers.turn.was_large()
        return await beside(result)

    async def _sent(self, made: HttpRequest, exchange: Exchange) -> Received:
        """The outcome of a request, which is sent once."""
        client = await self._client(made.url)
        was_redirected = False

        async def trace(event: str, info: Mapping[str, Any]) -> None:
            nonlocal was_redirected
            # That to a proxy, which opens the way, is not the request yet.
            if event == "http11.send_request_headers.started" and info["request"].method != b"CONNECT":
                was_redirected, exchange.was_sent = exchange.was_sent, True
            elif event == "http11.send_request_headers.failed" and isinstance(
                info["exception"], httpcore2.LocalProtocolError
            ):
                exchange.was_sent = was_redirected

        headers = {"Accept-Encoding": _ENCODINGS, **made.headers}
        content: AsyncGenerator[bytes] | bytes | None = None
        if made.content:
            size = sum(map(len, made.content))
            content = made.content[0] if size <= _PIECE and len(made.content) == 1 else _in_pieces(made.content)
            headers["Content-Length"] = str(size)
        sent = client.build_request(
            made.method, made.url, headers=headers, content=content, extensions={"trace": trace}
        )
        async with http_client.responded(client, sent, follows=made.method in _BODILESS) as response:
            if response.has_redirect_location:
                return Received(response.status_code, response.headers, b"", elsewhere=_origin(response))
            return await self._read_body(response)

    async def _read_body(self, response: httpx2.Response) -> Received:
        if response.request.method == "HEAD":
            return Received(response.status_code, response.headers, b"")
        is_error = response.status_code >= HTTPStatus.BAD_REQUEST
        most = bounds.API_ERROR if is_error else bounds.API_ANSWER
        body, is_long = bytearray(), False
        try:
            async with aclosing(answer.body_of(response, most, cuts=is_error)) as pieces:
                async for piece in pieces:
                    body += piece
                    if len(body) > bounds.AT_ONCE and not is_long:
                        await self._long.acquire()
                        is_long = True
        finally:
            if is_long:
                self._long.release()
        is_cut = len(body) > most
        if is_cut:
            del body[most:]
        return Received(response.status_code, response.headers, body, is_cut=is_cut)

    async def _client(self, url: str) -> httpx2.AsyncClient:
        """The client of one place, whose connections all requests there share."""
        place = url[: url.index("/", url.index("//") + 2)]
        if (opening := self._clients.get(place)) is None or (opening.done() and opening.exception()):
            self._clients[place] = opening = apart(_client, place)
            opening.add_done_callback(heard)
        return await asyncio.shield(opening)


def _client(place: str) -> httpx2.AsyncClient:
    client = http_client.client(place, {})
    # A cookie that an API sets in the answer to one caller is not sent for another.
    client.cookies.jar.set_policy(DefaultCookiePolicy(allowed_domains=[]))
    return client


async def _in_pieces(content: list[bytes]) -> AsyncGenerator[bytes]:
    for part in content:
        for start in range(0, len(part), _PIECE):
            yield part[start : start + _PIECE]
            await asyncio.sleep(0)


def _origin(response: httpx2.Response) -> str:
    """The origin of a redirect, which may have a secret in all else."""
    if response.next_request is None:
        return "an address that is none"
    url = response.next_request.url
    return f"{url.scheme}://{url.netloc.decode('ascii', 'replace')}"
