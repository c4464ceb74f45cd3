"""Searches beside the event loop: ranked one after the other, but for those that wait for who ranks elsewhere."""

import asyncio
from collections.abc import Mapping

from mcpctl.base.errors import Unusable, warn
from mcpctl.base.paths import Paths
from mcpctl.catalog.cache import Catalog
from mcpctl.catalog.lists_in_memory import Lists
from mcpctl.metatools.discovery import Answer, Discovery, SearchRequest
from mcpctl.policy.view import View
from mcpctl.search.ranking import Provider, Ranking
from mcpctl.store.state import State, StateError
from mcpctl.wire.threads import Line, apart

_ASKED_AT_ONCE = 32


class Searching:
    """Answers searches over a catalog that reads the database."""

    def __init__(self, paths: Paths, lists: Lists, *, split: bool) -> None:
        self._paths = paths
        self._lists = lists
        self._split = split
        self._ranking = Line()
        self._asking = asyncio.Semaphore(_ASKED_AT_ONCE)
        self._discovery: Discovery | None = None

    def close(self) -> None:
        """Answer nothing more; what a thread is at, it ends with."""
        self._ranking.add(self._close_state)

    async def unlisted(self, view: View) -> list[str]:
        """The servers of which no tool is known, once all that is kept of them is loaded."""
        return await self._ranking.do(self._unlisted, view)

    async def answer(self, request: SearchRequest, view: View, missing: Mapping[str, str]) -> Answer:
        """The answer to a search; `missing` says why servers without known tools have none."""
        answer = await self._ranking.do(self._search, request, view, missing, None)
        if not isinstance(answer, Answer):
            # Whom it has to ask must not hold up those who search besides, or list their tools.
            async with self._asking:
                ranking = await apart(request.ranked_by, answer)
            answer = await self._ranking.do(self._search, request, view, missing, ranking)
        assert isinstance(answer, Answer)
        return answer

    async def make_ready(self, view: View) -> None:
        """Build what the next search needs."""
        await self._ranking.do(self._make_ready, view)

    # ---- beside the event loop

    def _search(
        self, request: SearchRequest, view: View, missing: Mapping[str, str], ranking: Ranking | None
    ) -> Answer | Provider:
        """The answer; without a ranking, of a provider that waits for others, that provider."""
        discovery = self._opened()
        provider = discovery.provider(view)
        if ranking is None:
            if provider.waits:
                return provider
            ranking = request.ranked_by(provider)
        return discovery.answer(request, view, ranking, missing)

    def _make_ready(self, view: View) -> None:
        try:
            self._search(SearchRequest(("",)), view, {}, None)
        except Unusable as error:
            warn(f"the catalog cannot be read: {error}")

    def _unlisted(self, view: View) -> list[str]:
        try:
            return Catalog(view, self._opened().state, self._lists).unlisted()
        except StateError:
            return Catalog(view, None, self._lists).unlisted()

    def _opened(self) -> Discovery:
        if self._discovery is None:
            state = State.opened(self._paths, create=True)
            self._discovery = Discovery(self._paths, state, self._lists, split=self._split)
        return self._discovery

    def _close_state(self) -> None:
        if self._discovery:
            self._discovery.state.close()
