"""What all clients share, for `serve` and for commands: the configuration in force, upstreams, catalog, search."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from typing import Any

from mcpctl.base.callers import Caller, capability_set
from mcpctl.base.errors import warn
from mcpctl.base.failure import Failed, Failure
from mcpctl.base.feature_names import list_of
from mcpctl.base.paths import Paths
from mcpctl.catalog.cache import Catalog
from mcpctl.catalog.features import Features
from mcpctl.catalog.known_features import KnownFeatures
from mcpctl.catalog.lists_in_memory import Lists
from mcpctl.catalog.server_instructions import Introductions
from mcpctl.config import entry_secrets
from mcpctl.config.config import Config
from mcpctl.metatools.discovery import Searching
from mcpctl.policy import words
from mcpctl.policy.holding import Locked
from mcpctl.policy.view import View
from mcpctl.proxy import server_messages, task_calls
from mcpctl.proxy.config_file import ConfigFile
from mcpctl.proxy.follower import Follower, Snapshot
from mcpctl.proxy.incoming_lists import HeldTools, ServerFeatures
from mcpctl.proxy.index_keeping import IndexKeeping
from mcpctl.proxy.memory import PolicyMemory, ServerMemory
from mcpctl.proxy.server_messages import ServerListener
from mcpctl.proxy.watched_resources import WatchedResources
from mcpctl.store.server_logs import ServerLogs
from mcpctl.store.state import ListKey
from mcpctl.toolsets.in_force import ToolsetsInForce
from mcpctl.upstreams.connection import Connection
from mcpctl.upstreams.transports import RealTransports, Transports
from mcpctl.upstreams.upstream import Upstream
from mcpctl.wire import jsonrpc
from mcpctl.wire.writer import Turn

_STARTS_AT_ONCE = 4


class Gateway:
    """Everything behind the sessions of clients."""

    def __init__(
        self,
        config: Config,
        paths: Paths,
        *,
        toolset: str | None = None,
        token: str | None = None,
        split: bool = False,
        verbose: bool = False,
        followed: ConfigFile | None = None,
        transports: Transports | None = None,
        locked: Locked | None = None,
    ) -> None:
        """`followed` is the file whose changes count while this runs; without it `config` stays as it is. `token` is
        that of the process, for requests that have none of their own. What is not `locked` is held, where a lock file
        is named."""
        self.paths = paths
        self.turn = Turn()
        self.sessions: list[ServerListener] = []
        """Who is told what servers do: one for each client."""
        self.watched = WatchedResources(self)
        self.asked_for: dict[str, Sequence[bytes]] = {}
        """Servers whose list a person asked for, and what they listed: an empty list is then believed."""
        self._toolset = toolset
        self._verbose = verbose
        self._transports = transports or RealTransports(paths, self.turn)
        self._lists = Lists()
        self.memory = ServerMemory(paths, self._lists, self.tools_known)
        self.searching = Searching(paths, self._lists, split=split)
        self.policy = PolicyMemory(paths)
        self.held = HeldTools(self._lists, self.policy, self.background, locked)
        snapshot = Snapshot(config, self._lists, token, locked is not None)
        self.follower = Follower(snapshot, self.turn, self.policy, followed, self)
        self.view, self.when_current, self.current = (
            self.follower.view, self.follower.when_current, self.follower.current,
        )  # fmt: skip
        """What a request of this moment is decided on, and how it waits until that is known."""
        self.introductions = Introductions(self._lists)
        self.logs = ServerLogs(paths, lambda: self.config.records)
        self.index = IndexKeeping(paths, lambda: self.config.records, self.sessions)
        self.known_features = KnownFeatures(self._lists)
        self.server_features = ServerFeatures(
            self.memory, self.held, self.known_features, self.sessions, self.background,
            lambda: self.features(self.view(None)),
        )  # fmt: skip
        self._tasks: set[asyncio.Task[Any]] = set()
        self._starts = asyncio.Semaphore(_STARTS_AT_ONCE)
        self.upstreams = {name: self._made(name) for name in config.enabled}
        self._leaving: set[Upstream] = set()
        """Servers of an earlier configuration that have not ended."""
        self.added: set[str] = set()
        """Servers of which nothing was known at the start, or that came since, and that no search has waited for."""
        self._is_ending = False
        entry_secrets.learn_all(config.servers)
        if config.policy.is_on and (token or config.policy.table.require_token):
            self.policy.look()  # the first answers name servers, or must not
        # Another process may hold the database: then calls and searches wait for it, and nothing else does.
        self.follower.settle(self._open_state())

    def _made(self, name: str, after: "asyncio.Task[None] | None" = None) -> Upstream:
        return Upstream(name, self.config.servers[name], self._transports, self, after=after, verbose=self._verbose)

    async def _open_state(self) -> None:
        state = await self.memory.opened()
        self.follower.begin(ToolsetsInForce(self.paths, self._toolset, state))
        if self.config.has_policy:
            await self.policy.open()
        await self.follower.judge()
        await self.introductions.open(state, self.memory.remember_harmless)
        await self.server_features.follow(self.config, self.upstreams)

    # ---- what is in force

    @property
    def config(self) -> Config:
        """The configuration that counts."""
        return self.follower.snapshot.config

    @property
    def is_current(self) -> bool:
        """Whether what is in force is known."""
        return self.follower.is_current

    def catalog(self, view: View) -> Catalog:
        """What is known of servers' tools, for the event loop: it asks no database."""
        snapshot = self.follower.snapshot
        known = snapshot.catalogs.get(id(view))
        return known if known and known.view is view else snapshot.catalog(view)

    def features(self, view: View) -> Features:
        """What is known of servers' prompts and resources, for the event loop: it asks no database."""
        return self.known_features.of(self.catalog(view))

    def announced(self, view: View) -> Mapping[str, Mapping[str, Any]]:
        """The capabilities beside tools of which a client is told, by name: those of which there is any, or may be."""
        return self.known_features.announced(self.catalog(view))

    async def judge(self) -> bool:
        """Judge all tools by what is pinned now; whether that could be read."""
        return await self.held.judge(self.config)

    async def follow(self, config: Config) -> None:
        """Start and end servers as this configuration says, which counts from now on."""
        entry_secrets.learn_all(config.servers)
        for session in self.sessions:
            session.follow(config.records)
        for name in self.upstreams.keys() - config.enabled.keys():
            removed = self.upstreams.pop(name)  # what a person has taken away runs no longer
            removed.remove(Failure("server_removed", {"server": name, "did": "is not in the configuration any more"}))
            self._leave(removed, removed.stop())
        for name, server in config.enabled.items():
            upstream = self.upstreams.get(name)
            if upstream and upstream.server.launch == server.launch:
                upstream.server = server
                continue
            self.upstreams[name] = self._made(name, self._leave(upstream, upstream.finish()) if upstream else None)
            self.added.add(name)
        await self.follower.judge()
        await self.server_features.follow(config, self.upstreams)

    def _leave(self, upstream: Upstream, end: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        """Have a server come to its end; where this ends first, it is ended then."""
        self._leaving.add(upstream)
        leaving = self.background(end)
        leaving.add_done_callback(lambda _: self._leaving.discard(upstream))
        return leaving

    # ---- upstreams

    def has_listed(self, name: str) -> bool:
        """Whether the tools that are known of a server are those of its connection of now."""
        connection = self.upstreams[name].connection if name in self.upstreams else None
        return connection is not None and connection.has_listed

    def is_older(self, name: str) -> bool:
        """Whether a server is connected that does not speak 2026-07-28."""
        connection = self.upstreams[name].connection if name in self.upstreams else None
        return connection is not None and not connection.modern

    async def load(self, name: str, view: View) -> None:
        """Have the catalog know what is kept of a server's tools."""
        if name in self.upstreams:
            await self.memory.load(name, self.upstreams[name].server, view.capability_sets)

    async def refresh(
        self, names: Iterable[str], caller: Caller, one_done: Callable[[], None] = lambda: None
    ) -> dict[str, str]:
        """List the tools of these servers now; what went wrong, by server. `one_done` is told of each."""
        failures: dict[str, str] = {}

        async def refresh_one(name: str) -> None:
            async with self._starts:
                if upstream := self.upstreams.get(name):
                    try:
                        if rest := await upstream.refresh_all(caller):
                            warn(words.why_unlisted(rest))
                    except Exception as error:
                        failures[name] = words.why_unlisted(error)
                        code = error.failure.code if isinstance(error, Failed) else ""
                        self.failed(upstream, failures[name], code)
            one_done()

        await asyncio.gather(*map(refresh_one, names))
        return failures

    def tell_all(self, method: str, params: Mapping[str, bytes]) -> None:
        """Pass a notification of an older client's on to every older server that is connected."""
        for upstream in self.upstreams.values():
            if upstream.connection and not upstream.connection.modern:
                upstream.connection.notify(method, params)

    def set_log_level(self, level: bytes, caller: Caller) -> None:
        """Tell every older server what to log, now and when it is connected."""
        for upstream in self.upstreams.values():
            if upstream.connection:
                upstream.connection.set_log_level(level, caller)

    # ---- what upstreams tell, and ask

    @property
    def log_level(self) -> bytes:
        """What servers are to log, in JSON; empty while no client has said."""
        return next((session.log_level for session in self.sessions if session.log_level), b"")

    async def listed(self, upstream: Upstream, connection: Connection, definitions: list[bytes]) -> None:
        """Keep what a server lists for a client like that of this connection, and hold of it what is to be held."""
        name, asked = upstream.name, upstream.name in self.asked_for
        if asked:
            self.asked_for[name] = definitions
        of = ListKey(name, upstream.server.fingerprint, capability_set(connection.declared))
        runnable = task_calls.runnable(definitions, connection)
        kept = await self.memory.keep(of, runnable, connection.instructions, asked=asked)
        await self.current()  # what is pinned may still be read
        await self.held.put(of, kept)

    async def features_listed(
        self, upstream: Upstream, connection: Connection, kind: str, definitions: list[bytes]
    ) -> None:
        """Keep what a server lists of its prompts, resources or templates, and hold of it what is to be held."""
        of = ListKey(upstream.name, upstream.server.fingerprint, list_of(kind))
        kept = await self.memory.keep(of, definitions, connection.instructions, asked=True)
        await self.current()
        await self.server_features.put(of, kept, self.config)

    def exposed(self, name: str) -> Collection[str]:
        """Which kinds of features clients see of a server."""
        return self.config.exposes(name)

    def tools_known(self, name: str) -> None:
        """Have sessions put on record which of a server's tools are not as they were."""
        for session in self.sessions:
            session.tools_known(name)

    async def known_era(self, upstream: Upstream) -> bool | None:
        """Whether a server is known to speak 2026-07-28."""
        return await self.memory.era(upstream.name, upstream.server)

    def era_found(self, upstream: Upstream, modern: bool) -> None:
        """Remember what `server/discover` showed."""
        self.memory.remember_era(upstream.name, upstream.server, modern)

    def failed(self, upstream: Upstream, failure: str | None, code: str = "") -> None:
        """Keep why a server failed just now, or None that it works, for people who ask later."""
        self.memory.remember_outcome(upstream.name, upstream.server, failure, code)

    def message(self, connection: Connection, message: jsonrpc.Message) -> None:
        """Hand what a server asks or logs to the session whose call it is about, as far as one can tell."""
        if not self.watched.take(connection, message):
            server_messages.route(connection, message, self.sessions)

    def connected(self, connection: Connection) -> None:
        """A server that is connected again is asked again for what is watched of it."""
        self.watched.connected(connection)

    def gone(self, connection: Connection) -> None:
        """What a server asked ends with it, and what it was asked."""
        self.watched.gone(connection)
        for session in self.sessions:
            session.gone(connection)

    # ---- ending

    def background(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Run `work` beside everything else, until the end at most: what comes during the end is not begun with."""
        task = asyncio.create_task(work)
        if self._is_ending:
            task.cancel()
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def stop(self, sessions: Awaitable[object] | None = None, last: float = 0) -> None:
        """End every server and these `sessions`, then let go of all else; until `last`, records may be tidied."""
        self._is_ending = True
        self.follower.close()
        for task in list(self._tasks):
            task.cancel()
        servers = (each.stop() for each in (*self.upstreams.values(), *self._leaving))
        await asyncio.gather(*servers, *([sessions] if sessions else ()))
        await self.index.end(last - asyncio.get_running_loop().time())
        for each in (self.searching, self.memory, self.policy, self.logs, self._transports):
            each.close()  # the last one watches what servers have started
