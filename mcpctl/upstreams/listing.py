"""The tools of one server as it lists them: when it is connected, when somebody asks, and when it says they changed."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable

from mcpctl import bounds
from mcpctl.callers import Caller
from mcpctl.errors import warn
from mcpctl.failure import Failed, Failure
from mcpctl.upstreams.connection import LISTEN, Connection, Exchange, Reply
from mcpctl.wire import jsonrpc
from mcpctl.wire.messages import beside

_BETWEEN_LISTS_S = 0.2
_MAX_BETWEEN_LISTS_S = 30.0
_FIRST_LISTEN_S = 1.0
_MAX_BETWEEN_LISTENS_S = 60.0


class _Ended(Reply):
    """Calls `again` a while after a request has come to its end, however it did."""

    def __init__(self, wait: float, again: Callable[[], None]) -> None:
        self._wait = wait
        self._again = again

    def result(self, result: memoryview) -> None:
        asyncio.get_running_loop().call_later(self._wait, self._again)

    def failed(self, failure: Failure) -> None:
        asyncio.get_running_loop().call_later(self._wait, self._again)


class Listing:
    """Lists a server's tools, one list at a time, for as long as `is_current` says that its connection is used.

    What it lists goes to `listed`, with the connection, each definition as JSON. A list that takes longer than
    `timeout_s` has failed; 0: none does.
    """

    def __init__(
        self,
        name: str,
        timeout_s: float,
        is_current: Callable[[Connection], bool],
        listed: Callable[[Connection, list[bytes]], Awaitable[None]],
    ) -> None:
        self._name = name
        self._timeout_s = timeout_s or None
        self._is_current = is_current
        self._listed = listed
        self._of: tuple[Connection, Caller | None]
        """What is to be listed, and for whom."""
        self._task: asyncio.Task[None] | None = None
        self._again = False
        self.begun = 0
        """How many lists were begun."""
        self._under_way: asyncio.Future[None] | None = None
        """What those wait for who asked before it was begun."""
        self._next: asyncio.Future[None] | None = None
        """What those wait for who ask while a list is under way: it may have missed what they ask for."""
        self._hurry = asyncio.Event()
        """Set when somebody waits, so that the next list comes without a pause."""

    def begin(self, connection: Connection, caller: Caller | None) -> None:
        """List in the background; what comes of it is nobody's business."""
        self._of = connection, caller
        if self._task and not self._task.done():
            # A change announced during a listing may have missed it: list once more after it, however often it is said.
            self._again = True
            return
        self._task = asyncio.create_task(self._until_settled(), name=f"list {self._name}")
        self._task.add_done_callback(_ignore_failure)

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

    def listen(self, connection: Connection, caller: Caller, wait: float = _FIRST_LISTEN_S) -> None:
        """Ask to be told of changed tools, and again when that ends: the answer says only that nothing more comes."""

        def again() -> None:
            if self._is_current(connection):
                self.begin(connection, caller)
                self.listen(connection, caller, min(2 * wait, _MAX_BETWEEN_LISTENS_S))

        subscription = {"notifications": b'{"toolsListChanged":true}'}
        connection.send(Exchange(LISTEN, subscription, {}, caller, _Ended(wait, again)))

    async def _until_settled(self) -> None:
        wait = _BETWEEN_LISTS_S
        self._again = True
        try:
            # Of the latest connection: a server may be connected anew while the end of the last one is still found out.
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
            ended = Failed(Failure("server_died", {"server": self._name, "did": "ended before it listed its tools"}))
            self._under_way, unlisted, self._next = None, [self._under_way, self._next], None
            for waiting in unlisted:
                _end(waiting, ended)

    async def _once(self, connection: Connection, caller: Caller) -> None:
        """List, and tell those who wait for it."""
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

    async def _list(self, connection: Connection, caller: Caller) -> None:
        try:
            async with asyncio.timeout(self._timeout_s):
                definitions = await self._pages(connection, caller)
        except TimeoutError:
            late = f"did not list its tools within {self._timeout_s:g} s"
            raise Failed(Failure("timed_out", {"server": self._name, "did": late})) from None
        await self._listed(connection, definitions)

    async def _pages(self, connection: Connection, caller: Caller) -> list[bytes]:
        definitions: list[bytes] = []
        size, cursor = 0, b""
        for _ in range(bounds.PAGES):
            params = {"cursor": cursor} if cursor else {}
            answer = await connection.ask("tools/list", params, caller)
            page, following = await beside(_page, answer) if len(answer) > bounds.LITTLE else _page(answer)
            for definition in page:
                size += len(definition)
                if size > bounds.LIST_BYTES or len(definitions) == bounds.TOOLS:
                    most = f"{bounds.TOOLS} tools or {bounds.LIST_BYTES >> 20} MB of them"
                    warn(f"server '{self._name}' lists more than {most}: the rest is left out")
                    return definitions
                definitions.append(definition)
            if following in (b"", b"null", b'""', cursor):
                break
            cursor = following
        return definitions


def _page(answer: bytes) -> tuple[list[bytes], bytes]:
    """The definitions of one page, no more than are kept, and the cursor of the next; raises `Malformed`."""
    members = jsonrpc.members(answer)
    tools = members.get("tools", b"null")
    return [] if tools == b"null" else jsonrpc.items(tools, bounds.TOOLS + 1), members.get("nextCursor", b"")


def _ignore_failure(task: asyncio.Task[None]) -> None:
    # A list that could not be had leaves the one that was cached.
    if not task.cancelled():
        task.exception()


def _end(waiting: asyncio.Future[None] | None, failure: Exception | None) -> None:
    if waiting is None or waiting.done():
        return
    if failure:
        waiting.set_exception(failure)
        waiting.exception()  # those who waited may have gone
    else:
        waiting.set_result(None)
