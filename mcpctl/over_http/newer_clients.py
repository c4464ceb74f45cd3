"""Clients of 2026-07-28: each request is a POST by itself, which any process could answer. On record those of one
token, client and day are one session, which no field of the protocol knows."""

import asyncio
import hashlib
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from http import HTTPStatus
from typing import Any, NamedTuple

from mcpctl.base import bounds, posix
from mcpctl.base.callers import BY_TOKEN, MODERN_REVISION, Client, speaker
from mcpctl.metatools.offers import Offer
from mcpctl.over_http import mirrored
from mcpctl.over_http.admission import Guest
from mcpctl.over_http.http_exchange import HttpExchange, HttpRefusal, busy
from mcpctl.over_http.parts import SessionPart, SessionParts
from mcpctl.proxy.client_protocol import ClientProtocol
from mcpctl.proxy.gateway import Gateway
from mcpctl.proxy.input_rounds import Parking
from mcpctl.proxy.senders import caller_of
from mcpctl.proxy.session import ClientSession
from mcpctl.wire import jsonrpc
from mcpctl.wire.threads import beside
from mcpctl.wire.writer import Readers

LISTEN = "subscriptions/listen"
_A_DAY = 86_400


class Nowhere:
    """In place of a way to a client, where each of its requests has its own."""

    pending = 0

    async def released(self) -> None:
        """Nothing is sent."""

    def write(self, *pieces: bytes | memoryview) -> None:
        """Nobody is there."""


class Recorded(NamedTuple):
    """A session on record, of which each request is a part."""

    session: ClientSession
    parts: SessionParts


