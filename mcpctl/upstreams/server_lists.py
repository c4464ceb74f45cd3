"""The lists of one server: when it is connected, when somebody asks, and when it says that they changed."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Collection, Mapping
from functools import partial
from typing import NamedTuple

import msgspec

from mcpctl.base import bounds
from mcpctl.base.callers import Caller
from mcpctl.base.errors import warn
from mcpctl.base.failure import Failed, Failure, failed
from mcpctl.base.feature_names import EXPOSED_AS, KINDS, PROMPTS, RESOURCES, TEMPLATES
from mcpctl.upstreams.connection import LISTEN, Connection, Exchange, Reply
from mcpctl.wire import jsonrpc
from mcpctl.wire.threads import beside

FIRST_WAIT_S, LAST_WAIT_S = 1.0, 60.0  # the waits before one that has ended is sent again, the first time and at most
_BETWEEN_LISTS_S = 0.2
_MAX_BETWEEN_LISTS_S = 30.0


class ListOf(NamedTuple):
    """A list that a server is asked for: how, the member of the answer that has it, and how much of it is taken."""

    method: str
    member: str
    most: int


class ListRefresher:
    """Lists something of a server, one time after the other, while `is_current` says that it is used."""

    def __init__(
        self, name: str, is_current: Callable[[Connection], bool],
        list_it: Callable[[Connection, Caller], Awaitable[None]],
    ) -> None:  # fmt: skip
        self._name = name
        self._is_current = is_current
        self._list = list_it
        self._of: tuple[Connection, Caller | None]
        self._task: asyncio.Task[None] | None = None
        self._again = False
        self.begun = 0
        self._under_way: asyncio.Future[None] | None = None  # for those who asked before it began
        self._next: asyncio.Future[None] | None = None  # for those who ask while a list is under way
        self._hurry = asyncio.Event()  # set when somebody waits, so that the next list comes without a pause

    def begin(self, connection: Connection, caller: Caller | None) -> None:
        self._of = connection, caller
        if self._task and not self._task.done():
            # A change announced during a listing may have missed it: list once more after it, however often it is said.
            self._again = True
            return
        self._task = asyncio.create_task(self._until_settled(), name=f"list {self._name}")
        # A list that could not be had leaves the one that was cached.
        self._task.add_done_callback(lambda task: task.cancelled() or task.exception())

    async def complete(self, connection: Connection, caller: Caller, begun: int) -> None:
        """Return when a list is done that is later than the first `begun`; raises why it failed."""
        if self._under_way is not None and self.begun > begun:
            await asyncio.shield(self._under_way)
            return
        self.begin(connection, caller)
        self._hurry.set()
        if self._next is None:
            self._next = asyncio.get_running_loop().create_future()
        await asyncio.shield(self._next)

    async def _until_settled(self) -> None:
        wait = _BETWEEN_LISTS_S
        self._again = True
        try:
            # The latest one: a server may be connected again while the end of its last connection is found out.
            while self._again and self._is_current(self._of[0]):
                connection, caller = self._of
                self._again = False
                self._hurry.clear()
                # In one name always: what is listed depends on what the client can do.
                await self._once(connection, connection.caller or caller or Caller(connection.revision))
                if self._again:
                    # A server may say so with every list: then less and less often, unless somebody waits.
                    with contextlib.suppress(TimeoutError):
                        async with asyncio.timeout(wait):
                            await self._hurry.wait()
                    wait = min(2 * wait, _MAX_BETWEEN_LISTS_S)
        finally:
            ended = Failed(Failure("server_died", {"server": self._name, "did": "ended before it listed what it has"}))
            self._under_way, unlisted, self._next = None, [self._under_way, self._next], None
            for waiting in unlisted:
                _end(waiting, ended)

    async def _once(self, connection: Connection, caller: Caller) -> None:
        self.begun += 1
        self._under_way = self._next or asyncio.get_running_loop().create_future()
        self._next = None
        failure = None
        try:
            await self._list(connection, caller)
        except Exception as error:
            failure = error
        under_way, self._under_way = self._under_way, None
        _end(under_way, failure)


async def pages(name: str, connection: Connection, caller: Caller, kind: ListOf) -> list[bytes]:
    """The definitions of all pages of a list, each as JSON; raises `Failed` and `Malformed`."""
    definitions: list[bytes] = []
    size, cursor = 0, b""
    for _ in range(bounds.PAGES):
        params = {"cursor": cursor} if cursor else {}
        answer = await connection.ask(kind.method, params, caller)
        work = partial(_page, kind=kind)
        page, following = await beside(work, answer) if len(answer) > bounds.LITTLE else work(answer)
        for definition in page:
            size += len(definition)
            if size > bounds.LIST_BYTES or len(definitions) == kind.most:
                most = f"{kind.most} {kind.member} or {bounds.LIST_BYTES >> 20} MB of them"
                warn(f"server '{name}' lists more than {most}: the rest is left out")
                return definitions
            definitions.append(definition)
        if following in (b"", b"null", b'""', cursor):
            return definitions
        cursor = following
    warn(f"server '{name}' lists its {kind.member} on more than {bounds.PAGES} pages: the rest is left out")
    return definitions


def _page(answer: bytes, kind: ListOf) -> tuple[list[bytes], bytes]:
    members = jsonrpc.members(answer)
    listed = members.get(kind.member, b"null")
    return [] if listed == b"null" else jsonrpc.items(listed, kind.most + 1), members.get("nextCursor", b"")


def _end(waiting: asyncio.Future[None] | None, failure: Exception | None) -> None:
    if waiting is None or waiting.done():
        return
    if failure:
        waiting.set_exception(failure)
        waiting.exception()  # those who waited may have gone
    else:
        waiting.set_result(None)


_TOOLS = ListOf("tools/list", "tools", bounds.TOOLS)
_FEATURES = {
    PROMPTS: ListOf("prompts/list", "prompts", bounds.FEATURES),
    RESOURCES: ListOf("resources/list", "resources", bounds.FEATURES),
    TEMPLATES: ListOf("resources/templates/list", "resourceTemplates", bounds.FEATURES),
}
_LISTEN_TO = {"tools": "toolsListChanged", "prompts": "promptsListChanged", "resources": "resourcesListChanged"}
_CHANGED = {f"notifications/{name}/list_changed": name != "tools" for name in _LISTEN_TO}
"""The notifications that a list has changed, each with whether it is one of features."""
ListedTools = Callable[[Connection, list[bytes]], Awaitable[None]]
ListedFeatures = Callable[[Connection, str, list[bytes]], Awaitable[None]]


class ServerLists:
    """Lists what a server has, for as long as `is_current` says that its connection is used. The lists go to
    `tools_listed` and `features_listed`, each definition as JSON. A list that takes longer than `timeout_s` has failed;
    0: none does. Only features that it declares and that `exposed` has are asked for."""

    def __init__(
        self, name: str, timeout_s: float, is_current: Callable[[Connection], bool], tools_listed: ListedTools,
        features_listed: ListedFeatures, exposed: Callable[[], Collection[str]],
    ) -> None:  # fmt: skip
        self._name = name
        self._timeout_s = timeout_s or None
        self._is_current = is_current
        self._tools_listed = tools_listed
        self._features_listed = features_listed
        self._exposed = exposed
        self.tools = ListRefresher(name, is_current, self._list_tools)
        self.features = ListRefresher(name, is_current, self._list_features)
        self._began_by: Connection | None = None

    def begin(self, connection: Connection, caller: Caller) -> None:
        """List all of it for the first time on a connection, and whenever it says that something has changed."""
        if connection.announces:
            self._listen(connection, caller)
        self.tools.begin(connection, caller)

    def changed(self, connection: Connection, method: str | None) -> bool:
        """List again what a notification says has changed; whether it was one that says so."""
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

        names = ["tools", *(name for name in ("prompts", "resources") if name in connection.offers)]
        Listening(
            connection,
            caller,
            {_LISTEN_TO[name]: b"true" for name in names},
            lambda _: asyncio.get_running_loop().call_later(wait, again),
        )

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

    async def _listed(self, connection: Connection, caller: Caller, kind: ListOf, declared: str) -> list[bytes]:
        """A list, empty where the server has none of its kind."""
        is_declared = declared in connection.offers
        if not is_declared and kind is not _TOOLS:
            return []
        try:
            async with asyncio.timeout(self._timeout_s):
                return await pages(self._name, connection, caller, kind)
        except TimeoutError:
            late = f"did not list its {kind.member} within {self._timeout_s:g} s"
            raise Failed(Failure("timed_out", {"server": self._name, "did": late})) from None
        except Failed as error:
            # Many that declare resources know no templates, and some not even resources.
            if _is_unknown(error.error) and (kind is not _TOOLS or not is_declared):
                return []
            raise


class _Error(msgspec.Struct):
    code: int = 0


def _is_unknown(error: bytes) -> bool:
    try:
        return bool(error) and jsonrpc.value(error, _Error).code == jsonrpc.METHOD_NOT_FOUND
    except jsonrpc.Malformed:
        return False


class Listening(Reply):
    def __init__(
        self, connection: Connection, caller: Caller, notifications: Mapping[str, bytes],
        on_end: Callable[[Failed], object],
        on_agreed: Callable[[Mapping[str, bytes]], None] = lambda honoured: None,
    ) -> None:  # fmt: skip
        """`notifications` is its filter; `on_agreed` gets the part of it that the server honours."""
        self._on_end = on_end
        self._on_agreed = on_agreed
        self._connection = connection
        self._exchange = Exchange(LISTEN, {"notifications": jsonrpc.object_of(notifications)}, {}, caller, self)
        connection.send(self._exchange)

    def take_back(self) -> None:
        self._connection.cancel(self._exchange, {"reason": b'"nobody wants to know"'})

    def acknowledged(self, params: Mapping[str, bytes]) -> None:
        self._on_agreed(jsonrpc.members_or_empty(params.get("notifications", b"")))

    def result(self, result: memoryview) -> None:
        self._on_end(failed("refused", "it ended the subscription"))

    def error(self, error: bytes) -> None:
        self._on_end(Failed(failed("refused", f"its answer to {LISTEN} is an error").failure, error))

    def failed(self, failure: Failure) -> None:
        self._on_end(Failed(failure))


def acknowledged(connection: Connection, params: Mapping[str, bytes]) -> None:
    """Take a server's acknowledgement of one of these to it."""
    meta = jsonrpc.members_or_empty(params.get("_meta", b""))
    exchange = connection.awaited(meta.get(jsonrpc.SUBSCRIPTION_KEY, b""))
    if exchange and isinstance(exchange.reply, Listening):
        exchange.reply.acknowledged(params)
