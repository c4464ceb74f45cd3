"""`tool_discovery`: the catalog searched beside the event loop, and each tool told as fully as the budget allows."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from mcpctl.base.errors import Unusable, warn
from mcpctl.base.models import Tool
from mcpctl.base.paths import Paths
from mcpctl.catalog import server_instructions
from mcpctl.catalog.cache import Catalog
from mcpctl.catalog.lists_in_memory import Lists
from mcpctl.catalog.server_instructions import Introduction
from mcpctl.config.config import Config
from mcpctl.config.settings import OPTIMIZATIONS, Search
from mcpctl.metatools.offers import AnswerForm
from mcpctl.policy.view import View
from mcpctl.search.providers import builder
from mcpctl.search.ranking import MAX_QUERIES, Build, Hit, Provider, Ranking
from mcpctl.store.state import State, StateError
from mcpctl.toolsets.toolset import Toolset, searched
from mcpctl.wire import jsonrpc
from mcpctl.wire.jsonrpc import Malformed
from mcpctl.wire.threads import WorkQueue, apart

if TYPE_CHECKING:
    from mcpctl.search.bm25 import Bm25
    from mcpctl.search.lessons import Learning

DETAILS = ("auto", "names", "full")
_ASKED = ("query", "context", "maxResults", "detail")
_RESULTS = 10  # results where no number is given; where they match well and there is room, as many again
_MAX_RESULTS = 50
_LONGEST_NAME = 128  # tools with longer names than the protocol has are called, but not found
_ASKED_AT_ONCE = 32
_MOST_INDEXES = 8  # indexes that are kept: of what was seen by those who searched last
_FEW_INDEXES = 2  # so many are made each for itself; the next ones are parts of one of all tools


class SearchRequest(Struct, frozen=True):
    queries: tuple[str, ...]
    context: str | None = None
    limit: int = _RESULTS
    more: int = _RESULTS  # further results if they match well and the answer has room: none where a limit was given
    left_out: int = 0
    detail: str = "auto"
    introduced: frozenset[Introduction] = frozenset()

    def ranked_by(self, provider: Provider) -> Ranking:
        """More hits than are shown, since no server may have all the places."""
        return provider.search(
            self.queries, context=self.context, limit=min(3 * (self.limit + self.more), 2 * _MAX_RESULTS)
        )


class SearchAnswer(Struct, frozen=True):
    content: bytes
    hits: tuple[Hit, ...]
    provider: str
    fallback: str | None
    introduced: tuple[Introduction, ...] = ()

    def result(self, form: AnswerForm) -> bytes:
        """The tool's result: the structured content, the same as one text block, or both."""
        quoted = msgspec.json.encode(self.content.decode())
        text = b"" if form is AnswerForm.STRUCTURE else b'{"type":"text","text":%b}' % quoted
        structured = b"" if form is AnswerForm.TEXT else b',"structuredContent":%b' % self.content
        return b'{"content":[%b]%b}' % (text, structured)


def search_request(arguments: bytes) -> SearchRequest:
    given = jsonrpc.members(arguments)
    example = 'Example: {"query": ["create an issue in github"]}'
    try:
        members: dict[str, Any] = {name: jsonrpc.value(text, object) for name, text in given.items() if name in _ASKED}
    except Malformed:
        raise Malformed(f"the arguments of tool_discovery cannot be read as JSON. {example}") from None
    query = members.get("query")
    queries = [query] if isinstance(query, str) else query
    if not isinstance(queries, list) or not queries or not all(isinstance(text, str) for text in queries):
        raise Malformed(f"query must be a list of texts, each saying what a tool should do. {example}")
    context, limit, detail = members.get("context"), members.get("maxResults", _RESULTS), members.get("detail", "auto")
    if context is not None and not isinstance(context, str):
        raise Malformed("context must be a text")
    if isinstance(limit, bool) or not isinstance(limit, int | float) or not 1 <= limit <= _MAX_RESULTS:
        raise Malformed(f"maxResults must be a whole number from 1 to {_MAX_RESULTS}")
    if detail not in DETAILS:
        raise Malformed(f"detail must be one of {', '.join(DETAILS)}")
    left_out = max(len(queries) - MAX_QUERIES, 0)
    more = 0 if "maxResults" in members else _RESULTS
    return SearchRequest(tuple(queries[:MAX_QUERIES]), context, int(limit), more, left_out, detail)


