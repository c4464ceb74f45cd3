"""What all clients share, for `serve` and for commands: the configuration in force, upstreams, catalog, search."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from typing import Any

from mcpctl.callers import Caller, capability_set
from mcpctl.catalog.cache import Catalog
from mcpctl.catalog.features import Features
from mcpctl.catalog.known_features import KnownFeatures
from mcpctl.catalog.lists import Lists
from mcpctl.config import Config
from mcpctl.errors import McpctlError, warn
from mcpctl.failure import Failed, Failure
from mcpctl.feature_names import list_of
from mcpctl.paths import Paths
from mcpctl.policy import words
from mcpctl.policy.holding import Locked
from mcpctl.policy.view import View
from mcpctl.proxy import from_servers, task_calls
from mcpctl.proxy.config_file import ConfigFile
from mcpctl.proxy.from_servers import Listener
from mcpctl.proxy.held_tools import HeldTools
from mcpctl.proxy.index_keeping import IndexKeeping
from mcpctl.proxy.introductions import Introductions
from mcpctl.proxy.searching import Searching
from mcpctl.proxy.server_features import ServerFeatures
from mcpctl.proxy.server_memory import ServerMemory
from mcpctl.proxy.viewing import Viewing
from mcpctl.proxy.warming import Warming
from mcpctl.proxy.watched_resources import WatchedResources
from mcpctl.store.server_logs import ServerLogs
from mcpctl.store.state import ListKey
from mcpctl.toolsets.toolset_files import ToolsetPlace
from mcpctl.upstreams.connection import Connection
from mcpctl.upstreams.transports import RealTransports, Transports
from mcpctl.upstreams.upstream import Upstream
from mcpctl.wire import jsonrpc
from mcpctl.wire.turn import Turn

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
        self.config = config
        self.paths = paths
        self.turn = Turn()
        self.sessions: list[Listener] = []
        """Who is told what servers do: one for each client."""
        self.watched = WatchedResources(self)
        self.asked_for: dict[str, Sequence[bytes]] = {}
        """Servers whose list a person asked for, and what they listed: an empty list is then believed."""
        self._followed = followed
        self._verbose = verbose
        self._transports = transports or RealTransports(paths, self.turn)
        self._lists = Lists()
        self.memory = ServerMemory(paths, self._lists, self.tools_known)
        self.searching = Searching(paths, self._lists, split=split)
        self._viewing = Viewing(paths, config, toolset=toolset, token=token, is_locked=locked is not None)
        self.policy = self._viewing.policy
        self.held = HeldTools(self._lists, self.policy, self.background, locked)
        self.introductions = Introductions(self._lists)
        self.logs = ServerLogs(paths, lambda: self.config.records)
        self.index = IndexKeeping(paths, lambda: self.config.records, self.sessions)
        self.warming = Warming(self)
        self.known_features = KnownFeatures(self._lists)
        self.server_features = ServerFeatures(self)
        self._catalog = Catalog(View(config, is_locked=locked is not None), None, self._lists)
        self._tasks: set[asyncio.Task[Any]] = set()
        self._starts = asyncio.Semaphore(_STARTS_AT_ONCE)
        self.upstreams = {name: self._made(name) for name in config.enabled}
        self._leaving: set[Upstream] = set()
        """Servers of an earlier configuration that have not ended."""
        self.added: set[str] = set()
        """Servers of which nothing was known at the start, or that came since, and that no search has waited for."""
        self._settling: asyncio.Task[None] | None = None
        self._is_ending = False
        # Another process may hold the database: then calls and searches wait for it, and nothing else does.
        self._settle(self._open_state())

    def _made(self, name: str, after: "asyncio.Task[None] | None" = None) -> Upstream:
        return Upstream(name, self.config.servers[name], self._transports, self, after=after, verbose=self._verbose)

    # ---- what is in force

    def view(self, caller: Caller | None) -> View:
        """What a request of this moment is decided on."""
        return self._viewing.now(caller)

    def first_view(self, caller: Caller) -> View:
        """What a request is seen from before anything can be decided."""
        return self._viewing.at_first(caller)

    def catalog(self, view: View) -> Catalog:
        """What is known of servers' tools, for the event loop: it asks no database."""
        if self._catalog.view is not view:
            self._catalog = Catalog(view, None, self._lists)
        return self._catalog

    def features(self, view: View) -> Features:
        """What is known of servers' prompts and resources, for the event loop: it asks no database."""
        return self.known_features.of(self.catalog(view))

    def announced(self, view: View) -> Mapping[str, Mapping[str, Any]]:
        """The capabilities beside tools of which a client is told, by name: those of which there is any, or may be."""
        return self.known_features.announced(self.catalog(view))

    @property
    def toolset_place(self) -> ToolsetPlace | None:
        """Where the toolset is that the latest view has."""
        return self._viewing.toolset_place

    def when_current(self, work: Callable[[], None]) -> None:
        """Do `work` once what is in force is known, in the order of asking: nearly always at once."""
        if pending := self._look():
            # Looked at again then: the file may have changed while something else was made known.
            pending.add_done_callback(lambda _: self.when_current(work))
        else:
            work()

    @property
    def is_current(self) -> bool:
        """Whether what is in force is known."""
        return self._look() is None

    async def current(self) -> None:
        """Return once what is in force is known."""
        while pending := self._look():
            await asyncio.shield(pending)
            await asyncio.sleep(0)

    def _look(self) -> "asyncio.Task[None] | None":
        if self._is_ending:
            return self._settling  # what the file says now would begin something anew
        if self._settling is None and self._followed and self._followed.has_changed():
            self._settle(self._follow_file(self._followed))
        if self._settling is None and self.held.has_changed:
            self._settle(self.held.follow(self.config))
        return self._settling

    def _settle(self, work: Coroutine[Any, Any, None]) -> None:
        self._settling = self.background(work)
        # Told first, so that what came before is decided on before what comes after.
        self._settling.add_done_callback(lambda _: self._settled())

    def _settled(self) -> None:
        self._settling = None

    async def _open_state(self) -> None:
        state = await self.memory.opened()
        await self._viewing.open(state)
        await self.held.follow(self.config)
        await self.introductions.open(state, self.memory.remember_harmless)
        await self.server_features.follow(self.config)

    async def _follow_file(self, file: ConfigFile) -> None:
        """Have what the file says now count; as long as that cannot be used, what it last said."""
        try:
            config = await file.read_again()
            if config is None:
                return
            await self._viewing.open_policy(config)
        except McpctlError as error:
            warn(f"{error.message}; what it last said still counts ({error.hint})")
            return
        for problem in config.problems.values():
            warn(f"{problem}; this server is skipped")
        self.background(asyncio.to_thread(file.note_loosened, self.config, config))
        self._follow(config)
        await self.held.follow(config)
        await self.server_features.follow(config)

    def _follow(self, config: Config) -> None:
        before, self.config = self.config, config
        self._viewing.follow(config)
        for session in self.sessions:
            session.follow(config.records)
        for name in before.enabled.keys() - config.enabled.keys():
            removed = self.upstreams.pop(name)  # what a person has taken away runs no longer
            removed.remove(Failure("server_removed", {"server": name, "did": "is not in the configuration any more"}))
            self._leave(removed, removed.stop())
        for name, server in config.enabled.items():
            upstream = self.upstreams.get(name)
            if upstream is None:
                self.upstreams[name] = self._made(name)
                self.added.add(name)
            elif upstream.server.launch != server.launch:
                self.upstreams[name] = self._made(name, after=self._leave(upstream, upstream.finish()))
                self.added.add(name)
            else:
                upstream.server = server

    def _leave(self, upstream: Upstream, end: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        """Have a server come to its end; where this ends first, it is ended then."""
        self._leaving.add(upstream)
        leaving = self.background(end)
        leaving.add_done_callback(lambda _: self._leaving.discard(upstream))
        return leaving

    # ---- upstreams

    def has_listed(self, name: str) -> bool:
        """Whether the tools that are known of a server are those of its connection of now."""
        return name in self.upstreams and self.upstreams[name].has_listed

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
        await self.server_features.put(of, kept)

    def exposed(self, name: str) -> Collection[str]:
        """Which kinds of features clients see of a server."""
        return self.config.exposes(name)

    def tools_known(self, name: str) -> None:
        """Send the calls that waited for a server's list."""
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
            from_servers.route(connection, message, self.sessions)

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
        for task in list(self._tasks):
            task.cancel()
        servers = (each.stop() for each in (*self.upstreams.values(), *self._leaving))
        await asyncio.gather(*servers, *([sessions] if sessions else ()))
        await self.index.end(last - asyncio.get_running_loop().time())
        for each in (self.searching, self.memory, self.policy, self.logs, self.index, self._transports):
            each.close()  # the last one watches what servers have started
