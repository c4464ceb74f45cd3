"""The requests of a client that is shown tools directly: their list, and calls by their names.

A call is one of its key from then on, decided on and put on record as any other. A plain name says its key itself. Only
lists tell whose a name is that ends in a hash, and which tool a page of an MCP App means by the name of its server.
"""

from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any

from msgspec.structs import replace

from mcpctl.base.callers import Caller
from mcpctl.base.errors import warn
from mcpctl.metatools import client_limits, direct_definitions
from mcpctl.metatools.direct_tools import DirectChoice, DirectTools
from mcpctl.policy.view import View
from mcpctl.proxy.dispatch import Dispatch
from mcpctl.proxy.feature_requests import FeatureRequests, offset_of, page
from mcpctl.proxy.gateway import TOOLS, Gateway
from mcpctl.proxy.spec import DIRECT, PAGE, Incoming
from mcpctl.wire import jsonrpc
from mcpctl.wire.threads import beside

Tools = Callable[[View], list[bytes]]  # gives the definitions of the tools of our own
Unknown = Callable[[Incoming, str], None]  # answers a call of a tool that is not there
_KEYS_KEPT = 1000  # of one view
_NOT_AN_OBJECT = "mcpctl: arguments must be an object with the tool's parameters"


class DirectRequests:
    def __init__(
        self, gateway: Gateway, dispatch: Dispatch, features: FeatureRequests,
        begin: Callable[[Coroutine[Any, Any, None]], None],
        list_all: Callable[[Sequence[str], Caller], Coroutine[Any, Any, None]], of: "DirectRequests | None" = None,
    ) -> None:  # fmt: skip
        """`list_all` has servers list their tools of which nothing is known, and waits for them. The first list and
        the warnings are those `of` another, where each request of a client has its own."""
        self._gateway = gateway
        self._dispatch = dispatch
        self._features = features
        self._begin = begin
        self._list_all = list_all
        self._of: DirectRequests = of or self
        self._has_waited = False
        self._warned: set[str] = of._warned if of else set()

    # ---- the list

    def list(self, incoming: Incoming, own: Tools) -> None:
        """Answer `tools/list`: the tools of our own, then those that are shown. Only the first waits for servers."""
        self._begin(self._list(incoming, own))

    async def _list(self, incoming: Incoming, own: Tools) -> None:
        if not self._of._has_waited:
            self._of._has_waited = True
            try:
                await self._gateway.current()
                view = self._gateway.view(incoming.caller)
                unlisted, choice = await self._gateway.searching.unlisted(view), DirectChoice.of(view)
                if chosen := [name for name in unlisted if choice.reaches(name, view)]:
                    await self._list_all(chosen, incoming.caller)
            except Exception as error:  # what is known is listed all the same
                warn(f"internal error: {error!r}")
        await self._features.list(incoming, partial(self._page, own))

    async def _page(self, own: Tools, incoming: Incoming) -> bytes | None:
        tools = await self.tools(incoming.caller)
        offset = offset_of(incoming.extra.get("cursor", b""), tools.generation)
        if offset is None:
            return None
        ours = own(self._gateway.view(incoming.caller))
        self._warn(tools, len(ours), incoming.caller)
        listed = tools.named
        return await beside(page, TOOLS.encode(), listed, direct_definitions.definition, tools.generation, offset, ours)

    async def tools(self, caller: Caller) -> DirectTools:
        """The tools that a client is shown at this moment."""
        gateway = self._gateway
        return await gateway.direct.made(gateway.catalog(gateway.view(caller)))

    def _warn(self, tools: DirectTools, own: int, caller: Caller) -> None:
        """Say what is too much for the client, and why tools are not shown: each once, though numbers change."""
        problems = client_limits.problems_of(caller.client.name, tools.tools, own)
        problems |= {"names": tools.equal} if tools.equal else {}
        for kind in problems.keys() - self._warned:
            self._warned.add(kind)
            warn(f"{problems[kind]}; see: mcpctl tools ls --direct")

    # ---- calls

    def call(self, incoming: Incoming, name: str, arguments: bytes, unknown: Unknown) -> None:
        """Call the tool of this name; `unknown` answers where there is none."""
        gateway = self._gateway
        if arguments[:1] not in (b"{", b"") and arguments != b"null":
            self._dispatch.client.error(incoming, jsonrpc.error_object(jsonrpc.INVALID_PARAMS, _NOT_AN_OBJECT))
            return
        incoming, passed = replace(incoming, via=DIRECT), b"" if arguments == b"null" else arguments
        view = gateway.view(incoming.caller)
        key = None if gateway.follower.settling else view.direct_keys.get(name)
        if key is None and not gateway.follower.settling:
            key = self._key_now(name, view, incoming)
        if key is None:
            find = partial(self._found, name, incoming)
            self._dispatch.call_when_found(incoming, passed, find, lambda: unknown(incoming, name))
        elif key:
            self._dispatch.call_tool(incoming, key, passed)
        else:
            unknown(incoming, name)

    def _key_now(self, name: str, view: View, incoming: Incoming) -> str | None:
        """The key as far as it can be told without waiting; empty where no tool has the name."""
        key = DirectChoice.of(view).key_said(name, view)
        if key and len(view.direct_keys) < _KEYS_KEPT:
            view.direct_keys[name] = key
        known = self._gateway.direct.known(self._gateway.catalog(view)) if key is None else None
        return self._key(known, name, incoming) if known else key

    async def _found(self, name: str, incoming: Incoming) -> str:
        gateway = self._gateway
        await gateway.current()
        await gateway.incoming.loaded()
        view = gateway.view(incoming.caller)
        key = DirectChoice.of(view).key_said(name, view)
        return self._key(await self.tools(incoming.caller), name, incoming) if key is None else key

    def _key(self, known: DirectTools, name: str, incoming: Incoming) -> str:
        if key := known.key(name):
            return key
        incoming.via = PAGE
        return known.key_for_page(name)
