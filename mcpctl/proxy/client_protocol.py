"""What a client of `mcpctl serve` may say: the protocol in both its eras, each request answered exactly once."""

import asyncio
import re
from dataclasses import replace
from typing import Any

import msgspec
from msgspec import Raw

from mcpctl import bounds
from mcpctl.callers import LEGACY_REVISIONS, MODERN_REVISION, NO_CLAIMS, UNREADABLE, Caller, Claims, Client
from mcpctl.errors import warn
from mcpctl.proxy import answer_form, feature_requests, metatools, subscriptions
from mcpctl.proxy.answer_form import Form
from mcpctl.proxy.client_side import CallRequest
from mcpctl.proxy.metatools import Offer
from mcpctl.proxy.session import SEVERITIES, Session, Transport, severity
from mcpctl.store.tokens import LONGEST
from mcpctl.wire import jsonrpc
from mcpctl.wire.messages import id_of

_ID = re.compile(rb'"[^\x00-\x1f]*"|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?')
"""What can be an id, and be in an answer as it came."""
_ENVELOPE = (jsonrpc.VERSION_KEY, jsonrpc.CLIENT_INFO_KEY, jsonrpc.CAPABILITIES_KEY)
"""What marks a request of 2026-07-28, whole or in part."""
_CLAIMS = ("token", "projectId")
"""The members of `_meta` that are for mcpctl alone."""
_MOST_CALLERS = 100
_WARMING = feature_requests.METHODS | subscriptions.METHODS | {"tools/list", "tools/call"}
"""What shows that a client is there to use servers."""