class _Seen(Struct, frozen=True):
    """All that decides which tools one request finds, and how they are ranked; the same for all who see the same."""

    generation: int  # that of the configuration
    lists: frozenset[tuple[str, tuple[str, int, int]]]
    toolset: Toolset | None
    only_reads: bool
    project: tuple[str | None, bool] | None  # the one whose settings decide, and whether it was only claimed


class _Index(Struct, frozen=True):
    provider: Provider
    tools: Mapping[str, Tool]


class Searching:
    def __init__(self, paths: Paths, lists: Lists, *, split: bool) -> None:
        self._paths = paths
        self._lists = lists
        self._split = split
        self._ranking = WorkQueue()
        self._asking = asyncio.Semaphore(_ASKED_AT_ONCE)
        self._state: State | None = None
        self._builds: dict[tuple[Search, str, str | None], Build] = {}
        self._indexes: dict[_Seen, _Index] = {}
        self._whole: Bm25 | None = None  # the index of all tools that are known, once there are many of what is seen
        self._whole_at = -1  # the `changes` of the lists that it was made of
        self._tools: Mapping[str, Tool] = {}
        self._learning: Learning | None = None

    def close(self) -> None:
        self._ranking.add(self._close_state)

    async def unlisted(self, view: View) -> list[str]:
        """The servers of which no tool is known, once all that is kept of them is loaded."""
        return await self._ranking.do(self._unlisted, view)

    async def answer(
        self, request: SearchRequest, view: View, missing: Mapping[str, str], direct: Mapping[str, str]
    ) -> SearchAnswer:
        """`missing` says, per server without known tools, why it has none. `direct` has the names, by key, of the tools
        that the client is shown directly."""
        answer = await self._ranking.do(self._search, request, view, missing, direct, None)
        if not isinstance(answer, SearchAnswer):
            # A service must not hold up other searches, or servers that list their tools.
            async with self._asking:
                ranking = await apart(request.ranked_by, answer)
            answer = await self._ranking.do(self._search, request, view, missing, direct, ranking)
        assert isinstance(answer, SearchAnswer)
        return answer

    async def make_ready(self, view: View) -> None:
        try:
            await self._ranking.do(self._search, SearchRequest(("",)), view, {}, {}, None)
        except Unusable as error:
            warn(f"the catalog cannot be read: {error}")

    def _search(
        self, request: SearchRequest, view: View, missing: Mapping[str, str], direct: Mapping[str, str],
        ranking: Ranking | None,
    ) -> SearchAnswer | Provider:  # fmt: skip
        """The answer; or, without a ranking, the provider where it waits for a service."""
        catalog = Catalog(view, self._opened(), self._lists)
        provider = self._provider(catalog)
        if ranking is None:
            if provider.waits:
                return provider
            ranking = request.ranked_by(provider)
        return self._answer(request, catalog, ranking, missing, direct)

    def _unlisted(self, view: View) -> list[str]:
        try:
            return Catalog(view, self._opened(), self._lists).unlisted()
        except StateError:
            return Catalog(view, None, self._lists).unlisted()

    def _opened(self) -> State:
        if self._state is None:
            self._state = State.opened(self._paths, create=True)
        return self._state

    def _close_state(self) -> None:
        if self._state:
            self._state.close()

    def _provider(self, catalog: Catalog) -> Provider:
        view = catalog.view
        lists = frozenset(catalog.generations().items())
        seen = _Seen(view.generation, lists, view.toolset, view.access.only_reads, _settings_of(view.config))
        index = self._indexes.pop(seen, None)
        if index is None:
            # Those of an earlier configuration, and of lists that have changed, are found no more.
            current = {key: each for key, each in self._indexes.items() if _is_current(key, seen)}
            self._indexes = dict(list(current.items())[-_MOST_INDEXES + 1 :])
            visible = [tool for tool in catalog.visible() if len(tool.name) <= _LONGEST_NAME]
            notes = searched(visible)
            provider = None if notes else self._part_of_another(view, visible)
            provider = provider or self._build(view)(visible, notes, None)
            index = _Index(provider, {tool.key: tool for tool in visible})
        self._indexes[seen] = index
        self._tools = index.tools
        return self._taught(index.provider, view) if view.config.search.learn else index.provider

    def _taught(self, provider: Provider, view: View) -> Provider:
        if self._learning is None:
            from mcpctl.search.lessons import Learning  # most have that off

            self._learning = Learning(self._paths)
        return self._learning.taught(provider, view.project, view.token_id)

    def _part_of_another(self, view: View, visible: Sequence[Tool]) -> Provider | None:
        """An index from the parts of one that has these tools and more: to read them is most of the work."""
        if view.config.optimization != OPTIMIZATIONS[0] or len(self._indexes) < _FEW_INDEXES:
            return None
        if part := self._whole and self._whole.only(visible):
            return part
        if self._whole_at == self._lists.changes:
            return None  # a toolset shows them otherwise than their servers
        from mcpctl.search.bm25 import Bm25  # loaded by then

        self._whole, self._whole_at = Bm25(self._lists.every_tool()), self._lists.changes
        return self._whole.only(visible)

    def _build(self, view: View) -> Build:
        """The function that builds the index, kept while its settings stay: it may have loaded a model."""
        settings = (view.config.search, view.config.optimization, view.project)
        if settings not in self._builds:
            self._builds = dict(list(self._builds.items())[-_MOST_INDEXES + 1 :])
            self._builds[settings] = builder(view.config, self._paths, learns=False)
        return self._builds[settings]

    def _answer(
        self, request: SearchRequest, catalog: Catalog, ranking: Ranking, missing: Mapping[str, str],
        direct: Mapping[str, str],
    ) -> SearchAnswer:  # fmt: skip
        # Aside, for the search that makes all others ready, and no part of starting up.
        from mcpctl.metatools import search_results
        from mcpctl.metatools.search_notice import Notice

        known_hits = [hit for hit in ranking.hits if hit.key in self._tools]
        if len(known_hits) < len(ranking.hits):
            gone = "Tools have changed while they were searched; search again."
            ranking = replace(ranking, notice=f"{ranking.notice} {gone}".strip())
        # A weak answer is short: whoever reads it will rather ask again than call what it has.
        detail = "names" if ranking.weak and request.detail == "auto" else request.detail
        more = 0 if ranking.weak or detail == "full" else request.more
        hits = search_results.chosen(known_hits, request.limit, more, ranking.firsts)
        tools = [self._tools[hit.key] for hit in hits]
        notice = Notice(request.queries, request.left_out, ranking, catalog, self._tools, missing)

        def fitted(count: int, room: int) -> list[dict[str, Any]]:
            return search_results.fitted(
                hits[:count], tools[:count], ranking,
                detail=detail, budget=room, sure=request.limit,
                split=catalog.view.rules.permission if self._split else None, direct=direct,
            )  # fmt: skip

        # The notice, which is short, comes on top: servers that are down take no room from the results of others.
        budget = catalog.view.config.search.answer_tokens * (search_results.FULL_BUDGETS if detail == "full" else 1)
        best = request.limit
        servers = [] if ranking.weak else [tool.server for tool in tools[:best]]
        waiting = server_instructions.waiting(catalog, servers, request.introduced)
        introduced = (
            search_results.introduced_beside(lambda room: fitted(best, room), waiting, budget) if waiting else []
        )
        results = fitted(
            len(hits), budget - sum(search_results.size(search_results.introduction(*each)) for each in introduced)
        )
        without_schema = tools[0].key if search_results.lacks_named_schema(results, tools) else ""
        keys = {entry["toolKey"] for entry in results}
        text = notice.text(
            shown=keys, left_out=max(min(len(hits), best) - len(results), 0), without_schema=without_schema
        )
        introductions = [search_results.introduction(*each) for each in introduced]
        content = ({"notice": text} if text else {}) | {"results": results}
        content |= {"serverInstructions": introductions} if introductions else {}
        shown = tuple(hit for hit in ranking.hits if hit.key in keys)
        return SearchAnswer(msgspec.json.encode(content), shown, ranking.provider, ranking.fallback, tuple(introduced))


def _settings_of(config: Config) -> tuple[str | None, bool] | None:
    """The project in force and whether it is only claimed; None where all that it sets is which servers are seen."""
    own = config.projects.get(config.project or "")
    is_plain = config.optimization == OPTIMIZATIONS[0] and not (own and (own.policy or own.optimization))
    return None if is_plain else (config.project, config.is_claimed)


def _is_current(seen: _Seen, now: _Seen) -> bool:
    """Whether both are of one configuration, and of the same lists of those servers that both see."""
    servers = dict(now.lists)
    return seen.generation == now.generation and all(
        name not in servers or servers[name][0] != of[0] or servers[name] == of for name, of in seen.lists
    )
