"""Requests of a client of `mcpctl serve`: the protocol in both its eras, each request answered exactly once."""

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import Any, Literal

import msgspec
from msgspec import Raw

from mcpctl.base import bounds
from mcpctl.base.callers import LEGACY_REVISIONS, NO_CLAIMS, Caller, Claims
from mcpctl.base.errors import warn
from mcpctl.base.models import Newest
from mcpctl.metatools import offers
from mcpctl.metatools.offers import AnswerForm, Offer
from mcpctl.policy.view import View
from mcpctl.proxy import feature_requests, subscriptions
from mcpctl.proxy.senders import Sender, Senders, Unclear, caller_of, without_claims
from mcpctl.proxy.session import ClientSession, Transport
from mcpctl.proxy.spec import Incoming
from mcpctl.upstreams.connection import SEVERITIES, SEVERITY
from mcpctl.wire import jsonrpc
from mcpctl.wire.reader import Line, id_of

_MOST_CALLERS = 100
_Constant = tuple[tuple[str, ...] | None, Offer, AnswerForm]
_WARMING = feature_requests.METHODS | subscriptions.METHODS | {"tools/list"}


def fault_of(text: bytes) -> tuple[int, str]:
    """The code and the words of the error for a text that has no message."""
    if text.strip() in (b"[]", b"[ ]"):
        return jsonrpc.INVALID_REQUEST, "Invalid Request: an empty batch"
    return jsonrpc.PARSE_ERROR, "Parse error"


class _Passed(msgspec.Struct):
    toolKey: str
    arguments: Raw = jsonrpc.ABSENT


class _Params(msgspec.Struct, forbid_unknown_fields=True):
    name: Raw
    arguments: _Passed
    meta: Raw = msgspec.field(name="_meta", default=jsonrpc.ABSENT)


class PlainCall(msgspec.Struct):
    """A call of a server's tool as nearly all are written: its line is decoded in one go."""

    id: Raw
    method: Literal["tools/call"]
    params: _Params


_plain_call = msgspec.json.Decoder(PlainCall).decode


