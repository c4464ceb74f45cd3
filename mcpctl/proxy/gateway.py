"""What is behind the two meta-tools, for `serve` and for commands: upstreams, catalog, search and record."""

import asyncio
import sqlite3
import threading
import time
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from typing import Any, TypeVar

from mcpctl.catalog import cache
from mcpctl.catalog.cache import Catalog, Listed
from mcpctl.config import Config
from mcpctl.errors import Unusable, warn
from mcpctl.paths import Paths
from mcpctl.proxy import jsonrpc
from mcpctl.proxy.connection import Caller, Connection
from mcpctl.proxy.discovery import Answer, Discovery, Wanted
from mcpctl.proxy.execute import Execute
from mcpctl.proxy.questions import Questions
from mcpctl.proxy.server_processes import ServerProcesses
from mcpctl.proxy.turn import Turn
from mcpctl.proxy.upstreams import Upstream
from mcpctl.search.providers import builder
from mcpctl.search.ranking import Provider, Ranking
from mcpctl.store import state
from mcpctl.store.recorder import Recorder
from mcpctl.store.upkeep import Upkeep
from mcpctl.toolsets.in_force import InForce
from mcpctl.toolsets.toolset import Toolset

T = TypeVar("T")
_FIRST_SEARCH_S = 10.0
_INDEX_EVERY_S = 2.0
_STARTS_AT_ONCE = 4
_LAST_ANSWER_S = 1.3
"""After this, searches that go on at the end are answered that it ends: it is promised in 1.8 s."""


