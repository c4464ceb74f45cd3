"""Clients of the revisions with a handshake: a session by its id, with a stream for what comes outside of a request."""

import asyncio
import secrets
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from http import HTTPStatus
from typing import Any

from mcpctl.base import posix
from mcpctl.base.callers import speaker
from mcpctl.metatools.offers import Offer
from mcpctl.over_http.admission import Guest
from mcpctl.over_http.http_exchange import Header, HttpExchange, HttpRefusal, busy
from mcpctl.over_http.parts import SessionPart, SessionParts
from mcpctl.over_http.post_answer import NOBODY_READS, PostAnswer, StreamedLines
from mcpctl.proxy.client_protocol import ClientProtocol
from mcpctl.proxy.gateway import Gateway
from mcpctl.proxy.senders import without_claims
from mcpctl.proxy.session import ClientSession
from mcpctl.wire import jsonrpc
from mcpctl.wire.writer import Readers

SESSION = b"mcp-session-id"
_OF_SESSION = frozenset(("initialize", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"))


class SessionTransport:
    """The way to a client of what belongs to its session: answers to the POST of their request, all else to the stream
    that the client has opened, if it has."""

    def __init__(self) -> None:
        self.stream: StreamedLines | None = None
        self.awaiting: dict[bytes, PostAnswer] = {}

    @property
    def pending(self) -> int:
        """While there is no stream, as much as one that nobody reads: what changes is told later."""
        return self.stream.pending if self.stream else NOBODY_READS

    async def released(self) -> None:
        if self.stream:
            await self.stream.released()

    def write(self, *pieces: bytes | memoryview) -> None:
        beginning = bytes(pieces[0])
        for id_, answer in self.awaiting.items():
            prefix = b'{"jsonrpc":"2.0","id":%b,"' % id_
            if beginning.startswith((prefix + b"result", prefix + b"error")):
                del self.awaiting[id_]
                answer.write(*pieces)
                return
        if self.stream:
            self.stream.write(*pieces)


class OlderSession:
    def __init__(self, gateway: Gateway, offer: Offer, guest: Guest) -> None:
        self.id = secrets.token_urlsafe(16)  # 128 random bits
        self.guest = guest
        self.used = asyncio.get_running_loop().time()
        self._gateway = gateway
        self._posts: set[SessionPart] = set()
        self._transport = SessionTransport()
        who = speaker(guest.token, self.id, is_checked=guest.is_checked, is_default=guest.is_default)
        self.session = ClientSession(gateway, self._transport, who, over="http")
        self._protocol = ClientProtocol(self.session, self._transport, offer)
        self._parts = SessionParts(
            gateway, offer, self.session, self._protocol, self._held_readers, is_modern=False,
            beyond=self._transport.write,
        )  # fmt: skip

    @property
    def is_idle(self) -> bool:
        """Whether its client is not there; what the client has left behind may go on."""
        is_there = any(not part.answer.is_gone for part in self._posts)
        return not (is_there or self._transport.stream or self._transport.awaiting)

    def post(self, messages: Sequence[Any]) -> SessionPart:
        """Take the messages of a POST, in a part of the session."""
        self.used = asyncio.get_running_loop().time()
        part = self._parts.take([_id(each) for each in messages if _is_request(each)])
        self._posts.add(part)
        part.session.dispatch.is_in_use = self._is_in_use
        self._gateway.turn.take_soon(partial(self._take, messages, part))
        return part

    def keeps(self, part: SessionPart) -> bool:
        self._posts.discard(part)
        return part.of.keeps(part)

    def _held_readers(self) -> Readers:
        return self._gateway.held[self.id].readers

    def _take(self, messages: Sequence[Any], part: SessionPart) -> None:
        for message in messages:
            if isinstance(message, jsonrpc.Malformed):
                part.protocol.malformed(message)
            elif message.method == "notifications/cancelled":
                self._cancel(without_claims(jsonrpc.members_or_empty(message.params)))
            elif not _is_request(message):
                self._protocol.message(message)
            elif message.method in _OF_SESSION:
                id_ = _id(message)
                if id_ in self._transport.awaiting:
                    in_use = jsonrpc.error_object(jsonrpc.INVALID_REQUEST, "this id is in use by another request")
                    part.answer.write(jsonrpc.error(id_, in_use))
                    continue
                self._transport.awaiting[id_] = part.answer
                self._protocol.message(message)
            else:
                part.protocol.message(message)

    def _is_in_use(self, id_: bytes) -> bool:
        return any(id_ in part.session.dispatch.in_flight for part in self._posts)

    def _cancel(self, params: dict[str, bytes]) -> None:
        """A request may be another POST's: nothing answers it any more."""
        id_ = params.get("requestId", b"")
        if self.session.subscriptions.cancel(id_) and (answer := self._transport.awaiting.pop(id_, None)):
            answer.withdrawn(id_)
        for part in list(self._posts):
            if id_ in part.session.dispatch.in_flight:
                part.session.dispatch.cancel(id_, params)
                part.answer.withdrawn(id_)

    async def listen(self, http: HttpExchange) -> None:
        """Send what comes outside of requests, until the client or the session goes; a later stream takes its place."""
        if self._transport.stream:
            self._transport.stream.end()
        readers = self._gateway.turn.of_client(self._held_readers())
        stream = self._transport.stream = StreamedLines(self._gateway.turn, readers)
        http.when_gone(stream.leave)
        self.session.lists_changed()  # what nobody was told meanwhile
        try:
            await stream.stream(http)
        finally:
            stream.close()
            stream.discard()
            if self._transport.stream is stream:
                self._transport.stream = None
            self.used = asyncio.get_running_loop().time()

    def end_stream(self) -> None:
        if self._transport.stream:
            self._transport.stream.end()

    async def close(self, last: float) -> None:
        for part in list(self.session.parts):
            part.dispatch.interrupt()
        self.end_stream()
        self._parts.close()
        await self.session.settle(0)
        await self.session.close(last)
        self._gateway.let_go(self.id)


class OlderClients:
    def __init__(self, gateway: Gateway, offer: Offer) -> None:
        self._gateway = gateway
        self._offer = offer
        self._sessions: dict[str, OlderSession] = {}

    def __len__(self) -> int:
        return len(self._sessions)

    @property
    def sessions(self) -> list[ClientSession]:
        return [each.session for each in self._sessions.values()]

    def of(self, http: HttpExchange, guest: Guest) -> OlderSession:
        """The session of a request; raises `HttpRefusal`, for another's as for one that is not there."""
        id_ = http.header(SESSION)
        if not id_:
            raise HttpRefusal(HTTPStatus.BAD_REQUEST, "Mcp-Session-Id is missing: begin with initialize")
        session = self._sessions.get(id_)
        if session is None or session.guest.key != guest.key:
            raise HttpRefusal(HTTPStatus.NOT_FOUND, "there is no such session: begin again with initialize")
        return session

    def post(
        self, http: HttpExchange, guest: Guest, messages: Sequence[Any]
    ) -> tuple[OlderSession, SessionPart, list[Header]]:
        """Take the messages of a POST; raises `HttpRefusal`."""
        begins = [each for each in messages if getattr(each, "method", None) == "initialize" and _is_request(each)]
        if not begins:
            session = self.of(http, guest)
            return session, session.post(messages), []
        if len(messages) > 1:
            raise HttpRefusal(HTTPStatus.BAD_REQUEST, "initialize comes alone")
        if http.header(SESSION):
            session = self.of(http, guest)
            return session, session.post(messages), []
        is_full = len(self._sessions) >= self._gateway.config.http.max_sessions
        if (is_full and not self._makes_room(guest)) or not posix.has_descriptors():
            raise busy("there are as many sessions as there may be")
        session = OlderSession(self._gateway, self._offer, guest)
        self._sessions[session.id] = session
        return session, session.post(messages), [(SESSION, session.id.encode())]

    def _makes_room(self, guest: Guest) -> bool:
        """End a session of whoever has most, if that is more than the guest has: nobody keeps all others out."""
        counts = Counter(each.guest.key for each in self._sessions.values())
        key, most = counts.most_common(1)[0]
        idle = [each for each in self._sessions.values() if each.guest.key == key and each.is_idle]
        if most <= counts[guest.key] + 1 or not idle:
            return False
        ended = self._sessions.pop(min(idle, key=lambda each: each.used).id)
        self._gateway.background(ended.close(0))
        return True

    async def end(self, session: OlderSession) -> None:
        if self._sessions.pop(session.id, None):
            await session.close(0)

    async def end_idle(self) -> None:
        """End the sessions of which nothing was heard for too long."""
        now = asyncio.get_running_loop().time()
        for session in list(self._sessions.values()):
            if not session.is_idle:
                session.used = now
            elif session.used < now - self._gateway.config.http.idle_session_s:
                await self.end(session)

    async def end_unwelcome(self, is_welcome: Callable[[Guest], bool]) -> None:
        """End the streams of those who are not welcome any more, and their sessions once nothing goes on there."""
        for session in list(self._sessions.values()):
            if not is_welcome(session.guest):
                session.end_stream()
                if session.is_idle:
                    await self.end(session)

    def end_streams(self) -> None:
        for session in self._sessions.values():
            session.end_stream()

    async def close(self, last: float) -> None:
        for session in list(self._sessions.values()):
            await session.close(last)


def _is_request(message: Any) -> bool:
    """Whether it is answered, if only because it is neither a request nor an answer."""
    if isinstance(message, jsonrpc.Malformed):
        return True
    is_answer = message.method is None and (message.result or message.error)
    return message.id not in jsonrpc.NOTHING and not is_answer


def _id(message: Any) -> bytes:
    """The id of the answer to a request."""
    is_malformed = isinstance(message, jsonrpc.Malformed) or not jsonrpc.ID.fullmatch(message.id)
    return b"null" if is_malformed else bytes(message.id)