class ClientProtocol:
    """Takes what one client sends, message by message, to its session."""

    def __init__(self, session: Session, transport: Transport, offer: Offer) -> None:
        self._session = session
        self._transport = transport
        self._offer = offer
        self._executes = {msgspec.json.encode(name): only for name, only in offer.executes.items()}
        self._servers: list[str] | None = None
        """The servers that are named to who claims nothing: those of the first time, since clients ask only once."""
        self._constant: dict[tuple[tuple[str, ...] | None, Offer, Form], dict[tuple[str, bool], bytes]] = {}
        self._modern_callers: dict[bytes, Caller] = {}
        self._claiming: dict[tuple[Caller, Claims], Caller] = {}
        self._warmed: set[Claims] = set()

    # ---- lines

    def message(self, message: jsonrpc.Message | jsonrpc.Malformed) -> None:
        """Take one message."""
        if isinstance(message, jsonrpc.Malformed):
            self._error(b"null", jsonrpc.INVALID_REQUEST, f"Invalid Request: {message}")
        elif message.method is None:
            self._answered(message)
        elif jsonrpc.is_id(message.id):
            self._requested_safely(bytes(message.id), message.method, message.params)
        else:
            self._notified(message.method, message.params)

    def not_a_message(self, line: bytes) -> None:
        """Take a line that has none."""
        if line.strip() in (b"[]", b"[ ]"):
            self._error(b"null", jsonrpc.INVALID_REQUEST, "Invalid Request: an empty batch")
        elif line.strip():
            self._error(b"null", jsonrpc.PARSE_ERROR, "Parse error")

    def too_long(self, beginning: bytes, end: bytes) -> None:
        """Take the beginning and the end of a line that was not kept."""
        message = f"Invalid Request: a message has at most {bounds.MESSAGE >> 20} MB"
        self._error(id_of(beginning, end) or b"null", jsonrpc.INVALID_REQUEST, message)

    # ---- requests

    def _requested_safely(self, id_: bytes, method: str, raw: Raw) -> None:
        try:
            self._requested(id_, method, raw)
        except Exception as error:
            self._error(id_, jsonrpc.INTERNAL_ERROR, f"internal error: {error!r}")
            warn(f"internal error: {error!r}")

    def _requested(self, id_: bytes, method: str, raw: Raw) -> None:
        if not _ID.fullmatch(id_):
            self._error(b"null", jsonrpc.INVALID_REQUEST, "the id of a request is a string or a number")
            return
        try:
            params = jsonrpc.members(raw) if bytes(raw) not in (b"", b"null") else {}
            meta = jsonrpc.members(params["_meta"]) if params.get("_meta", b"null") != b"null" else {}
            claims = _taken_claims(meta)
        except jsonrpc.Malformed:
            self._error(id_, jsonrpc.INVALID_PARAMS, "params and its _meta must be objects")
            return
        caller: Caller | None = self._session.caller
        if not meta.keys().isdisjoint(_ENVELOPE) or method == "server/discover":
            caller = self._modern(id_, meta)
        if caller:
            self._do(id_, method, self._with_claims(caller, claims), params, meta)

    def _do(self, id_: bytes, method: str, caller: Caller, params: dict[str, bytes], meta: dict[str, bytes]) -> None:
        if method == "tools/call":
            self._call(id_, caller, params, meta)
        elif method == "initialize" and not caller.modern:
            self._initialize(id_, params, caller.claims)
        elif method == "logging/setLevel" and not caller.modern:
            self._set_log_level(id_, params.get("level", b""))
        elif method in feature_requests.METHODS:
            self._session.features.start(method, id_, caller, params, meta)
        elif method in subscriptions.METHODS:
            self._session.subscriptions.start(method, id_, caller, params, meta)
        elif method == "server/discover":
            said, announced = self._said_at_first(caller)
            self._transport.write(jsonrpc.result(id_, metatools.discovered(said, announced)))
        elif answer := self._constant_for(caller).get((method, caller.modern)):
            self._transport.write(jsonrpc.result(id_, answer))
        else:
            self._error(id_, jsonrpc.METHOD_NOT_FOUND, "Method not found", method[:200])
        if method in _WARMING and caller.claims not in self._warmed:
            self._warm_up(caller)

    def _warm_up(self, caller: Caller) -> None:
        """Have what it may search be ready soon: after the answer has left, since nothing here is needed for it."""
        loop, gateway = asyncio.get_running_loop(), self._session.gateway
        if not self._warmed:
            loop.call_soon(lambda: gateway.background(gateway.index.keep()))
        if len(self._warmed) < _MOST_CALLERS:
            self._warmed.add(caller.claims)
            loop.call_soon(gateway.warming.warm_up, caller)

    def _constant_for(self, caller: Caller) -> dict[tuple[str, bool], bytes]:
        """The results that change with the configuration alone, with the names of the servers that this caller sees."""
        servers, offer = self._named_to(caller), self._offer.configured(self._session.gateway.config)
        form = answer_form.of(caller)
        key = servers if servers is None else tuple(servers), offer, form
        if key not in self._constant:
            if len(self._constant) > _MOST_CALLERS:
                self._constant.clear()
            self._constant[key] = metatools.answers(servers, offer, form)
        return self._constant[key]

    def _said_at_first(self, caller: Caller) -> tuple[str, metatools.Announced]:
        """What this caller is told at first: our words, and the first ones of the servers that it sees; and what these
        have beside tools."""
        ours, gateway = metatools.instructions(self._named_to(caller), self._offer), self._session.gateway
        view = gateway.first_view(caller)
        # What is not known to be in force holds nothing back.
        texts = gateway.introductions.of(view) if gateway.is_current else {}
        return self._session.introduced.opening(ours, texts), gateway.announced(view)

    def _named_to(self, caller: Caller) -> list[str] | None:
        """The servers that are named to this caller; None without a valid token where one is needed."""
        view = self._session.gateway.first_view(caller)
        if view.access.is_barred:
            return None
        if caller.claims is not NO_CLAIMS:
            return list(view.config.enabled)
        if self._servers is None:
            self._servers = list(view.config.enabled)
        return self._servers

    def _with_claims(self, caller: Caller, claims: Claims) -> Caller:
        """The caller with what this request claims, the same one each time."""
        if claims is NO_CLAIMS:
            return caller
        key = caller, claims
        if key not in self._claiming:
            if len(self._claiming) > _MOST_CALLERS:
                self._claiming.clear()
            self._claiming[key] = replace(caller, claims=claims)
        return self._claiming[key]

    def _modern(self, id_: bytes, meta: dict[str, bytes]) -> Caller | None:
        """Who sends this 2026-07-28 request; None when its envelope is wrong, which has then been answered."""
        version = meta.get(jsonrpc.VERSION_KEY, b"")
        if not version:
            self._error(id_, jsonrpc.INVALID_PARAMS, f"_meta needs {jsonrpc.VERSION_KEY}")
            return None
        capabilities = meta.get(jsonrpc.CAPABILITIES_KEY, b"")
        info = meta.get(jsonrpc.CLIENT_INFO_KEY, b"")
        if version != b'"%b"' % MODERN_REVISION.encode():
            data = {"supported": [MODERN_REVISION], "requested": _text(version)}
            self._error(id_, jsonrpc.UNSUPPORTED_VERSION, "Unsupported protocol version", data)
            return None
        if not capabilities.startswith(b"{"):
            self._error(id_, jsonrpc.INVALID_PARAMS, f"_meta needs {jsonrpc.CAPABILITIES_KEY}, an object")
            return None
        identity = capabilities + b"\n" + info
        caller = self._modern_callers.get(identity)
        if caller is None:
            if len(self._modern_callers) > _MOST_CALLERS:
                self._modern_callers.clear()
            caller = self._modern_callers[identity] = _caller(MODERN_REVISION, info, capabilities)
        return caller

    def _initialize(self, id_: bytes, params: dict[str, bytes], claims: Claims) -> None:
        version = _text(params.get("protocolVersion", b""))
        revision = version if version in LEGACY_REVISIONS else LEGACY_REVISIONS[-1]
        capabilities = params.get("capabilities", b"{}")
        info = params.get("clientInfo", b"")
        self._session.caller = _caller(revision, info, capabilities if capabilities.startswith(b"{") else b"{}")
        self._session.is_initialized = True
        caller = self._with_claims(self._session.caller, claims)
        said, announced = self._said_at_first(caller)
        self._session.subscriptions.begin(caller, announced)
        self._transport.write(jsonrpc.result(id_, metatools.initialized(revision, said, announced)))

    def _set_log_level(self, id_: bytes, level: bytes) -> None:
        if severity(level) is None:
            self._error(id_, jsonrpc.INVALID_PARAMS, f"level is one of {', '.join(SEVERITIES)}")
            return
        self._session.log_level = level
        self._session.gateway.set_log_level(level, self._session.caller)
        self._transport.write(jsonrpc.result(id_, b"{}"))

    def _call(self, id_: bytes, caller: Caller, params: dict[str, bytes], meta: dict[str, bytes]) -> None:
        name = params.get("name", b"")
        arguments = params.get("arguments", b"{}")
        if name in self._executes:
            extra = {n: value for n, value in params.items() if n not in ("name", "arguments", "_meta")}
            self._session.execute.start(CallRequest(id_, caller, meta, extra, self._executes[name]), arguments)
        elif name == b'"tool_discovery"':
            self._session.discover(id_, caller, arguments)
        elif name == b'"add-tool-annotation"' and self._offer.annotate:
            self._session.annotate(id_, caller, arguments)
        else:
            self._session.execute.attempted(_text(name), "unknown_meta_tool", caller)
            *first, last = self._offer.names
            hint = f"this server has {', '.join(first)} and {last}; call others with {self._offer.phrase}"
            self._error(id_, jsonrpc.INVALID_PARAMS, f"Unknown tool: {_text(name)[:200]}", hint)

    # ---- notifications and answers

    def _notified(self, method: str, raw: Raw) -> None:
        params = _without_claims(jsonrpc.members_or_empty(raw))
        if method == "notifications/cancelled":
            self._session.cancel(params.get("requestId", b""), params)
        elif method == "notifications/roots/list_changed":
            self._session.gateway.tell_all(method, params)

    def _answered(self, message: jsonrpc.Message) -> None:
        """The client's answer to a question."""
        if not bytes(message.result) and not bytes(message.error):
            if jsonrpc.is_id(message.id):
                reason = "Invalid Request: it has neither method, result nor error"
                self._error(bytes(message.id), jsonrpc.INVALID_REQUEST, reason)
            return
        self._session.questions.answered(message)

    def _error(self, id_: bytes, code: int, message: str, data: Any = None) -> None:
        self._transport.write(jsonrpc.error(id_, jsonrpc.error_object(code, message, data)))


