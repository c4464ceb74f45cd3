"""All that one server lists: its tools, and then, beside them, its prompts, resources and templates."""

import asyncio
from collections.abc import Awaitable, Callable, Collection

import msgspec

from mcpctl.base import bounds
from mcpctl.base.callers import Caller
from mcpctl.base.failure import Failed, Failure
from mcpctl.base.feature_names import EXPOSED_AS, KINDS, PROMPTS, RESOURCES, TEMPLATES
from mcpctl.upstreams.connection import Connection
from mcpctl.upstreams.listening import FIRST_WAIT_S, LAST_WAIT_S, Listening
from mcpctl.upstreams.listing import Listing, ListOf, pages
from mcpctl.wire import jsonrpc

_TOOLS = ListOf("tools/list", "tools", bounds.TOOLS)
_FEATURES = {
    PROMPTS: ListOf("prompts/list", "prompts", bounds.FEATURES),
    RESOURCES: ListOf("resources/list", "resources", bounds.FEATURES),
    TEMPLATES: ListOf("resources/templates/list", "resourceTemplates", bounds.FEATURES),
}
_CHANGED = {
    "notifications/tools/list_changed": False,
    "notifications/prompts/list_changed": True,
    "notifications/resources/list_changed": True,
}
"""What says that a list has changed, and whether it is one of features."""
_LISTEN_TO = {"tools": "toolsListChanged", "prompts": "promptsListChanged", "resources": "resourcesListChanged"}
ListedTools = Callable[[Connection, list[bytes]], Awaitable[None]]
ListedFeatures = Callable[[Connection, str, list[bytes]], Awaitable[None]]


class ServerLists:
    """Lists what a server has, for as long as `is_current` says that its connection is used.

    What it lists goes to `tools_listed` and `features_listed`, each definition as JSON. A list that takes longer than
    `timeout_s` has failed; 0: none does. Of features only those are asked for that it declares and that `exposed` has.
    """

    def __init__(
        self,
        name: str,
        timeout_s: float,
        is_current: Callable[[Connection], bool],
        tools_listed: ListedTools,
        features_listed: ListedFeatures,
        exposed: Callable[[], Collection[str]],
    ) -> None:
        self._name = name
        self._timeout_s = timeout_s or None
        self._is_current = is_current
        self._tools_listed = tools_listed
        self._features_listed = features_listed
        self._exposed = exposed
        self.tools = Listing(name, is_current, self._list_tools)
        self.features = Listing(name, is_current, self._list_features)
        self._began_by: Connection | None = None
        """The connection whose features have been asked for."""

    def begin(self, connection: Connection, caller: Caller) -> None:
        """List all of it for the first time on a connection, and whenever it says that something has changed."""
        if connection.announces:
            self._listen(connection, caller)
        self.tools.begin(connection, caller)

    def changed(self, connection: Connection, method: str | None) -> bool:
        """List anew what a notification says has changed; whether it was one that says so."""
        is_of_features = _CHANGED.get(method or "")
        if is_of_features is None:
            return False
        if self._is_current(connection):
            (self.features if is_of_features else self.tools).begin(connection, None)
        return True

    def _listen(self, connection: Connection, caller: Caller, wait: float = FIRST_WAIT_S) -> None:
        """Ask to be told of changed lists, and again when that ends: the answer says only that nothing more comes."""

        def again() -> None:
            if self._is_current(connection):
                self.tools.begin(connection, caller)
                self.features.begin(connection, caller)
                self._listen(connection, caller, min(2 * wait, LAST_WAIT_S))

        wanted = {_LISTEN_TO[each]: b"true" for each in _LISTEN_TO if each == "tools" or each in connection.offers}
        Listening(connection, caller, wanted, lambda _: asyncio.get_running_loop().call_later(wait, again))

    async def _list_tools(self, connection: Connection, caller: Caller) -> None:
        try:
            definitions = await self._listed(connection, caller, _TOOLS, "tools")
            await self._tools_listed(connection, definitions)
        finally:
            if self._began_by is not connection and self._is_current(connection):
                self._began_by = connection
                self.features.begin(connection, caller)

    async def _list_features(self, connection: Connection, caller: Caller) -> None:
        """List what there is of each kind, whatever becomes of the others; raises the first failure."""
        failures: list[Failed] = []
        exposed = self._exposed()
        for kind in KINDS:
            if EXPOSED_AS[kind] not in exposed:
                continue
            try:
                definitions = await self._listed(connection, caller, _FEATURES[kind], EXPOSED_AS[kind])
            except Failed as error:
                failures.append(error)
            else:
                await self._features_listed(connection, kind, definitions)
        if failures:
            raise failures[0]

    async def _listed(self, connection: Connection, caller: Caller, wanted: ListOf, declared: str) -> list[bytes]:
        """A list, empty where the server has none of its kind."""
        is_declared = declared in connection.offers
        if not is_declared and wanted is not _TOOLS:
            return []
        try:
            async with asyncio.timeout(self._timeout_s):
                return await pages(self._name, connection, caller, wanted)
        except TimeoutError:
            late = f"did not list its {wanted.member} within {self._timeout_s:g} s"
            raise Failed(Failure("timed_out", {"server": self._name, "did": late})) from None
        except Failed as error:
            # Many that declare resources know no templates, and some not even resources.
            if _is_unknown(error.error) and (wanted is not _TOOLS or not is_declared):
                return []
            raise


class _Error(msgspec.Struct):
    code: int = 0


def _is_unknown(error: bytes) -> bool:
    """Whether an error says that there is no such method."""
    try:
        return bool(error) and jsonrpc.value(error, _Error).code == jsonrpc.METHOD_NOT_FOUND
    except jsonrpc.Malformed:
        return False
