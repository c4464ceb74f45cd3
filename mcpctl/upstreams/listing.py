"""Lists of one server as it gives them: when it is connected, when somebody asks, and when it says they changed."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from functools import partial
from typing import NamedTuple

from mcpctl.base import bounds
from mcpctl.base.callers import Caller
from mcpctl.base.errors import warn
from mcpctl.base.failure import Failed, Failure
from mcpctl.upstreams.connection import Connection
from mcpctl.wire import jsonrpc
from mcpctl.wire.threads import beside

_BETWEEN_LISTS_S = 0.2
_MAX_BETWEEN_LISTS_S = 30.0


class ListOf(NamedTuple):
    """A list that a server is asked for: how, the member of the answer that has it, and how much of it is taken."""

    method: str
    member: str
    most: int


class Listing:
    """Lists something of a server, one time after the other, for as long as `is_current` says that its connection is
    used; `list_it` does it once."""

    def __init__(
        self,
        name: str,
        is_current: Callable[[Connection], bool],
        list_it: Callable[[Connection, Caller], Awaitable[None]],
    ) -> None:
        self._name = name
        self._is_current = is_current
        self._list = list_it
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
            ended = Failed(Failure("server_died", {"server": self._name, "did": "ended before it listed what it has"}))
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


async def pages(name: str, connection: Connection, caller: Caller, wanted: ListOf) -> list[bytes]:
    """The definitions of all pages of a list, each as JSON; raises `Failed` and `Malformed`."""
    definitions: list[bytes] = []
    size, cursor = 0, b""
    for _ in range(bounds.PAGES):
        params = {"cursor": cursor} if cursor else {}
        answer = await connection.ask(wanted.method, params, caller)
        work = partial(_page, wanted=wanted)
        page, following = await beside(work, answer) if len(answer) > bounds.LITTLE else work(answer)
        for definition in page:
            size += len(definition)
            if size > bounds.LIST_BYTES or len(definitions) == wanted.most:
                most = f"{wanted.most} {wanted.member} or {bounds.LIST_BYTES >> 20} MB of them"
                warn(f"server '{name}' lists more than {most}: the rest is left out")
                return definitions
            definitions.append(definition)
        if following in (b"", b"null", b'""', cursor):
            break
        cursor = following
    return definitions


def _page(answer: bytes, wanted: ListOf) -> tuple[list[bytes], bytes]:
    """The definitions of one page, no more than are kept, and the cursor of the next; raises `Malformed`."""
    members = jsonrpc.members(answer)
    listed = members.get(wanted.member, b"null")
    return [] if listed == b"null" else jsonrpc.items(listed, wanted.most + 1), members.get("nextCursor", b"")


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
