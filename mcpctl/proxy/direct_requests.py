"""The requests of a client that is shown tools directly: their list, and calls by their names.

A call is one of its key from then on, decided on and put on record as any other. Only a name that is known here has a
key: that of a tool that is shown, of one that is chosen but not shown now, or, from the page of an MCP App, the name
that its server has for it.
"""

from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any

from msgspec.structs import replace

from mcpctl.base.callers import Caller
from mcpctl.base.errors import warn
from mcpctl.metatools import client_limits
from mcpctl.metatools.direct_tools import DirectTools
from mcpctl.policy.view import View
from mcpctl.proxy.dispatch import Dispatch
from mcpctl.proxy.feature_requests import FeatureRequests, offset_of, page
from mcpctl.proxy.gateway import TOOLS, Gateway
from mcpctl.proxy.spec import DIRECT, Incoming
from mcpctl.wire import jsonrpc
from mcpctl.wire.threads import beside

Tools = Callable[[View], list[bytes]]  # gives the definitions of the tools of our own
Unknown = Callable[[Incoming, str], None]  # answers a call of a tool that is not there
_NOT_AN_OBJECT = "mcpctl: arguments must be an object with the tool's parameters"


class DirectRequests:
    def __init__(
        self, gateway: Gateway, dispatch: Dispatch, features: FeatureRequests,
        begin: Callable[[Coroutine[Any, Any, None]], None],
        list_first: Callable[[Sequence[str], View, Caller], Coroutine[Any, Any, None]],
    ) -> None:  # fmt: skip
        """`list_first` has servers list their tools of which nothing is known, and waits for it as a search does."""
        self._gateway = gateway
        self._dispatch = dispatch
        self._features = features
        self._begin = begin
        self._list_first = list_first
        self._waiting: dict[bytes, Incoming] = {}  # calls whose names are being looked up
        self._warned: set[str] = set()

    # ---- the list

    def list(self, incoming: Incoming, own: Tools) -> None:
        """Answer `tools/list`: the tools of our own, then those that are shown."""
        self._begin(self._list(incoming, own))

    async def _list(self, incoming: Incoming, own: Tools) -> None:
        gateway, caller = self._gateway, incoming.caller
        try:
            await gateway.current()
            await gateway.incoming.loaded()
            view = gateway.view(caller)
            if unlisted := await gateway.searching.unlisted(view):
                await self._list_first(unlisted, view, caller)
        except Exception as error:  # what is known is listed all the same
            warn(f"internal error: {error!r}")
        await self._features.list(incoming, partial(self._page, own))

    async def _page(self, own: Tools, incoming: Incoming) -> bytes | None:
        tools = await self.tools(incoming.caller)
        offset = offset_of(incoming.extra.get("cursor", b""), tools.generation)
        if offset is None:
            return None
        self._warn(tools, incoming.caller)
        ours = own(self._gateway.view(incoming.caller))
        return await beside(page, TOOLS.encode(), tools.definitions, bytes, tools.generation, offset, ours)

    async def tools(self, caller: Caller) -> DirectTools:
        """The tools that a client is shown at this moment."""
        gateway = self._gateway
        return await gateway.direct.made(gateway.catalog(gateway.view(caller)))

    def _warn(self, tools: DirectTools, caller: Caller) -> None:
        problems = [*client_limits.problems_of(caller.client.name, tools.tools), *tools.problems]
        for problem in problems:
            if problem not in self._warned:
                self._warned.add(problem)
                warn(f"{problem}; see: mcpctl tools ls --direct")

    # ---- calls

    def call(self, incoming: Incoming, name: str, arguments: bytes, unknown: Unknown) -> None:
        """Call the tool of this name; it is `unknown` where there is none."""
        gateway = self._gateway
        view = gateway.view(incoming.caller)
        known = None if gateway.follower.settling else gateway.direct.known(gateway.catalog(view))
        if known is None:
            self._waiting[incoming.id] = incoming
            self._begin(self._look_up(incoming, name, arguments, unknown))
        else:
            self._call(known, view, incoming, name, arguments, unknown)

    async def _look_up(self, incoming: Incoming, name: str, arguments: bytes, unknown: Unknown) -> None:
        await self._gateway.current()
        await self._gateway.incoming.loaded()
        known = await self.tools(incoming.caller)
        if self._waiting.get(incoming.id) is incoming:  # else it was taken back meanwhile
            del self._waiting[incoming.id]
            self._call(known, self._gateway.view(incoming.caller), incoming, name, arguments, unknown)

    def _call(
        self, known: DirectTools, view: View, incoming: Incoming, name: str, arguments: bytes, unknown: Unknown
    ) -> None:
        key = known.keys.get(name) or known.of_pages.get(name) or self._gateway.direct.choice(view).written(name, view)
        if key is None:
            unknown(incoming, name)
        elif arguments[:1] not in (b"{", b"") and arguments != b"null":
            self._dispatch.attempted(key, "bad_arguments", incoming.caller)
            error = jsonrpc.error_object(jsonrpc.INVALID_PARAMS, _NOT_AN_OBJECT)
            self._dispatch.client.error(incoming, error)
        else:
            passed = b"" if arguments == b"null" else arguments
            self._dispatch.call_tool(replace(incoming, via=DIRECT), key, passed)

    def cancel(self, id_: bytes) -> bool:
        """Whether a call was taken back whose name was being looked up."""
        return self._waiting.pop(id_, None) is not None
