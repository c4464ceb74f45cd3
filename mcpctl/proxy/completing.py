"""One completion: asked for at every key stroke, so that none is waited for long or costs more than its answer."""

import asyncio
from collections.abc import Callable, Mapping
from typing import NamedTuple

import msgspec

from mcpctl import bounds
from mcpctl.catalog.features import Features, Owner
from mcpctl.failure import Failed, Failure
from mcpctl.feature_names import NAMED_BY, PROMPTS, RESOURCES
from mcpctl.proxy import refusals, translate
from mcpctl.proxy.client_side import CallRequest
from mcpctl.store.recordable import Json
from mcpctl.upstreams.connection import COMPLETE, Exchange, Reply
from mcpctl.upstreams.upstream import Upstream
from mcpctl.wire import jsonrpc

_WAIT_S = 2.0
_NONE = b'{"completion":{"values":[]}}'
_KIND_OF = {"ref/prompt": PROMPTS, "ref/resource": RESOURCES}


class Reference(NamedTuple):
    """What a completion is about."""

    type: str
    name: str
    members: Mapping[str, bytes]

    def owner(self, features: Features) -> Owner | None:
        """Whose it is, and what it is there; None where nobody's is."""
        named = features.prompts if self.type == "ref/prompt" else features.templates
        if found := named.get(self.name):
            return Owner(found.server, found.name)
        try:
            return None if self.type == "ref/prompt" else features.owner(self.name)
        except Failed:
            return None

    def to(self, owner: Owner) -> bytes:
        """It as its server calls it, in JSON."""
        if owner.uri == self.name:
            return jsonrpc.object_of(self.members)
        return jsonrpc.object_of({**self.members, NAMED_BY[_KIND_OF[self.type]]: msgspec.json.encode(owner.uri)})


def reference(text: bytes) -> Reference:
    """The reference that this JSON is; raises `Malformed`."""
    members = jsonrpc.members(text)
    type_ = jsonrpc.value(members.get("type", b"null"), str)
    if type_ not in _KIND_OF:
        raise jsonrpc.Malformed(f"ref.type is one of {', '.join(_KIND_OF)}")
    return Reference(type_, jsonrpc.value(members.get(NAMED_BY[_KIND_OF[type_]], b"null"), str), members)


class Completing(Reply):
    """One of them between its start and its one answer, which is empty where there is no other."""

    def __init__(
        self, request: CallRequest, located: Callable[[], Owner | None], answer: Callable[[CallRequest, Json], None],
        ended: Callable[["Completing"], None],
    ) -> None:  # fmt: skip
        """`located` says whose what is completed is at this moment."""
        self.request = request
        self.done = False
        self._located = located
        self._answer = answer
        self._ended = ended
        self._owner: Owner | None = None
        self._exchange: Exchange | None = None
        self._upstream: Upstream | None = None
        self._timer = asyncio.get_running_loop().call_later(_WAIT_S, self._give_up, {"reason": b'"it took too long"'})

    def send(self, reference: Reference, upstreams: Mapping[str, Upstream]) -> None:
        """Ask its server. One that does not run since it failed is not started for this."""
        if self.done:
            return
        self._owner = self._located()
        upstream = upstreams.get(self._owner.server) if self._owner else None
        if self._owner is None or upstream is None or (upstream.connection is None and upstream.down_since):
            self._end(_NONE)
            return
        params = {**self.request.extra, "ref": reference.to(self._owner)}
        self._exchange = Exchange(COMPLETE, params, self.request.meta, self.request.caller, self)
        self._upstream = upstream
        upstream.send(self._exchange)

    def may_be_sent(self) -> bool:
        """Whether what has waited for its server may still be sent there."""
        if self._located() == self._owner:
            return True
        self._end(_NONE)
        return False

    def result(self, result: memoryview) -> None:
        """Pass on the server's completions."""
        connection = self._exchange.connection if self._exchange else None
        head = translate.head(result) if len(result) <= bounds.AT_ONCE else None
        if head is None or translate.is_waiting(head):
            self._end(_NONE)
        elif not self.done:
            self._end(translate.for_client(result, head, self.request.caller, connection), is_own=False)

    def error(self, error: bytes) -> None:
        """A server that completes nothing says so."""
        self._end(_NONE)

    def failed(self, failure: Failure) -> None:
        """There is nothing to complete it with."""
        self._end(_NONE)

    def interrupt(self) -> None:
        """Answer that there is nothing, since the session ends."""
        self._give_up({})

    def cancel(self, params: Mapping[str, bytes]) -> None:
        """Take it back upstream, and answer nothing."""
        self._take_back(params)
        self._end(None)

    def _give_up(self, params: Mapping[str, bytes]) -> None:
        self._take_back(params)
        self._end(_NONE)

    def _take_back(self, params: Mapping[str, bytes]) -> None:
        if self._upstream and self._exchange:
            self._upstream.cancel(self._exchange, dict(params))

    def _end(self, result: Json | None, *, is_own: bool = True) -> None:
        if self.done:
            return
        self.done = True
        self._timer.cancel()
        if self._exchange and self._exchange.timer:
            self._exchange.timer.cancel()
        self._ended(self)
        if result is not None:
            caller = self.request.caller
            self._answer(self.request, refusals.own(bytes(result), caller) if is_own else result)
