"""The resources of servers that anybody watches: each asked for once, in its server's era.

An older server is sent `resources/subscribe`, one of 2026-07-28 a `subscriptions/listen`. Notifications of the time in
which a server was not connected are lost: once it is asked again, watchers are told that the resource may have changed.
"""

import asyncio
import contextlib
from collections.abc import Coroutine, Iterator, Mapping
from typing import Any, Protocol

import msgspec
from msgspec import Struct, field

from mcpctl.base import bounds
from mcpctl.base.callers import SHARED, Caller
from mcpctl.base.failure import Failed, failed
from mcpctl.catalog.features import FeatureOwner
from mcpctl.upstreams import server_lists
from mcpctl.upstreams.connection import Connection
from mcpctl.upstreams.server_lists import Listening
from mcpctl.upstreams.upstream import Upstream
from mcpctl.wire import jsonrpc

UPDATED = "notifications/resources/updated"
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
_ANSWER_S = 30.0
_DEEPEST = 64  # slashes of a URI at which a resource that it is a part of may end


class Watcher(Protocol):
    caller: Caller

    def updated(self, owner: FeatureOwner, uri: str, params: Mapping[str, bytes]) -> None: ...


class Servers(Protocol):
    def upstream(self, name: str, caller: Caller | None) -> Upstream | None: ...
    def background(self, work: Coroutine[Any, Any, Any]) -> "asyncio.Task[Any]": ...


class _Watched:
    def __init__(self, owner: FeatureOwner, holder: str) -> None:
        self.owner = owner
        self.holder = holder
        self.watchers: dict[Watcher, None] = {}
        self.connection: Connection | None = None
        self.listening: Listening | None = None  # the open `subscriptions/listen` on a connection of 2026-07-28
        self.wait = server_lists.FIRST_WAIT_S
        self.asking = asyncio.Lock()  # held while its server is asked, or told to stop: one at a time, on every way


class _Return(Struct):
    wait: float = field(default_factory=lambda: server_lists.FIRST_WAIT_S)
    at: float = 0.0  # when it last returned, on the loop's clock: one that soon ends again is waited for longer
    task: "asyncio.Task[None] | None" = None


