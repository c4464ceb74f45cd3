"""Who sends a request: by the handshake before it, and by what its `_meta` says and claims."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from mcpctl.base.callers import MODERN_REVISION, NO_CLAIMS, UNREADABLE, Caller, Claims, Client, held_by
from mcpctl.base.models import Newest
from mcpctl.policy.tokens import LONGEST
from mcpctl.wire import jsonrpc

_ENVELOPE = (jsonrpc.VERSION_KEY, jsonrpc.CLIENT_INFO_KEY, jsonrpc.CAPABILITIES_KEY)  # of 2026-07-28
_CLAIMS = ("token", "projectId")  # members of `_meta` that are for mcpctl alone
_MOST_CALLERS = 100
_NOT_OBJECTS = "params and its _meta must be objects"
_LONGEST_KEPT = 1 << 12  # bytes of the longest `_meta` with which the next request's is compared


class Sender(NamedTuple):
    meta_text: bytes  # its `_meta` as it came; empty where it has none
    speaker: Caller  # the caller of the handshake
    caller: Caller
    meta: Mapping[str, bytes]  # the members of its `_meta`, without its claims


class Unclear(ValueError):
    """Raised with the JSON-RPC error for a request that does not tell who sends it."""

    def __init__(self, code: int = jsonrpc.INVALID_PARAMS, message: str = _NOT_OBJECTS, data: Any = None) -> None:
        super().__init__(message)
        self.code, self.message, self.data = code, message, data


class Senders:
    """The senders of one connection: the same caller each time for the same words."""

    def __init__(self, speaker: Caller) -> None:
        self._own, self._holder = speaker.claims, speaker.holder  # those of requests that claim nothing themselves
        self._may_name_another = self._own.is_default or not self._own.is_checked
        self.last = Sender(b"", speaker, speaker, {})
        self._modern = Newest[bytes, Caller](_MOST_CALLERS)
        self._claiming = Newest[tuple[Caller, Claims], Caller](_MOST_CALLERS)

    def of(self, raw: bytes, speaker: Caller, *, is_modern: bool = False) -> Sender:
        """The sender of a request with this `_meta`, after a handshake of `speaker`. Raises `Unclear`."""
        try:
            meta = jsonrpc.members(raw) if raw not in (b"", b"null") else {}
        except jsonrpc.Malformed:
            raise Unclear from None
        claims = _taken_claims(meta)
        caller = speaker if meta.keys().isdisjoint(_ENVELOPE) and not is_modern else self._of_envelope(meta)
        sender = Sender(raw, speaker, self.claiming(caller, claims), meta)
        if len(raw) <= _LONGEST_KEPT:
            self.last = sender
        return sender

    def claiming(self, caller: Caller, claims: Claims) -> Caller:
        if claims is NO_CLAIMS:
            claims = self._own
        elif self._own.token is not None and (claims.token is None or not self._may_name_another):
            claims = replace(self._own, project=claims.project)
        if claims is caller.claims and self._holder == caller.holder:
            return caller
        key = caller, claims
        if key not in self._claiming:
            self._claiming[key] = replace(caller, claims=claims, holder=held_by(self._holder, claims))
        return self._claiming[key]

    def _of_envelope(self, meta: Mapping[str, bytes]) -> Caller:
        version = meta.get(jsonrpc.VERSION_KEY, b"")
        if not version:
            raise Unclear(jsonrpc.INVALID_PARAMS, f"_meta needs {jsonrpc.VERSION_KEY}")
        capabilities = meta.get(jsonrpc.CAPABILITIES_KEY, b"")
        info = meta.get(jsonrpc.CLIENT_INFO_KEY, b"")
        if version != b'"%b"' % MODERN_REVISION.encode():
            data = {"supported": [MODERN_REVISION], "requested": jsonrpc.text(version)}
            raise Unclear(jsonrpc.UNSUPPORTED_VERSION, "Unsupported protocol version", data)
        if not capabilities.startswith(b"{"):
            raise Unclear(jsonrpc.INVALID_PARAMS, f"_meta needs {jsonrpc.CAPABILITIES_KEY}, an object")
        identity = capabilities + b"\n" + info
        if identity not in self._modern:
            self._modern[identity] = caller_of(MODERN_REVISION, info, capabilities)
        return self._modern[identity]


class _ClientInfo(msgspec.Struct):
    name: str | None = None
    version: str | None = None


def caller_of(revision: str, info: bytes, capabilities: bytes) -> Caller:
    try:
        named = jsonrpc.value(info, _ClientInfo) if info else _ClientInfo()
    except jsonrpc.Malformed:
        named = _ClientInfo()
    return Caller(revision, info, capabilities, Client(named.name, named.version, revision, capabilities))


def without_claims(params: dict[str, bytes]) -> dict[str, bytes]:
    """The params of a notification, which claims nothing but may be passed on."""
    meta = jsonrpc.members_or_empty(params.get("_meta", b""))
    if meta.keys().isdisjoint(_CLAIMS):
        return params
    kept = {name: value for name, value in meta.items() if name not in _CLAIMS}
    return {**params, "_meta": jsonrpc.object_of(kept)}


def _taken_claims(meta: dict[str, bytes]) -> Claims:
    if meta.keys().isdisjoint(_CLAIMS):
        return NO_CLAIMS
    token, project = (_claim(meta.pop(name, b"")) for name in _CLAIMS)
    return Claims(token, project)


def _claim(raw: bytes) -> str | None:
    if not raw:
        return None
    try:
        # Each of its characters may be written as two escapes.
        text = jsonrpc.value(raw, str) if len(raw) <= 12 * LONGEST + 2 else UNREADABLE
    except jsonrpc.Malformed:
        return UNREADABLE
    return text if len(text) <= LONGEST else UNREADABLE
