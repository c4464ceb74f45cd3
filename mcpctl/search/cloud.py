"""Ranking by a service: the query and the tools are sent to it, and what it answers is checked against them.

`POST` of `{query[], context?, tools[{toolKey, toolName, serverName, description}], maxResults}`, answered by
`{results[{toolKey, relevance, explanation?}]}`; see examples/catalog_search_server.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from mcpctl.config import CLOUD_TOKEN, Config
from mcpctl.models import Tool
from mcpctl.search.bm25 import WEAK, Bm25
from mcpctl.search.json_service import Service
from mcpctl.search.ranking import MAX_QUERIES, MAX_RESULTS, Build, Explanation, Hit, Ranking, Unavailable, fallen_back
from mcpctl.search.tokens import sendable

_MAX_ANSWER = 4 << 20
_BEST = 0.99
"""The most that a tool is relevant which the query does not name."""
_LONGEST_SAID = 500


class Cloud:
    """Ranks tools as a service does; by words while it cannot be had."""

    name = "cloud"
    waits = True

    def __init__(self, words: Bm25, service: Service | None, seconds: float) -> None:
        self._words = words
        self._service = service
        self._seconds = seconds
        self._offered = {tool.key for tool in words.tools}
        self._tools = msgspec.json.encode([_offer(tool) for tool in words.tools])

    def search(self, queries: Sequence[str], *, context: str | None = None, limit: int = 10) -> Ranking:
        """The best `limit` tools for any of the queries."""
        queries = queries[:MAX_QUERIES]
        try:
            found, notice = self._asked(queries, context, min(limit, MAX_RESULTS))
        except Exception as error:
            return fallen_back(self.name, error, self._words.search(queries, context=context, limit=limit))
        named = {key: Explanation(key, 1.0, "", (), how) for key, how in self._words.named(queries).items()}
        best = sorted((found | named).values(), key=lambda why: (-why.relevance, why.key))[:limit]
        return Ranking(
            hits=tuple(Hit(why.key, why.relevance) for why in best),
            provider=self.name,
            fallback=None,
            unknown_words=(),
            weak=not best or best[0].relevance < WEAK,
            notice=notice,
            explain=lambda hits: [why for why in best if why.key in {hit.key for hit in hits}],
        )

    def _asked(self, queries: Sequence[str], context: str | None, limit: int) -> tuple[dict[str, Explanation], str]:
        """The tools that the service finds, and a word about results that cannot be used."""
        if self._service is None:
            raise Unavailable("[search] has no cloud_url")
        about = {"context": sendable(context)} if context else {}
        tools = msgspec.Raw(self._tools)
        asked = {"query": list(map(sendable, queries)), **about, "tools": tools, "maxResults": limit}
        answer = self._service.post(msgspec.json.encode(asked), self._seconds)
        try:
            results = msgspec.json.decode(answer)["results"]
        except (msgspec.MsgspecError, ValueError, RecursionError, KeyError, TypeError):
            raise Unavailable("its answer is no JSON object with results") from None
        if not isinstance(results, list):
            raise Unavailable("its answer has results that are no list")
        found: dict[str, Explanation] = {}
        for why in self._usable(results):
            found.setdefault(why.key, why)
        if results and not found:
            raise Unavailable("none of its results is a tool that it was sent, with a relevance from 0 to 1")
        dropped = len(results) - len(found)
        told = f"Left out, since they cannot be used: {dropped} of the search service's {len(results)} results."
        return found, told if dropped else ""

    def _usable(self, results: list[Any]) -> Iterator[Explanation]:
        for result in results:
            key, relevance, said = _members(result, "toolKey", "relevance", "explanation")
            if not isinstance(key, str) or key not in self._offered or not _is_share(relevance):
                continue
            told = _on_one_line(said) if isinstance(said, str) else ""
            yield Explanation(key, round(min(float(relevance), _BEST), 4), "", (), None, told)


def cloud_builder(config: Config) -> Build:
    """What makes the provider for each catalog, all with one service."""
    settings = config.search
    service = Service(settings.cloud_url, CLOUD_TOKEN, _MAX_ANSWER) if settings.cloud_url else None
    return lambda tools, notes, kept: Cloud(Bm25(tools, notes, kept), service, settings.cloud_timeout_s)


def _offer(tool: Tool) -> dict[str, str]:
    told = sendable(tool.description.removesuffix(tool.notes))
    return {"toolKey": tool.key, "toolName": tool.name, "serverName": tool.server, "description": told}


def _on_one_line(said: str) -> str:
    """What a stranger says, without what a terminal or a model might take for more than words."""
    printable = "".join(char if char.isprintable() else " " for char in said[:_LONGEST_SAID])
    return " ".join(printable.split())


def _members(result: Any, *names: str) -> list[Any]:
    return [result.get(name) for name in names] if isinstance(result, Mapping) else [None] * len(names)


def _is_share(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1