class NewerClients:
    def __init__(self, gateway: Gateway, offer: Offer) -> None:
        self._gateway = gateway
        self._offer = offer
        self._recorded: dict[tuple[str, str | None, str | None, int], Recorded] = {}  # the one used last at the end

    def __len__(self) -> int:
        return len(self._recorded)

    @property
    def sessions(self) -> list[ClientSession]:
        return [each.session for each in self._recorded.values()]

    async def post(self, http: HttpExchange, guest: Guest, messages: Sequence[Any]) -> SessionPart:
        """Begin the request of a POST: its part of a session. Raises `HttpRefusal`."""
        if len(messages) != 1 or isinstance(messages[0], jsonrpc.Malformed):
            raise HttpRefusal(HTTPStatus.BAD_REQUEST, "the body must be one JSON-RPC request")
        message = messages[0]
        if message.method is None:
            raise HttpRefusal(HTTPStatus.BAD_REQUEST, "a response is answered to nothing here")
        if message.id == jsonrpc.ABSENT:
            if http.header(mirrored.VERSION) != MODERN_REVISION:
                raise unsupported(http.header(mirrored.VERSION), messages)
            raise Acknowledged  # there is nothing that a notification could be about
        id_ = bytes(message.id)
        if not jsonrpc.ID.fullmatch(id_):
            raise HttpRefusal(HTTPStatus.BAD_REQUEST, "the id of a request is a string or a number")
        params = _params(message)
        meta = _members(params.get("_meta", b""))
        mirrored.check(http, id_, message.method, params, meta)
        of = self._session(guest, meta, params.get("requestState", b""))
        if message.method == "tools/call" and self._gateway.config.serve.direct:
            await self._check_arguments(http, id_, params, of)
        part = of.parts.take((id_,))
        self._gateway.turn.take_soon(partial(part.message, message))
        return part

    def cancel(self, part: SessionPart, id_: bytes) -> None:
        """The client has closed the stream."""
        if not part.session.subscriptions.cancel(id_):
            part.session.dispatch.cancel(id_, {})

    def _session(self, guest: Guest, meta: Mapping[str, bytes], state: bytes) -> Recorded:
        info = meta.get(jsonrpc.CLIENT_INFO_KEY, b"")
        client = _client(info if len(info) <= bounds.CLIENT_INFO else b"")
        claimed = meta.get("token", b"")
        whose = f"{guest.is_default} {guest.key}" if guest.token else ""
        if claimed and (guest.is_default or not guest.token):
            whose = hashlib.sha256(claimed).hexdigest()
        key = whose, client.name, client.version, int(time.time() // _A_DAY)
        if state:  # of a call that was parked before the day ended, perhaps
            parked = (each for each in self._recorded if each[:3] == key[:3] and state in self._parking(each))
            key = next(parked, key)
        known = self._recorded.pop(key, None)
        if known is None:
            if not posix.has_descriptors():
                raise busy("there are as many sessions as there may be")
            who = speaker(guest.token, BY_TOKEN, is_checked=guest.is_checked, is_default=guest.is_default)
            session = ClientSession(self._gateway, Nowhere(), who, over="http")
            protocol = ClientProtocol(session, Nowhere(), self._offer)
            readers = partial(self._readers, session)
            parts = SessionParts(self._gateway, self._offer, session, protocol, readers, is_modern=True)
            known = Recorded(session, parts)
            self._forget(key[-1])
        self._recorded[key] = known
        return known

    def _readers(self, session: ClientSession) -> Readers:
        return self._gateway.held[session.caller.holder].readers

    def _forget(self, today: int) -> None:
        """End sessions of earlier days, and of very many one of whoever has most, which was used longest ago."""
        idle = [key for key, each in self._recorded.items() if not each.session.parts]
        ended = [key for key in idle if key[-1] != today and not self._parking(key)]
        if len(self._recorded) - len(ended) >= self._gateway.config.http.max_sessions:
            counts = Counter(key[0] for key in self._recorded)
            ended += sorted((key for key in idle if key not in ended), key=lambda key: -counts[key[0]])[:1]
        for key in ended:
            recorded = self._recorded.pop(key)
            recorded.parts.close()
            self._gateway.background(recorded.session.close(0))

    def _parking(self, key: tuple[str, str | None, str | None, int]) -> Parking:
        return self._recorded[key].session.dispatch.parking

    async def _check_arguments(self, http: HttpExchange, id_: bytes, params: Mapping[str, bytes], of: Recorded) -> None:
        """Compare the headers that a tool's schema asks for, where tools are shown directly: ours ask for none."""
        await asyncio.sleep(0)  # from here on in a task, as those need that keep to time
        tools = await of.session.direct.tools(of.session.caller)
        name = jsonrpc.text(params.get("name", b""))
        tool = next((tool for shown, tool in tools.named if shown == name), None)
        if tool and "x-mcp-header" in tool.text:
            headers = http.beginning(b"mcp-param-")
            check = mirrored.problem_of_arguments
            if problem := await beside(check, tool.input_schema, params.get("arguments", b""), headers):
                raise mirrored.refusal(id_, problem)

    async def close(self, last: float) -> None:
        for each in self._recorded.values():
            each.parts.close()
            await each.session.close(last)


class Acknowledged(Exception):
    """There is nothing to answer."""


def unsupported(version: str | None, messages: Sequence[Any] = ()) -> HttpRefusal:
    id_ = bytes(getattr(messages[0], "id", b"")) if len(messages) == 1 else b""
    data = {"supported": [MODERN_REVISION], "requested": version or ""}
    message = "Unsupported protocol version"
    return HttpRefusal(HTTPStatus.BAD_REQUEST, message, code=jsonrpc.UNSUPPORTED_VERSION, data=data, id_=id_ or b"null")


def _params(message: Any) -> Mapping[str, bytes]:
    if isinstance(message, jsonrpc.Message):
        return jsonrpc.members_or_empty(message.params)
    return {"name": bytes(message.params.name), "_meta": bytes(message.params.meta)}


def _members(raw: bytes) -> Mapping[str, bytes]:
    return _kept_members(raw) if len(raw) <= bounds.CLIENT_INFO else jsonrpc.members_or_empty(raw)


_kept_members = lru_cache(maxsize=256)(jsonrpc.members_or_empty)  # a client's are nearly always the same


@lru_cache(maxsize=256)
def _client(info: bytes) -> Client:
    return caller_of(MODERN_REVISION, info, b"{}").client