class Gateway:
    """Everything between one client and its servers but the client's own protocol."""

    def __init__(
        self,
        config: Config,
        paths: Paths,
        *,
        via: str = "client",
        toolset: str | None = None,
        split: bool = False,
        verbose: bool = False,
    ) -> None:
        self.config = config
        self.recorder = Recorder(paths, config.records, via=via, project=config.project)
        self.turn = Turn(self.recorder.flush)
        self._processes = ServerProcesses()
        self.upstreams = {
            name: Upstream(name, server, config.path, self._processes, self.turn, self, verbose=verbose)
            for name, server in config.enabled.items()
        }
        self.from_upstream: Callable[[Connection, jsonrpc.Message], None] = _unanswerable
        self.log_level = b""
        self.asked_for: dict[str, Sequence[bytes]] = {}
        """Servers whose list a person asked for, and what they listed: an empty list is then believed."""
        self._paths = paths
        self._lists: dict[str, Listed] = {}
        """What is known of servers' tools: by the event loop, which asks no database, and by the search thread."""
        self._catalog = Catalog(config, None, lists=self._lists)
        self._split = split
        self._toolset = toolset
        self._state: sqlite3.Connection | None = None
        self._in_force: InForce | None = None
        self.questions = Questions(lambda line: self.to_client(line))
        self.to_client: Callable[[bytes], None] = lambda _: None
        """Sends a line to the client, where there is one."""
        self._searching = ThreadPoolExecutor(1, "search")
        self._keeping = ThreadPoolExecutor(4, "keep")
        self._asking = ThreadPoolExecutor(32, "ask")
        self._indexing = ThreadPoolExecutor(1, "index")
        self._discovery: Discovery | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        self._answering: set[asyncio.Task[Any]] = set()
        self._starts = asyncio.Semaphore(_STARTS_AT_ONCE)
        self._outcomes: dict[str, str | None] = {}
        self._remembering = threading.Lock()
        self._loads: dict[str, asyncio.Task[None]] = {}
        # Another process may hold the database: then calls and searches wait for it, and nothing else does.
        self.opened = self.background(self._open_state())
        self.execute = Execute(self._catalog, self.upstreams, self.recorder, self.questions, self)
        self._upkeep = Upkeep(paths, config.records, lambda: not self.execute.idle.is_set())

    async def _open_state(self) -> None:
        loop = asyncio.get_running_loop()
        db = self._state = await loop.run_in_executor(self._keeping, state.opened_for_others, self._paths)
        self._in_force = InForce(self._paths, self.config, self._toolset, db)

    def look_at_toolset(self) -> None:
        """Have the toolset that is in force at this moment count for the request that begins, once `opened` is done."""
        assert self._in_force
        toolset = self._in_force.now()
        self._catalog.toolset = toolset
        self.recorder.toolset = toolset.name if toolset else None

    # ---- searching

    async def discover(self, asked: Wanted, caller: Caller) -> Answer:
        """The answer to a search. Only when nothing is known of any server are they waited for."""
        loop = asyncio.get_running_loop()
        await asyncio.shield(self.opened)
        self.look_at_toolset()
        toolset = self._catalog.toolset
        unlisted = await loop.run_in_executor(self._searching, self._unlisted)
        if unlisted:
            refreshing = self.background(self.refresh(unlisted, caller))
            if len(unlisted) == len(self.upstreams):
                await asyncio.wait([refreshing], timeout=_FIRST_SEARCH_S)
        missing = {name: self._why_unlisted(name) for name in self._catalog.unlisted()}
        problems = dict.fromkeys(self.config.problems, "cannot be used: its configuration is wrong")

        async def searched(ranking: Ranking | None) -> Answer | Provider:
            return await loop.run_in_executor(
                self._searching, self._search, asked, missing | problems, toolset, ranking
            )

        found = await searched(None)
        if not isinstance(found, Answer):
            # Whom it has to ask must not hold up those who search besides, or list their tools.
            found = await searched(await loop.run_in_executor(self._asking, asked.ranked_by, found))
        assert isinstance(found, Answer)
        return found

    async def annotate(self, arguments: bytes) -> bytes:
        """The answer to a model that adds notes; raises `McpctlError` where it may not."""
        from mcpctl.proxy import note_tool  # what changes files is no part of starting up

        await asyncio.shield(self.opened)
        self.look_at_toolset()
        assert self._in_force
        toolset, place = self._catalog.toolset, self._in_force.place
        await asyncio.get_running_loop().run_in_executor(self._searching, self._unlisted)
        subject, notes = note_tool.asked(arguments, self._catalog, toolset)
        assert toolset
        assert place
        # Aside: the lock of the file may be held.
        return await asyncio.to_thread(note_tool.add, place, subject, notes, toolset.name)

    def _search(
        self, asked: Wanted, missing: Mapping[str, str], toolset: Toolset | None, ranking: Ranking | None
    ) -> Answer | Provider:
        """The answer; without a ranking, of a provider that waits for others, that provider."""
        discovery = self._discovering()
        provider = discovery.provider(toolset)
        if ranking is None:
            if provider.waits:
                return provider
            ranking = asked.ranked_by(provider)
        return discovery.answer(asked, ranking, missing)

    def _discovering(self) -> Discovery:
        """What answers searches, over a catalog that reads the database; of the search thread."""
        if self._discovery is None:
            catalog = Catalog(self.config, state.opened(self._paths, create=True), lists=self._lists)
            self._discovery = Discovery(catalog, builder(self.config, self._paths), split=self._split)
        return self._discovery

    def _unlisted(self) -> list[str]:
        """The servers of which no tool is known, once all that is kept of them is loaded; in the search thread."""
        try:
            return self._discovering().catalog.unlisted()
        except sqlite3.Error:
            return self._catalog.unlisted()

    def _why_unlisted(self, name: str) -> str:
        upstream = self.upstreams[name]
        if upstream.down_since:
            since = time.strftime("%H:%M:%SZ", time.gmtime(upstream.down_since))
            return f"has been down since {since}; the user can see why with: mcpctl servers check {name}"
        return "is still starting; its tools are not known yet, search again in a moment"

    # ---- keeping the catalog

    async def refresh(
        self, names: Iterable[str], caller: Caller, one_done: Callable[[], None] = lambda: None
    ) -> dict[str, str]:
        """List the tools of these servers now; what went wrong, by server. `one_done` is told of each."""
        failures: dict[str, str] = {}

        async def one(name: str) -> None:
            async with self._starts:
                try:
                    await self.upstreams[name].refresh(caller)
                except Exception as error:
                    failures[name] = str(error)
                    self.failed(self.upstreams[name], str(error))
            one_done()

        await asyncio.gather(*map(one, names))
        return failures

    def warm_up(self, caller: Caller) -> None:
        """In the background: list servers whose tools are unknown or stale, make search ready, tidy the records."""
        self.background(self._warmed_up(caller))
        self.background(self._keep_index())

    async def _warmed_up(self, caller: Caller) -> None:
        await asyncio.shield(self.opened)
        self.look_at_toolset()
        ready = asyncio.get_running_loop().run_in_executor(
            self._searching, self._make_search_ready, self._catalog.toolset
        )
        await asyncio.get_running_loop().run_in_executor(self._searching, self._unlisted)
        if due := self._catalog.due():
            self.background(self.refresh(due, caller))
        await ready

    def _make_search_ready(self, toolset: Toolset | None) -> None:
        try:
            self._search(Wanted(("",)), {}, toolset, None)
        except (Unusable, sqlite3.Error) as error:
            warn(f"the catalog cannot be read: {error}")

    def status(self, name: str) -> dict[str, Any]:
        """A listed server: how many tools it has, which revision it speaks, how long it took to start."""
        listed, connection = self._catalog.listed(name), self.upstreams[name].connection
        return {
            "server": name,
            "tools": len(listed.tools) if listed else 0,
            "revision": connection.revision if connection else None,
            "duration_ms": round(self.upstreams[name].start_s * 1000),
        }

    async def listed(self, upstream: Upstream, definitions: list[bytes]) -> None:
        """Keep what a server lists."""
        name = upstream.name
        if name in self.asked_for:
            self.asked_for[name] = definitions
        self._lists[name] = await self._kept(self._keep, name, definitions, name in self.asked_for)
        self.execute.listed(name)

    def _keep(self, name: str, definitions: list[bytes], asked: bool) -> Listed:
        fingerprint = self.config.servers[name].fingerprint
        try:
            with closing(state.opened(self._paths, create=True)) as db:
                cache.replace(db, name, fingerprint, definitions, asked=asked)
                if found := cache.load(db, name, fingerprint):
                    return found
        except (sqlite3.Error, Unusable) as error:
            warn(f"the tools of '{name}' cannot be kept: {state.trouble(self._paths, error)}")
        return cache.held(name, definitions)

    async def load(self, name: str) -> None:
        """Have what is kept of a server's tools, once; without it where the database cannot be read."""
        if name not in self._lists and name not in self._loads:
            self._loads[name] = self.background(self._loaded(name))
        if name in self._loads:
            await asyncio.shield(self._loads[name])

    async def _loaded(self, name: str) -> None:
        found = await self._kept(self._load, name)
        if found:
            self._lists.setdefault(name, found)

    def _load(self, name: str) -> Listed | None:
        try:
            with closing(state.opened(self._paths, create=True)) as db:
                return cache.load(db, name, self.config.servers[name].fingerprint)
        except (sqlite3.Error, Unusable):
            return None  # its server is asked instead

    async def known_era(self, upstream: Upstream) -> bool | None:
        """Whether a server is known to speak 2026-07-28."""
        return await self._kept(self._era, upstream.name)

    def _era(self, name: str) -> bool | None:
        try:
            with closing(state.opened(self._paths)) as db:
                return cache.known_era(db, name, self.config.servers[name].fingerprint)
        except (sqlite3.Error, Unusable):
            return None

    def era_found(self, upstream: Upstream, modern: bool) -> None:
        """Remember what `server/discover` showed."""
        self._keeping.submit(self._remember_era, upstream.name, modern)

    def _remember_era(self, name: str, modern: bool) -> None:
        # Where it cannot be kept, it is asked again next time.
        with suppress(sqlite3.Error, Unusable), closing(state.opened(self._paths, create=True)) as db:
            cache.remember_era(db, name, self.config.servers[name].fingerprint, modern)

    def failed(self, upstream: Upstream, failure: str | None) -> None:
        """Keep why a server failed just now, or None that it works, for people who ask later."""
        self._outcomes[upstream.name] = failure
        self._keeping.submit(self._remember_outcome, upstream.name)

    def _remember_outcome(self, name: str) -> None:
        # One at a time, each the latest: what was said first must not be written last.
        with self._remembering, suppress(Unusable), closing(state.opened(self._paths, create=True)) as db:
            cache.remember_failure(db, name, self.config.servers[name].fingerprint, self._outcomes[name])

    async def _kept(self, work: Callable[..., T], *given: Any) -> T:
        """What `work` finds in the database, in a thread: it waits for as long as another process holds it."""
        return await asyncio.get_running_loop().run_in_executor(self._keeping, work, *given)

    def message(self, upstream: Upstream, connection: Connection, message: jsonrpc.Message) -> None:
        """Hand on what an upstream says to the client."""
        self.from_upstream(connection, message)

    def gone(self, connection: Connection) -> None:
        """What a server asked ends with it."""
        self.questions.gone(connection)

    def set_log_level(self, level: bytes, caller: Caller) -> None:
        """Tell every older server what to log, now and when it is connected."""
        self.log_level = level
        for upstream in self.upstreams.values():
            if upstream.connection:
                upstream.connection.set_log_level(level, caller)

    def tell_all(self, method: str, params: Mapping[str, bytes]) -> None:
        """Pass a notification of an older client's on to every older server that is connected."""
        for upstream in self.upstreams.values():
            if upstream.connection and not upstream.connection.modern:
                upstream.connection.notify(method, params)

    # ---- keeping the records

    async def _keep_index(self) -> None:
        """Tidy once, then keep the index near the journals, so that commands find little to catch up on."""
        loop = asyncio.get_running_loop()
        tidied_with_session = False
        await loop.run_in_executor(self._indexing, self._upkeep.tidy)
        while True:
            await asyncio.sleep(_INDEX_EVERY_S)
            if self.recorder.is_open:
                job = self._upkeep.catch_up if tidied_with_session else self._upkeep.tidy
                tidied_with_session = True
                await loop.run_in_executor(self._indexing, job)

    # ---- ending

    def background(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Run `work` beside everything else, until the end at most."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def answering(self, work: Coroutine[Any, Any, Any]) -> None:
        """Run `work`, which the client waits for and which starts nothing: it has the longer grace of the end."""
        task = self.background(work)
        self._answering.add(task)
        task.add_done_callback(self._answering.discard)

    async def stop(self, grace_s: float) -> None:
        """Give calls in flight `grace_s`, put the rest on record as interrupted, end every server.

        Searches need no server: they have the time in which those end, too.
        """
        last = asyncio.get_running_loop().time() + _LAST_ANSWER_S
        try:
            async with asyncio.timeout(grace_s):
                await self.execute.idle.wait()
                if self._answering:
                    await asyncio.wait(self._answering)
        except TimeoutError:
            self.execute.interrupt()
        for task in self._tasks - self._answering:
            task.cancel()
        await asyncio.gather(self._last_answered(last), *(each.stop() for each in self.upstreams.values()))
        self._processes.close()
        self._close()

    def _close(self) -> None:
        """Let go of databases and threads; what a thread is still at, it ends with."""
        self._searching.submit(self._search_no_more)
        for threads in (self._searching, self._keeping, self._asking, self._indexing):
            threads.shutdown(wait=False)
        if self._state:
            self._state.close()

    def _search_no_more(self) -> None:
        if self._discovery:
            self._discovery.close()

    async def _last_answered(self, last: float) -> None:
        """Close the record once the last search is on it; what goes on at `last`, on the loop's clock, is ended."""
        if self._answering:
            await asyncio.wait(self._answering, timeout=last - asyncio.get_running_loop().time())
        for task in self._answering:
            task.cancel()
        await asyncio.gather(*self._answering, return_exceptions=True)
        self.recorder.close()


def _unanswerable(connection: Connection, message: jsonrpc.Message) -> None:
    """What no client can answer is refused, so that no server waits for it."""
    if jsonrpc.is_id(message.id):
        error = jsonrpc.error_object(jsonrpc.METHOD_NOT_FOUND, "no client here can answer this")
        connection.write(jsonrpc.error(bytes(message.id), error))
