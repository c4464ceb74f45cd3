"""The ASGI application of `serve --http`: what each request is, and where it goes. It knows no sockets."""

import asyncio
import math
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from http import HTTPStatus
from typing import Any

from mcpctl.base import bounds
from mcpctl.base.callers import LEGACY_REVISIONS, MODERN_REVISION
from mcpctl.base.errors import warn
from mcpctl.config.settings import HttpSettings
from mcpctl.metatools.offers import Offer
from mcpctl.over_http import metrics, mirrored
from mcpctl.over_http.admission import Admission, Guest
from mcpctl.over_http.http_exchange import JSON, STREAM, Gone, Header, HttpExchange, HttpRefusal, busy
from mcpctl.over_http.newer_clients import LISTEN, Acknowledged, NewerClients, Nowhere, unsupported
from mcpctl.over_http.older_clients import SESSION, OlderClients, OlderSession
from mcpctl.over_http.parts import SessionPart
from mcpctl.proxy.client_protocol import ClientProtocol, PlainCall, fault_of
from mcpctl.proxy.gateway import Gateway
from mcpctl.proxy.session import ClientSession
from mcpctl.wire import jsonrpc
from mcpctl.wire.reader import Line, messages_in
from mcpctl.wire.threads import beside

_ALLOWED = (b"allow", b"POST")
_LOOK_S = 0.02
_EVERY_S = 1.0  # how often it is looked for sessions that have to end


