"""Everything that clients share, in `serve` and in commands: what is in force, servers, lists, search, the index."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mcpctl.base.callers import SHARED, Caller, capability_set
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
from mcpctl.config.server_settings import Server
from mcpctl.metatools.discovery import Searching
from mcpctl.policy import words
from mcpctl.policy.holding import Locked
from mcpctl.policy.view import View
from mcpctl.proxy import questions, translate
from mcpctl.proxy.follower import ConfigFile, Follower, Snapshot
from mcpctl.proxy.incoming_lists import IncomingLists
from mcpctl.proxy.index_keeping import IndexKeeping
from mcpctl.proxy.memory import PolicyMemory, ServerMemory
from mcpctl.proxy.questions import ServerListener
from mcpctl.proxy.watched_resources import WatchedResources
from mcpctl.store.server_logs import ServerLogs
from mcpctl.store.state import ListKey
from mcpctl.toolsets.in_force import ToolsetsInForce
from mcpctl.upstreams.connection import Connection, severity
from mcpctl.upstreams.held import HeldServers, Holders
from mcpctl.upstreams.transports import Transports
from mcpctl.upstreams.upstream import Upstream
from mcpctl.wire import jsonrpc
from mcpctl.wire.writer import Turn

if TYPE_CHECKING:
    from mcpctl.metatools.direct_tools import KnownDirectTools
    from mcpctl.store.run import Run

TOOLS = "tools"  # the capability, which says that the list may change where tools are shown directly


class Gateway:
    def __init__(
        self, config: Config, paths: Paths, *, toolset: str | None = None, split: bool = False, verbose: bool = False,
        followed: ConfigFile | None = None, transports: Transports | None = None, locked: Locked | None = None,
        most_processes: int = 0, run: "Run | None" = None,
    ) -> None:  # fmt: skip
        """Changes of the file `followed` apply. Tools unlike `locked` are held. At most `most_processes` run at
        once; any number where that is 0."""
        self.paths = paths
        self.run = run  # that of all sessions, where these are many
        self.turn = Turn()
        self.sessions: list[ServerListener] = []
        self.watched = WatchedResources(self)
        self.asked_for: dict[str, Sequence[bytes]] = {}  # a list that a person asked for is believed if it is empty
        self._toolset = toolset
        self._verbose = verbose
        self._transports = transports or Transports(paths)
        self._lists = Lists(verdicts=paths.verdicts)
        self.memory = ServerMemory(paths, self._lists, self.tools_known)
        self.searching = Searching(paths, self._lists, split=split)
        self.policy = PolicyMemory(paths)
        snapshot = Snapshot(config, self._lists, locked is not None)
        self.follower = Follower(
            snapshot, self.turn, self.policy, followed, self.background, self.follow,
            lambda config: self.incoming.judge(config),
        )  # fmt: skip
        # The follower's own methods, without a function more in the way of each request.
        self.view, self.current = self.follower.view, self.follower.current
        self.when_current = self.follower.when_current
        self.introductions = Introductions(self._lists)
        self.logs = ServerLogs(paths, lambda: self.config.records)
        self.index = IndexKeeping(paths, lambda: self.config.records, self.sessions)
        self.known_features = KnownFeatures(self._lists)
        self._direct: KnownDirectTools | None = None
        self.incoming: IncomingLists = IncomingLists(
            self._lists, self.memory, self.policy, self.known_features, self.sessions, self.background,
            lambda: self.features(self.view(None)), locked,
        )  # fmt: skip
        self._tasks: set[asyncio.Task[Any]] = set()
        self.held = Holders(self.turn, self._made, most_processes)
        self.room = self.held.room
        self.upstreams = self.held[""]
        self._launches = {name: server.launch for name, server in config.enabled.items()}
        self._leaving: set[Upstream] = set()
        self._last_calls: dict[tuple[str, str], asyncio.Task[None]] = {}  # of servers that are to be started anew
        self.added: set[str] = set()  # servers that were unknown at the start, or came since: no search awaits them
        self._is_ending = False
        entry_secrets.learn_all(config.servers)
        if config.policy.table.require_token:
            self.name_by_tokens()
        # Another process may hold the database: then calls and searches wait for it, and nothing else does.
        self.follower.settle(self._open_state())

    def name_by_tokens(self) -> None:
        """Look at the tokens before anything is answered: the first answers name servers, or must not."""
        if self.config.policy.is_on and self.policy.mine is None:
            self.policy.look()

    def _made(self, held: HeldServers, name: str) -> Upstream:
        server = self.config.enabled[name]
        if server.shared and held.holder != SHARED:
            return self.held[SHARED][name]
        after = self._last_calls.pop((held.holder, name), None)
        upstream = Upstream(
            name, server, self._transports, self, held.holder, held.readers, after=after, verbose=self._verbose
        )
        if server.shared:
            self.held.share(upstream)
        return upstream

    async def _open_state(self) -> None:
        state = await self.memory.opened()
        self.follower.replace(toolsets=ToolsetsInForce(self.paths, self._toolset, state))
        if self.config.has_policy or self.policy.is_kept or state.has_policy():
            await self.policy.open()
        await self.follower.judge()
        await self.introductions.open(state, lambda hashed: self.memory.soon(lambda state: state.keep_harmless(hashed)))
        await self.incoming.follow(self.config, self.held.every)

    # ---- what is in force

    @property
    def config(self) -> Config:
        return self.follower.snapshot.config

    def catalog(self, view: View) -> Catalog:
        snapshot = self.follower.snapshot
        known = snapshot.catalogs.get(id(view))
        return known if known and known.view is view else snapshot.catalog(view)

    def features(self, view: View) -> Features:
        return self.known_features.of(self.catalog(view))

    def announced(self, view: View) -> Mapping[str, Mapping[str, Any]]:
        """The capabilities that a client is told of, beside those that all clients are."""
        tools = {TOOLS: {"listChanged": True}} if view.config.serve.direct else {}
        return {**self.known_features.announced(self.catalog(view)), **tools}

    @property
    def direct(self) -> "KnownDirectTools":
        if self._direct is None:
            from mcpctl.metatools.direct_tools import KnownDirectTools  # most show none

            self._direct = KnownDirectTools()
        return self._direct

    async def follow(self, config: Config) -> None:
        entry_secrets.learn_all(config.servers)
        for session in self.sessions:
            session.recorder.follow(config.records)
            session.lists_changed()
        before, self._launches = self._launches, {name: server.launch for name, server in config.enabled.items()}
        self.added |= {name for name, launch in self._launches.items() if before.get(name) != launch}
        for upstream in [*self.held.every()]:
            self._follow(upstream, config.enabled.get(upstream.name))
        await self.follower.judge()
        await self.incoming.follow(config, self.held.every)

    def _follow(self, upstream: Upstream, server: Server | None) -> None:
        if server and upstream.server.launch == server.launch:
            upstream.server = server
            return
        name = upstream.name
        for held in self.held.values():
            if held.get(name) is upstream:
                del held[name]
        self._lists.left(upstream.holder, name)
        if server is None:  # one that a person has removed does not go on
            upstream.remove(Failure("server_removed", {"server": name, "did": "is not in the configuration any more"}))
            self._leave(upstream, upstream.stop())
        else:
            self._last_calls[upstream.holder, name] = self._leave(upstream, upstream.finish())

    def let_go(self, holder: str) -> None:
        """End the servers of a client that has gone."""
        for name, upstream in self.held.pop(holder, {}).items():
            if upstream.holder == holder:
                upstream.remove(Failure("server_removed", {"server": name, "did": "is not used any more"}))
                self._leave(upstream, upstream.stop())
        self._lists.left(holder)

    def _leave(self, upstream: Upstream, end: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        """Let a server come to its end; where this ends first, the server is ended then."""
        self._leaving.add(upstream)
        leaving = self.background(end)
        leaving.add_done_callback(lambda _: self._leaving.discard(upstream))
        return leaving

    # ---- upstreams

    def upstream(self, name: str, caller: Caller | None) -> Upstream | None:
        """The server of this name that is for the caller; None where it is not enabled."""
        return self.held[caller.holder if caller else ""][name] if name in self.config.enabled else None

    async def load(self, name: str, view: View) -> None:
        if server := self.config.enabled.get(name):
            await self.memory.load(name, server, view.capability_sets)

    async def refresh(
        self, names: Iterable[str], caller: Caller, one_done: Callable[[], None] = lambda: None
    ) -> dict[str, str]:
        """List the tools of these servers now; the failures, by server. `one_done` is called after each."""
        failures: dict[str, str] = {}
        starts = self.held[caller.holder].starts

        async def refresh_one(name: str) -> None:
            async with starts:
                if upstream := self.upstream(name, caller):
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

    def tell_servers(self, caller: Caller, method: str, params: Mapping[str, bytes]) -> None:
        """Tell the older servers that are the caller's alone."""
        for upstream in self.held[caller.holder].values():
            if upstream.connection and not upstream.connection.modern and upstream.holder != SHARED:
                upstream.connection.notify(method, params)

    def set_log_level(self, caller: Caller) -> None:
        """Have the caller's servers log as much as any of their clients has asked for."""
        for upstream in self.held[caller.holder].values():
            if upstream.connection:
                upstream.connection.set_log_level(self.log_level(upstream.holder), caller)

    # ---- what upstreams tell, and ask

    def listeners(self, holder: str) -> Sequence[ServerListener]:
        """The sessions that have servers of this holder."""
        return [each for each in self.sessions if holder in (SHARED, each.caller.holder)]

    def log_level(self, holder: str) -> bytes:
        return min((each.log_level for each in self.listeners(holder) if each.log_level), key=severity, default=b"")

    async def listed(self, upstream: Upstream, connection: Connection, definitions: list[bytes]) -> None:
        name, asked = upstream.name, upstream.name in self.asked_for
        if asked:
            self.asked_for[name] = definitions
        of = ListKey(name, upstream.server.fingerprint, capability_set(connection.declared))
        runnable = translate.runnable(definitions, connection)
        kept = await self.memory.keep(of, runnable, connection.instructions, asked=asked)
        await self.current()  # what is pinned may still be read
        await self.incoming.put(of, kept, upstream.holder)

    async def features_listed(
        self, upstream: Upstream, connection: Connection, kind: str, definitions: list[bytes]
    ) -> None:
        of = ListKey(upstream.name, upstream.server.fingerprint, list_of(kind))
        kept = await self.memory.keep(of, definitions, connection.instructions, asked=True)
        await self.current()
        await self.incoming.put_features(of, kept, self.config, upstream.holder)

    def exposed(self, name: str) -> Collection[str]:
        return self.config.exposes(name)

    def tools_known(self, name: str, holder: str = SHARED) -> None:
        for session in self.listeners(holder):
            session.note_drifts()

    async def known_era(self, upstream: Upstream) -> bool | None:
        return await self.memory.do(lambda state: state.known_era(upstream.name, upstream.server.fingerprint))

    def era_found(self, upstream: Upstream, modern: bool) -> None:
        # Where it cannot be kept, the server is asked again next time.
        self.memory.soon(lambda state: state.remember_era(upstream.name, upstream.server.fingerprint, modern))

    def failed(self, upstream: Upstream, failure: str | None, code: str = "") -> None:
        self.memory.remember_outcome(upstream.name, upstream.server, failure, code)

    def message(self, connection: Connection, message: jsonrpc.Message) -> None:
        """Hand a server's question or log message to the session whose call it is about, as far as one can tell."""
        if not self.watched.take(connection, message):
            questions.route(connection, message, self.listeners(connection.holder))

    def connected(self, connection: Connection) -> None:
        self.watched.connected(connection)

    def gone(self, connection: Connection) -> None:
        self.watched.gone(connection)
        for session in self.listeners(connection.holder):
            session.questions.gone(connection)

    # ---- ending

    def background(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Run `work` beside everything else, until the end at most; nothing begins during the end."""
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
        servers = (each.stop() for each in (*self.held.every(), *self._leaving))
        await asyncio.gather(*servers, *([sessions] if sessions else ()))
        await self.index.end(last - asyncio.get_running_loop().time())
        for each in (self.searching, self.memory, self.policy, self.logs, self._transports):
            each.close()  # the last one watches what servers have started