class _Info(msgspec.Struct):
    name: str | None = None
    version: str | None = None


def _caller(revision: str, info: bytes, capabilities: bytes) -> Caller:
    try:
        named = jsonrpc.value(info, _Info) if info else _Info()
    except jsonrpc.Malformed:
        named = _Info()
    return Caller(revision, info, capabilities, Client(named.name, named.version, revision, capabilities))


def _taken_claims(meta: dict[str, bytes]) -> Claims:
    """What a request claims, which is taken out of its `_meta`: nobody else is to see it."""
    if meta.keys().isdisjoint(_CLAIMS):
        return NO_CLAIMS
    token, project = (_claim(meta.pop(name, b"")) for name in _CLAIMS)
    return Claims(token, project)


def _claim(raw: bytes) -> str | None:
    """The text of a claim, None where there is none; what is not a short text cannot be read."""
    if not raw:
        return None
    try:
        # Each of its characters may be written as two escapes.
        text = jsonrpc.value(raw, str) if len(raw) <= 12 * LONGEST + 2 else UNREADABLE
    except jsonrpc.Malformed:
        return UNREADABLE
    return text if len(text) <= LONGEST else UNREADABLE


def _without_claims(params: dict[str, bytes]) -> dict[str, bytes]:
    """The params of a notification, which claims nothing but may be passed on."""
    meta = jsonrpc.members_or_empty(params.get("_meta", b""))
    if meta.keys().isdisjoint(_CLAIMS):
        return params
    kept = {name: value for name, value in meta.items() if name not in _CLAIMS}
    return {**params, "_meta": jsonrpc.object_of(kept)}


def _text(raw: bytes) -> str:
    """A JSON string's text, or what stands there."""
    try:
        return jsonrpc.value(raw, str)
    except jsonrpc.Malformed:
        return raw.decode("utf-8", "replace")