class Front:
    needs_task = False  # to its connections: what keeps to time goes into a task by itself

    def __init__(
        self, gateway: Gateway, offer: Offer, listened: Sequence[str], token: str | None = None, *,
        is_open: bool = False,
    ) -> None:  # fmt: skip
        """As `Admission` has them."""
        self._gateway = gateway
        self._follower = gateway.follower
        # This session is nobody's: it reads texts before it is known whose they are, and records who was kept out.
        self._own = ClientSession(gateway, Nowhere(), over="http")
        self._decoded = ClientProtocol(self._own, Nowhere(), offer).decoded
        self.admission = Admission(gateway, listened, token, self._own.recorder, is_open=is_open)
        self.newer = NewerClients(gateway, offer)
        self.older = OlderClients(gateway, offer)
        self._listens: dict[ClientSession, Guest] = {}
        self.is_draining = False

    async def __call__(self, scope: Any, receive: Callable[[], Any], send: Callable[[Any], Any]) -> None:
        if scope["type"] != "http":
            return
        http = HttpExchange(scope, receive, send)
        try:
            await self._answer(http)
        except HttpRefusal as refusal:
            await http.refuse(refusal)
        except Acknowledged:
            await http.answer(HTTPStatus.ACCEPTED)
        except Gone:
            pass

    async def _answer(self, http: HttpExchange) -> None:
        if (admitted := http.notes.get("admitted")) and self._admits_again(*admitted[:2]):
            await self._post(http, *admitted[1:])
        else:
            await self._answer_anew(http)

    def _admits_again(self, settings: HttpSettings, guest: Guest) -> bool:
        """Whether one is admitted whose request has the same head as one before that was."""
        if self._must_wait() or self.is_draining or settings is not self._follower.snapshot.config.http:
            return False
        return self.admission.is_welcome(guest)

    async def _answer_anew(self, http: HttpExchange) -> None:
        # Two ways to read where it ends. Our own connections refuse it before; others may carry requests to us, too.
        if b"transfer-encoding" in http.headers and b"content-length" in http.headers:
            raise HttpRefusal(HTTPStatus.BAD_REQUEST, "a body has one length", (b"connection", b"close"))
        if http.path in ("/healthz", "/readyz"):
            is_well = http.path == "/healthz" or self._is_ready()
            await http.answer(HTTPStatus.OK if is_well else HTTPStatus.SERVICE_UNAVAILABLE)
            return
        if self._must_wait():  # the configuration may be another one, and tokens may have been made or revoked
            await self._gateway.current()
        settings = self._gateway.config.http
        self.admission.check_place(http)
        if origin := http.headers.get(b"origin"):
            http.be_readable(origin)
            if http.method == "OPTIONS" and b"access-control-request-method" in http.headers:
                await http.preflight()
                return
        if http.path == "/metrics" and settings.metrics:
            self.admission.guest(http, must_have_token=True)
            await http.answer(HTTPStatus.OK, metrics.text(self._gateway, self).encode(), kind=metrics.KIND)
        elif http.path != settings.path:
            raise HttpRefusal(HTTPStatus.NOT_FOUND, f"there is nothing here; see {settings.path}")
        else:
            if self.is_draining:
                raise busy("the server is ending")
            guest, version = self.admission.guest(http), http.header(mirrored.VERSION)
            if http.method == "POST":
                _check_kinds(http)
                http.notes["admitted"] = () if origin else (settings, guest, version)
                await self._post(http, guest, version)
            else:
                await self._other(http, guest, version)

    def _must_wait(self) -> bool:
        """Whether it has to be read first what is in force, which is looked at once for all that has come together."""
        return self._follower.look(self._gateway.turn.coming()) is not None

    def _is_ready(self) -> bool:
        return self.admission.knows_tokens() and not self.is_draining

    async def _other(self, http: HttpExchange, guest: Guest, version: str | None) -> None:
        is_older = version in LEGACY_REVISIONS or (version != MODERN_REVISION and http.header(SESSION))
        if http.method not in ("GET", "DELETE") or not is_older:
            raise HttpRefusal(HTTPStatus.METHOD_NOT_ALLOWED, f"{http.method} is for nothing here", _ALLOWED)
        if version not in _VERSIONS:
            raise unsupported(version)
        session = self.older.of(http, guest)
        if http.method == "GET":
            if not _accepts(http, STREAM):
                raise HttpRefusal(HTTPStatus.NOT_ACCEPTABLE, "Accept must have text/event-stream")
            self.admission.listens(guest)
            try:
                await session.listen(http)
            finally:
                self.admission.listened(guest)
        else:
            await asyncio.sleep(0)  # from here on in a task, as those need that keep to time
            await self.older.end(session)
            await http.answer(HTTPStatus.NO_CONTENT)

    # ---- POST

    async def _post(self, http: HttpExchange, guest: Guest, version: str | None) -> None:
        self.admission.begins(guest)
        ended: Callable[[Guest], None] = self.admission.ended
        try:
            body = await http.body(self._follower.snapshot.config.http.max_body_mb << 20, guest.key)
            is_long = len(body) > bounds.AT_ONCE
            messages = await beside(_read, body, self._decoded) if is_long else _read(body, self._decoded)
            if not messages:
                raise _unreadable(http, body)
            if version == MODERN_REVISION or (SESSION not in http.headers and _has_envelope(messages)):
                if is_listening := getattr(messages[0], "method", "") == LISTEN:
                    self.admission.listens(guest)
                    ended(guest)
                    ended = self.admission.listened
                part = await self.newer.post(http, guest, messages)
                if is_listening:
                    self._listens[part.session] = guest
                await self._finish_newer(http, part, bytes(messages[0].id), is_listening=is_listening)
            elif version not in _VERSIONS:
                raise unsupported(version, messages)
            else:
                if more := _further_calls(messages):
                    self.admission.begins(guest, more)
                    ended = partial(self.admission.ended, count=1 + more)
                await self._finish_older(http, *self.older.post(http, guest, messages))
        finally:
            ended(guest)

    async def _finish_newer(self, http: HttpExchange, part: SessionPart, id_: bytes, *, is_listening: bool) -> None:
        """Answer; a request whose stream is closed is taken back."""
        http.when_gone(part.answer.leave)
        try:
            await part.answer.send(http, partial(_retry_after, part.session), streams=is_listening)
            if part.answer.is_open:
                self.newer.cancel(part, id_)
        finally:
            http.when_gone(None)
            self._listens.pop(part.session, None)
            if not part.of.keeps(part):
                await part.session.close(0)

    async def _finish_older(
        self, http: HttpExchange, session: OlderSession, part: SessionPart, headers: Sequence[Header]
    ) -> None:
        """Answer; what a client does not wait for goes on."""
        answer = part.answer
        try:
            if not (answer.is_open or answer.pending):
                await http.answer(HTTPStatus.ACCEPTED, b"", *headers)
                return
            http.when_gone(answer.leave)
            await answer.send(http, lambda: [*headers, *_retry_after(part.session)], streams=False)
            if answer.is_open:
                await answer.over()
        finally:
            http.when_gone(None)
            if not session.keeps(part):
                await part.session.close(0)

    # ---- as long as it runs, and its end

    async def keep(self) -> None:
        """End the sessions that nobody uses, and the streams of tokens that are not valid any more, again and again."""
        while True:
            await asyncio.sleep(_EVERY_S)
            try:
                await self._gateway.current()
                await self.end_unwelcome()
                await self.older.end_idle()
            except Exception as error:  # it may pass
                warn(f"internal error: {error!r}")

    async def end_unwelcome(self) -> None:
        for part, guest in list(self._listens.items()):
            if not self.admission.is_welcome(guest):
                part.subscriptions.close()
        await self.older.end_unwelcome(self.admission.is_welcome)

    async def drain(self, seconds: float) -> None:
        """Take no new request; give those in flight so long, and put the rest on record as interrupted."""
        self.is_draining = True
        self.older.end_streams()
        for part in list(self._listens):
            part.subscriptions.close()
        loop = asyncio.get_running_loop()
        last = loop.time() + seconds
        while self.admission.in_flight and loop.time() < last:
            await asyncio.sleep(_LOOK_S)
        for session in (*self.newer.sessions, *self.older.sessions):
            for part in list(session.parts):
                part.dispatch.interrupt()
        last = loop.time() + 1
        while self.admission.in_flight and loop.time() < last:
            await asyncio.sleep(_LOOK_S)

    async def close(self, last: float) -> None:
        await self.older.close(last)
        await self.newer.close(last)
        await self._own.close(last)


