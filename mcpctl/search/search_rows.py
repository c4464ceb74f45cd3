"""`tools search`: the ranking of `tool_discovery`, as rows."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from mcpctl.catalog import rows
from mcpctl.catalog.cache import Catalog
from mcpctl.errors import warn
from mcpctl.models import Found, Row, Tool, Usage
from mcpctl.near_names import nearest
from mcpctl.search.ranking import MAX_RESULTS, Build, Explanation, Ranking
from mcpctl.toolsets.toolset import searched


def found(
    catalog: Catalog,
    queries: Sequence[str],
    wanted: rows.Wanted,
    used: Usage | None,
    build: Build,
    *,
    explained: bool = False,
    kept: Path | None = None,
) -> Found:
    """The tools that match any of the queries, best first; filters leave out, and never change a relevance.

    `build` makes the provider, and `kept` is a file for its index. Without `used` their rows lack the fields of usage.
    `explained`, each says why it has its relevance.
    """
    if wanted.server is not None:
        catalog.config.server(wanted.server)
    tools = {tool.key: tool for tool in catalog.visible()}
    ranking = build(list(tools.values()), searched(tools.values()), kept).search(queries, limit=len(tools) or 1)
    _say(queries, ranking, tools)
    hits = [hit for hit in ranking.hits if wanted.met_by(tools[hit.key])]
    if ranking.provider == "cloud" and len(ranking.hits) >= MAX_RESULTS and len(hits) < len(ranking.hits):
        warn(f"the search service names {MAX_RESULTS} tools at most, the filters are for those alone")
    if ranking.hits and not hits:
        warn(f"{len(ranking.hits)} tools match, none of them meets the filters")

    def window(limit: int | None, offset: int) -> Iterator[Row]:
        shown = hits[offset : None if limit is None else offset + limit]
        reasons = {why.key: _as_row(why, ranking) for why in ranking.explain(shown)} if explained else {}
        for hit in shown:
            reason = {"explanation": reasons[hit.key]} if explained else {}
            yield {"relevance": hit.relevance, **rows.row(tools[hit.key], catalog, used), **reason}

    return Found(lambda: len(hits), window, filtered=catalog.toolset is not None)


def _say(queries: Sequence[str], ranking: Ranking, tools: Mapping[str, Tool]) -> None:
    if ranking.notice:
        warn(ranking.notice.rstrip("."))
    if ranking.fallback:
        warn(f"ranked by {ranking.provider}; {ranking.fallback}")
    if ranking.lost_words and tools:
        more = f" and {len(ranking.lost_words) - 10} more" if len(ranking.lost_words) > 10 else ""
        warn(f"no tool has these words: {', '.join(ranking.lost_words[:10])}{more}")
    if not ranking.weak or not tools:
        return
    near = sorted({key for query in queries[:4] for key in nearest(query[:100], tools)})
    names = f"; nearest names: {', '.join(near)}" if near else ""
    if ranking.hits:
        warn(f"no good match, these are weak{names}")
    elif near:
        warn(f"no tool matches{names}")


def _as_row(why: Explanation, ranking: Ranking) -> Mapping[str, Any]:
    parts = [{"word": part.word or None, "field": part.field, "score": part.score} for part in why.shares()]
    return {
        "query": why.query or None,
        "score": why.relevance if why.parts else None,
        "pinned": why.pinned,
        "parts": parts,
        "said": why.said or None,
        "unknown_words": list(ranking.unknown_words),
    }
