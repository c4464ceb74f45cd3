"""Ranking by a service: it gets the query and the tools, and its answer is checked against them. `POST` of `{query[],
context?, tools[{toolKey, toolName, serverName, description}], maxResults}`, answered by `{results[{toolKey, relevance,
explanation?}]}`; see examples/catalog_search_server."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import msgspec

from mcpctl.base.models import Progress, Tool
from mcpctl.base.texts import one_line
from mcpctl.config.config import Config
from mcpctl.config.settings import CLOUD_TOKEN
from mcpctl.search.bm25 import Bm25
from mcpctl.search.json_service import Service
from mcpctl.search.ranking import (
    MAX_QUERIES,
    MAX_RESULTS,
    Build,
    Explanation,
    Hit,
    Ranking,
    Unavailable,
    fallen_back,
    kept,
)
from mcpctl.search.tokens import sendable

_MAX_ANSWER = 4 << 20
_MAX_RELEVANCE = 0.99
_MAX_EXPLANATION = 500
_WEAK = 0.4  # the relevance below which a service has no good match; how it measures is its own affair


class Cloud:
    name = "cloud"
    waits = True

    def __init__(self, words: Bm25, service: Service | None, seconds: float) -> None:
        self._words = words
        self._service = service
        self._seconds = seconds
        self._offered = {tool.key for tool in words.tools}
        self._tools = msgspec.json.encode([_offer(tool) for tool in words.tools])

    def search(self, queries: Sequence[str], *, context: str | None = None, limit: int = 10) -> Ranking:
        queries = queries[:MAX_QUERIES]
        try:
            reasons, notice = self._ask(queries, context, min(limit, MAX_RESULTS))
        except Exception as error:
            return fallen_back(self.name, error, self._words.search(queries, context=context, limit=limit))
        by_name = {key: Explanation(key, 1.0, "", (), how) for key, how in self._words.named(queries).items()}
        found = sorted((reasons | by_name).values(), key=lambda why: (-why.relevance, why.key))
        best_of = tuple(self._best_of(queries, {why.key for why in found})) if len(queries) > 1 else ()
        hits = kept([Hit(why.key, why.relevance) for why in found], limit, {key for _, key in best_of})
        return Ranking(
            hits=tuple(hits),
            provider=self.name,
            fallback=None,
            unknown_words=(),
            weak=not hits or hits[0].relevance < _WEAK,
            best_of=best_of,
            notice=notice,
            explain=lambda hits: [why for why in found if why.key in {hit.key for hit in hits}],
        )

    def _best_of(self, queries: Sequence[str], found: Collection[str]) -> Iterator[tuple[str, str]]:
        """The best result of the service for each query, by words: it does not say for which one each is."""
        for query in queries:
            ranked = self._words.search([query], limit=MAX_RESULTS).hits
            yield from islice(((query, hit.key) for hit in ranked if hit.key in found), 1)

    def _ask(self, queries: Sequence[str], context: str | None, limit: int) -> tuple[dict[str, Explanation], str]:
        if self._service is None:
            raise Unavailable("[search] has no cloud_url")
        optional = {"context": sendable(context)} if context else {}
        tools = msgspec.Raw(self._tools)
        request = {"query": list(map(sendable, queries)), **optional, "tools": tools, "maxResults": limit}
        answer = self._service.post(msgspec.json.encode(request), self._seconds)
        try:
            results = msgspec.json.decode(answer)["results"]
        except (msgspec.MsgspecError, ValueError, RecursionError, KeyError, TypeError):
            raise Unavailable("its answer is not a JSON object with results") from None
        if not isinstance(results, list):
            raise Unavailable("the results in its answer are not a list")
        reasons: dict[str, Explanation] = {}
        for why in self._usable(results):
            reasons.setdefault(why.key, why)
        if results and not reasons:
            raise Unavailable("none of its results is a tool that it was sent, with a relevance from 0 to 1")
        dropped = len(results) - len(reasons)
        notice = f"{dropped} of the search service's {len(results)} results cannot be used and are left out."
        return reasons, notice if dropped else ""

    def _usable(self, results: list[Any]) -> Iterator[Explanation]:
        for result in results:
            members = result if isinstance(result, Mapping) else {}
            values: list[Any] = [members.get(name) for name in ("toolKey", "relevance", "explanation")]
            key, relevance, explanation = values
            is_number = isinstance(relevance, int | float) and not isinstance(relevance, bool)
            if not isinstance(key, str) or key not in self._offered or not is_number or not 0 <= relevance <= 1:
                continue
            text = one_line(explanation[:_MAX_EXPLANATION]) if isinstance(explanation, str) else ""
            yield Explanation(key, round(min(float(relevance), _MAX_RELEVANCE), 4), "", (), None, text)


def cloud_builder(config: Config, on_progress: Progress) -> Build:
    settings = config.search
    service = Service(settings.cloud_url, CLOUD_TOKEN, _MAX_ANSWER) if settings.cloud_url else None
    return lambda tools, notes, index_path: Cloud(
        Bm25(tools, notes, index_path, on_progress), service, settings.cloud_timeout_s
    )


def _offer(tool: Tool) -> dict[str, str]:
    description = sendable(tool.description.removesuffix(tool.notes))
    return {"toolKey": tool.key, "toolName": tool.name, "serverName": tool.server, "description": description}