class ClientProtocol:
    def __init__(
        self, session: ClientSession, transport: Transport, offer: Offer, of: "ClientProtocol | None" = None
    ) -> None:
        """With the session `of` another, this is of that one's protocol, and knows who sends what as it does."""
        self._session = session
        self._transport = transport
        self._offer = offer
        self._executes = {msgspec.json.encode(name): only for name, only in offer.executes.items()}
        self._servers: list[str] | None = None  # those of the first time, for clients that claim nothing: they ask once
        self._constant: Newest[_Constant, dict[tuple[str, bool], bytes]] = of._constant if of else Newest(_MOST_CALLERS)
        self._senders: Senders = of._senders if of else Senders(session.caller)
        self._own_claims = session.caller.claims
        self._warmed: set[Claims] = of._warmed if of else set()
        self._warmed_last: Claims | None = None

    def begin_anew(self) -> None:
        """Go on for another request of the client."""
        self._servers = None

    # ---- lines

    def decoded(self, line: Line) -> jsonrpc.Message | PlainCall:
        """The message in a line, in any thread; raises as `jsonrpc.decoded`."""
        try:
            call = _plain_call(line)
        except jsonrpc.REFUSED:
            return jsonrpc.decoded(line)
        passed = call.params.arguments
        is_object = bytes(memoryview(passed.arguments)[:1]) in (b"{", b"")
        is_plain = is_object and passed.toolKey and bytes(call.params.name) in self._executes
        return call if is_plain and jsonrpc.ID.fullmatch(call.id) else jsonrpc.decoded(line)

    def message(self, message: jsonrpc.Message | PlainCall) -> None:
        if message.method is None:
            self._answered(message)
        elif not isinstance(message, PlainCall) and message.id in jsonrpc.NOTHING:
            self._notified(message.method, message.params)
        else:
            id_ = bytes(message.id)
            try:
                if isinstance(message, PlainCall):
                    self._execute(id_, message.params)
                else:
                    self._requested(id_, message.method, message.params)
            except Unclear as error:
                self._error(id_, error.code, error.message, error.data)
            except Exception as error:
                self._error(id_, jsonrpc.INTERNAL_ERROR, f"internal error: {error!r}")
                warn(f"internal error: {error!r}")

    def malformed(self, why: jsonrpc.Malformed) -> None:
        self._error(b"null", jsonrpc.INVALID_REQUEST, f"Invalid Request: {why}")

    def not_a_message(self, line: bytes) -> None:
        if line.strip():
            self._error(b"null", *fault_of(line))

    def too_long(self, beginning: bytes, end: bytes) -> None:
        message = f"Invalid Request: a message has at most {bounds.MESSAGE >> 20} MB"
        self._error(id_of(beginning, end) or b"null", jsonrpc.INVALID_REQUEST, message)

    # ---- requests

    def _execute(self, id_: bytes, params: _Params) -> None:
        meta, speaker, sender = bytes(params.meta), self._session.caller, self._senders.last
        if meta != sender.meta_text or speaker is not sender.speaker:  # else as nearly every call
            sender = self._senders.of(meta, speaker)
        incoming = Incoming(id_, sender.caller, sender.meta, execute_class=self._executes[bytes(params.name)])
        self._session.dispatch.call_tool(incoming, params.arguments.toolKey, memoryview(params.arguments.arguments))
        if sender.caller.claims is not self._warmed_last:
            self._warm_up(sender.caller)

    def _requested(self, id_: bytes, method: str, raw: Raw) -> None:
        if not jsonrpc.ID.fullmatch(id_):
            self._error(b"null", jsonrpc.INVALID_REQUEST, "the id of a request is a string or a number")
            return
        try:
            params = jsonrpc.members(raw) if raw not in jsonrpc.NOTHING else {}
        except jsonrpc.Malformed:
            raise Unclear from None
        meta, speaker, sender = params.get("_meta", b""), self._session.caller, self._senders.last
        if meta != sender.meta_text or speaker is not sender.speaker or method == "server/discover":
            sender = self._senders.of(meta, speaker, is_modern=method == "server/discover")
        self._do(id_, method, sender, params)

    def _do(self, id_: bytes, method: str, sender: Sender, params: dict[str, bytes]) -> None:
        caller, meta = sender.caller, sender.meta
        if method == "tools/call":
            extra = {n: value for n, value in params.items() if n not in ("name", "arguments", "_meta")}
            self._call(id_, sender, params.get("name", b""), params.get("arguments", b""), extra)
        elif method == "tools/list" and self._session.gateway.config.serve.direct:
            self._session.direct.list(Incoming(id_, caller, meta, params), partial(self._own_tools, caller))
        elif method == "initialize" and not caller.modern:
            self._initialize(id_, params, caller.claims)
        elif method == "logging/setLevel" and not caller.modern:
            self._set_log_level(id_, params.get("level", b""))
        elif method in feature_requests.METHODS:
            self._session.features.start(method, id_, caller, params, meta)
        elif method in subscriptions.METHODS:
            self._session.subscriptions.start(method, id_, caller, params)
        elif method == "server/discover":
            instructions, announced = self._said_at_first(caller)
            self._transport.write(jsonrpc.result(id_, offers.discovered(instructions, announced)))
        elif answer := self._constant_for(caller).get((method, caller.modern)):
            self._transport.write(jsonrpc.result(id_, answer))
        else:
            self._error(id_, jsonrpc.METHOD_NOT_FOUND, "Method not found", method[:200])
        if method in _WARMING:
            self._warm_up(caller)

    def _warm_up(self, caller: Caller) -> None:
        """Make ready what the caller may search: after the answer has left, since nothing here is needed for it."""
        self._warmed_last = caller.claims
        if caller.claims in self._warmed:
            return
        loop, gateway = asyncio.get_running_loop(), self._session.gateway
        if not self._warmed:
            loop.call_soon(lambda: gateway.background(gateway.index.keep()))
        if len(self._warmed) < _MOST_CALLERS:
            self._warmed.add(caller.claims)
            loop.call_soon(lambda: gateway.background(self._session.warm_up(caller)))

    def _constant_for(self, caller: Caller) -> dict[tuple[str, bool], bytes]:
        gateway = self._session.gateway
        servers, offer = self._named_to(gateway.view(caller)), self._offer.configured(gateway.config)
        form = offers.form_of(caller)
        key = servers if servers is None else tuple(servers), offer, form
        if key not in self._constant:
            self._constant[key] = offers.answers(servers, offer, form)
        return self._constant[key]

    def _own_tools(self, caller: Caller, view: View) -> list[bytes]:
        own = offers.tools(self._named_to(view), self._offer.configured(view.config), offers.form_of(caller))
        return [msgspec.json.encode(tool) for tool in own]

    def _said_at_first(self, caller: Caller) -> tuple[str, offers.Announced]:
        gateway = self._session.gateway
        view = gateway.view(caller)
        offer = self._offer.configured(view.config) if view.config.serve.direct else self._offer
        ours = offers.instructions(self._named_to(view), offer)
        # As long as it is not known what is in force, nothing says what is held.
        texts = {} if gateway.follower.settling else gateway.introductions.of(view)
        return self._session.introduced.opening(ours, texts), gateway.announced(view)

    def _named_to(self, view: View) -> list[str] | None:
        if view.access.is_barred:
            return None
        if view.caller and view.caller.claims is not self._own_claims:
            return list(view.config.enabled)
        if self._servers is None:
            self._servers = list(view.config.enabled)
        return self._servers

    def _initialize(self, id_: bytes, params: dict[str, bytes], claims: Claims) -> None:
        version = jsonrpc.text(params.get("protocolVersion", b""))
        revision = version if version in LEGACY_REVISIONS else LEGACY_REVISIONS[-1]
        capabilities = params.get("capabilities", b"{}")
        info = params.get("clientInfo", b"")
        speaker = caller_of(revision, info, capabilities if capabilities.startswith(b"{") else b"{}")
        self._session.caller = self._senders.claiming(speaker, NO_CLAIMS)
        self._session.is_initialized = True
        caller = self._session.caller
        if claims is not self._own_claims:
            caller = self._senders.claiming(caller, claims)
        instructions, announced = self._said_at_first(caller)
        self._session.subscriptions.begin(caller, announced)
        self._transport.write(jsonrpc.result(id_, offers.initialized(revision, instructions, announced)))

    def _set_log_level(self, id_: bytes, level: bytes) -> None:
        if level not in SEVERITY:
            self._error(id_, jsonrpc.INVALID_PARAMS, f"level is one of {', '.join(SEVERITIES)}")
            return
        self._session.log_level = level
        self._session.gateway.set_log_level(self._session.caller)
        self._transport.write(jsonrpc.result(id_, b"{}"))

    def _call(self, id_: bytes, sender: Sender, name: bytes, arguments: bytes, extra: Mapping[str, bytes]) -> None:
        caller = sender.caller
        incoming = Incoming(id_, caller, sender.meta, extra, self._executes.get(name))
        if name in self._executes:
            self._session.dispatch.call(incoming, arguments)
        elif name == b'"tool_discovery"':
            self._session.begin(self._session.discover(incoming, arguments or b"{}"))
        elif name == b'"add-tool-annotation"' and self._offer.annotate:
            from mcpctl.proxy import noting  # few may

            self._session.begin(noting.annotate(self._session, incoming, arguments or b"{}"))
        elif self._session.gateway.config.serve.direct and len(name) <= bounds.NAME:
            self._session.direct.call(incoming, jsonrpc.text(name), arguments, self._no_tool)
        else:
            self._no_tool(incoming, jsonrpc.text(name[: bounds.NAME]))
        self._warm_up(caller)

    def _no_tool(self, incoming: Incoming, name: str) -> None:
        if not name:
            hint = "a call has the name of its tool"
        elif self._session.gateway.config.serve.direct:
            hint = "list the tools again: this one is not among them now"
        else:
            *first, last = self._offer.names
            hint = f"this server has {', '.join(first)} and {last}; call others with {self._offer.phrase}"
        self._error(incoming.id, jsonrpc.INVALID_PARAMS, f"Unknown tool: {name[:200]}", hint)

    # ---- notifications and answers

    def _notified(self, method: str, raw: Raw) -> None:
        params = without_claims(jsonrpc.members_or_empty(raw))
        if method == "notifications/cancelled":
            request_id = params.get("requestId", b"")
            if not self._session.subscriptions.cancel(request_id):
                self._session.dispatch.cancel(request_id, params)
        elif method == "notifications/roots/list_changed":
            self._session.gateway.tell_servers(self._session.caller, method, params)

    def _answered(self, message: jsonrpc.Message) -> None:
        if message.result == message.error == jsonrpc.ABSENT:
            if message.id not in jsonrpc.NOTHING:
                reason = "Invalid Request: it has neither method, result nor error"
                self._error(bytes(message.id), jsonrpc.INVALID_REQUEST, reason)
            return
        self._session.questions.answered(message)

    def _error(self, id_: bytes, code: int, message: str, data: Any = None) -> None:
        self._transport.write(jsonrpc.error(id_, jsonrpc.error_object(code, message, data)))