class WatchedResources:
    def __init__(self, servers: Servers) -> None:
        self._servers = servers
        self._watched: dict[tuple[FeatureOwner, str], _Watched] = {}  # by whose process is asked for it, too
        self._returning: dict[tuple[str, str], _Return] = {}  # servers that were lost while anybody watched

    async def watch(self, owner: FeatureOwner, watcher: Watcher, caller: Caller) -> None:
        """Have `watcher` be told from now on; returns once the server has agreed. Raises `Failed`."""
        upstream = self._servers.upstream(owner.server, caller)
        if upstream is None:
            raise failed("server_removed", "is not in the configuration any more", server=owner.server)
        watched = self._watched.setdefault((owner, upstream.holder), _Watched(owner, upstream.holder))
        watched.watchers[watcher] = None
        try:
            async with watched.asking:
                if watched.connection is None:
                    await self._ask(watched, await upstream.connected(caller), caller)
        except BaseException:
            self.unwatch(owner, watcher)
            raise

    def unwatch(self, owner: FeatureOwner, watcher: Watcher) -> None:
        for holder in (watcher.caller.holder, SHARED):
            watched = self._watched.get((owner, holder))
            if watched and watcher in watched.watchers:
                del watched.watchers[watcher]
                if not watched.watchers:
                    self._servers.background(self._take_back(watched))

    def take(self, connection: Connection, message: jsonrpc.Message) -> bool:
        if message.method == UPDATED:
            self._updated(connection, jsonrpc.members_or_empty(message.params))
        elif message.method == ACKNOWLEDGED:
            server_lists.acknowledged(connection, jsonrpc.members_or_empty(message.params))
        else:
            return False
        return True

    def connected(self, connection: Connection) -> None:
        for watched in self._watched.values():
            if _is_of(watched, connection.server, connection.holder) and watched.connection is None:
                self._servers.background(self._ask_again(watched, connection))

    def gone(self, connection: Connection) -> None:
        """Connect a lost server again if somebody watches its resources."""
        for watched in self._watched.values():
            if watched.connection is connection:
                watched.connection, watched.listening, watched.wait = None, None, server_lists.FIRST_WAIT_S
        of = connection.server, connection.holder
        if self._waits_for(*of):
            back = self._returning.setdefault(of, _Return())
            if back.task is None or back.task.done():
                back.task = self._servers.background(self._bring_back(*of, back))

    def _waits_for(self, server: str, holder: str) -> Watcher | None:
        of_server = (each for each in self._watched.values() if _is_of(each, server, holder))
        return next((next(iter(each.watchers)) for each in of_server if each.watchers and not each.connection), None)

    async def _bring_back(self, server: str, holder: str, back: _Return) -> None:
        """Connect a server again, with waits as after a start that failed; what is watched is then asked for."""
        loop = asyncio.get_running_loop()
        if loop.time() - back.at > server_lists.LAST_WAIT_S:
            back.wait = server_lists.FIRST_WAIT_S
        while True:
            await asyncio.sleep(back.wait)
            back.wait = min(2 * back.wait, server_lists.LAST_WAIT_S)
            watcher = self._waits_for(server, holder)
            upstream = self._servers.upstream(server, watcher.caller) if watcher else None
            if watcher is None or upstream is None:
                return
            with contextlib.suppress(Failed):
                await upstream.connected(watcher.caller)
                back.at = loop.time()
                return

    async def _ask(self, watched: _Watched, connection: Connection, caller: Caller) -> None:
        watched.connection = connection
        uri = msgspec.json.encode(watched.owner.uri)
        try:
            async with asyncio.timeout(_ANSWER_S):
                if connection.modern:
                    await self._listen(watched, connection, uri, caller)
                else:
                    await connection.ask("resources/subscribe", {"uri": uri}, caller)
        except BaseException as error:
            watched.connection = watched.listening = None
            if isinstance(error, TimeoutError):
                late = f"did not answer within {_ANSWER_S:g} s"
                raise failed("timed_out", late, server=connection.server) from None
            raise

    async def _listen(self, watched: _Watched, connection: Connection, uri: bytes, caller: Caller) -> None:
        agreed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def honoured(filters: Mapping[str, bytes]) -> None:
            if filters.get("resourceSubscriptions", b"[]") in (b"[]", b"null"):
                ended(failed("refused", "it tells nobody of this resource"))
            elif not agreed.done():
                agreed.set_result(None)

        def ended(why: Failed) -> None:
            if not agreed.done():
                agreed.set_exception(why)
            elif watched.listening is opened:
                self._ended(watched)

        filters = {"resourceSubscriptions": b"[%b]" % uri}
        opened = watched.listening = Listening(connection, caller, filters, ended, honoured)
        try:
            await agreed
        except BaseException:
            opened.take_back()
            raise

    async def _take_back(self, watched: _Watched) -> None:
        async with watched.asking:
            if watched.watchers:
                return
            connection, opened = watched.connection, watched.listening
            watched.connection = watched.listening = None
            if connection and opened:
                opened.take_back()
            elif connection:
                uri = msgspec.json.encode(watched.owner.uri)
                with contextlib.suppress(Failed, TimeoutError):
                    async with asyncio.timeout(_ANSWER_S):
                        await connection.ask(
                            "resources/unsubscribe", {"uri": uri}, connection.caller or Caller(connection.revision)
                        )
            if not watched.watchers and self._watched.get((watched.owner, watched.holder)) is watched:
                del self._watched[watched.owner, watched.holder]

    async def _ask_again(self, watched: _Watched, connection: Connection) -> None:
        async with watched.asking:
            if watched.connection or connection.hung_up or not watched.watchers:
                return
            with contextlib.suppress(Failed):
                await self._ask(watched, connection, connection.caller or Caller(connection.revision))
        if watched.connection:
            self._tell(watched, watched.owner.uri, {})

    def _ended(self, watched: _Watched) -> None:
        """The server ended its part of a subscription, but not its connection: ask it again a while later."""
        connection, watched.connection, watched.listening = watched.connection, None, None
        if connection and watched.watchers:
            again = asyncio.get_running_loop().call_later
            again(watched.wait, lambda: self._servers.background(self._ask_again(watched, connection)))
            watched.wait = min(2 * watched.wait, server_lists.LAST_WAIT_S)

    def _updated(self, connection: Connection, params: Mapping[str, bytes]) -> None:
        try:
            uri = jsonrpc.value(params.get("uri", b""), str)
        except jsonrpc.Malformed:
            return
        if len(uri) > bounds.URI:
            return
        for known in _wholes(uri):
            watched = self._watched.get((FeatureOwner(connection.server, known), connection.holder))
            if watched and watched.connection is connection:
                self._tell(watched, uri, params)

    def _tell(self, watched: _Watched, uri: str, params: Mapping[str, bytes]) -> None:
        for watcher in list(watched.watchers):
            watcher.updated(watched.owner, uri, params)


def _is_of(watched: _Watched, server: str, holder: str) -> bool:
    return watched.owner.server == server and watched.holder == holder


def _wholes(uri: str) -> Iterator[str]:
    """The URI, and its beginnings that end at its last slashes: all that are watched would be too many."""
    yield uri
    end = len(uri)
    for _ in range(_DEEPEST):
        end = uri.rfind("/", 0, end)
        if end < 0:
            return
        if end + 1 < len(uri):
            yield uri[: end + 1]
        yield uri[:end]