_VERSIONS = (None, MODERN_REVISION, *LEGACY_REVISIONS)


@lru_cache(maxsize=64)
def _is_json(content_type: str | None) -> bool:
    return (content_type or "").partition(";")[0].strip().lower() == JSON.decode()


def _check_kinds(http: HttpExchange) -> None:
    if not _is_json(http.header(b"content-type")):
        raise HttpRefusal(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "Content-Type must be application/json")
    if not _accepts(http, JSON, STREAM):
        raise HttpRefusal(HTTPStatus.NOT_ACCEPTABLE, "Accept must have application/json and text/event-stream")


def _accepts(http: HttpExchange, *kinds: bytes) -> bool:
    text = ",".join(http.every(b"accept")).encode() if http.repeats else http.headers.get(b"accept", b"")
    return _are_among(kinds, text)


@lru_cache(maxsize=64)
def _are_among(kinds: Sequence[bytes], text: bytes) -> bool:
    accepted = {part.partition(b";")[0].strip().lower() for part in text.split(b",")}
    return not text or all(not accepted.isdisjoint((kind, b"*/*", kind.partition(b"/")[0] + b"/*")) for kind in kinds)


def _read(body: bytes, decoded: Callable[[Line], Any]) -> Sequence[Any]:
    """The messages in a body; raises `HttpRefusal` for one that others would have to wait for."""
    line = body.translate(jsonrpc.ONE_LINE) if b"\n" in body or b"\r" in body else body
    try:
        message = decoded(line)
    except jsonrpc.REFUSED:
        message = None
    if isinstance(message, PlainCall) and len(bytes(message.params.meta)) <= bounds.LITTLE:
        return [message]
    if not jsonrpc.is_quick(line):
        words = "the message is nested too deeply, or has too many parts that are not arguments of tool_execute"
        raise HttpRefusal(HTTPStatus.BAD_REQUEST, words)
    return [message] if message else messages_in(line, decoded)


def _unreadable(http: HttpExchange, body: bytes) -> HttpRefusal:
    if b"content-encoding" in http.headers:
        words = "a body must not be compressed: no Content-Encoding"
        return HttpRefusal(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, words)
    code, words = fault_of(body)
    return HttpRefusal(HTTPStatus.BAD_REQUEST, words, code=code)


def _has_envelope(messages: Sequence[Any]) -> bool:
    """Whether the body is one of a newer client, whatever its headers are."""
    message = messages[0]
    if isinstance(message, jsonrpc.Malformed):
        return False
    is_call = not isinstance(message, jsonrpc.Message)
    raw = message.params.meta if is_call else jsonrpc.members_or_empty(message.params).get("_meta", b"")
    return jsonrpc.VERSION_KEY in jsonrpc.members_or_empty(raw)


def _further_calls(messages: Sequence[Any]) -> int:
    """The calls of a batch beside one, which is counted already."""
    if len(messages) < 2:
        return 0
    calls = [each for each in messages if getattr(each, "method", None) == "tools/call"]
    return max(0, len(calls) - 1)


def _retry_after(part: ClientSession) -> list[Header]:
    return [(b"retry-after", b"%d" % max(1, math.ceil(part.retry_after)))] if part.retry_after else []
