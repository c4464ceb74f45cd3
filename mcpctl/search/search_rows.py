"""`tools search`: the ranking of `tool_discovery`, as rows."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from mcpctl.base.errors import warn
from mcpctl.base.models import Found, Row, Tool, Usage
from mcpctl.base.near_names import nearest
from mcpctl.base.texts import counted
from mcpctl.catalog import rows
from mcpctl.catalog.cache import Catalog
from mcpctl.search.ranking import MAX_RESULTS, Build, Explanation, Ranking
from mcpctl.toolsets.toolset import searched


def search(
    catalog: Catalog, queries: Sequence[str], filters: rows.ToolFilter, usage: Usage | None, build: Build, *,
    explained: bool = False, index_path: Path | None = None, tells: bool = True,
) -> Found:  # fmt: skip
    """The tools that match any of the queries, best first; filters leave tools out and never change a relevance.
    `build` makes the provider, and `index_path` is a file for its index. Without `usage` the rows lack the fields of
    usage. With `explained` each row has the explanation of its relevance. Oddities of the result are reported on stderr
    if `tells`."""
    for server in filters.servers:
        catalog.config.server(server)
    tools = {tool.key: tool for tool in catalog.visible()}
    ranking = build(list(tools.values()), searched(tools.values()), index_path).search(queries, limit=len(tools) or 1)
    hits = [hit for hit in ranking.hits if filters.met_by(tools[hit.key])]
    if tells:
        _warn(queries, ranking, tools)
        _warn_of_filters(ranking, len(hits))

    def window(limit: int | None, offset: int) -> Iterator[Row]:
        page = hits[offset : None if limit is None else offset + limit]
        reasons = {why.key: _as_row(why, ranking) for why in ranking.explain(page)} if explained else {}
        for hit in page:
            reason = {"explanation": reasons[hit.key]} if explained else {}
            yield {"relevance": hit.relevance, **rows.row(tools[hit.key], catalog, usage), **reason}

    return Found(lambda: len(hits), window, filtered=catalog.toolset is not None)


def _warn(queries: Sequence[str], ranking: Ranking, tools: Mapping[str, Tool]) -> None:
    if ranking.notice:
        warn(ranking.notice.rstrip("."))
    if ranking.fallback:
        warn(f"ranked by {ranking.provider}; {ranking.fallback}")
    if not tools:
        return
    if ranking.weak:
        _warn_of_weakness(queries, ranking, tools)
    if ranking.unanswered:
        warn(f"no tool is a good match for {', '.join(map(repr, ranking.unanswered[:10]))}")
    if ranking.lost_words:
        more = f" and {len(ranking.lost_words) - 10} more" if len(ranking.lost_words) > 10 else ""
        warn(f"no tool has these words: {', '.join(ranking.lost_words[:10])}{more}")


def _warn_of_weakness(queries: Sequence[str], ranking: Ranking, tools: Mapping[str, Tool]) -> None:
    near = sorted({key for query in queries[:4] for key in nearest(query[:100], tools)})
    names = f"; nearest names: {', '.join(near)}" if near else ""
    if ranking.hits:
        warn(f"no tool is a good match, these are weak{names}")
    elif near:
        warn(f"no tool matches{names}")
    if ranking.known_words:
        warn(f"these words of the query occur in tools: {', '.join(ranking.known_words[:10])}")


def _warn_of_filters(ranking: Ranking, left: int) -> None:
    if ranking.provider == "cloud" and len(ranking.hits) >= MAX_RESULTS and left < len(ranking.hits):
        warn(f"the search service returns at most {MAX_RESULTS} tools, and the filters apply only to those")
    if ranking.hits and not left:
        warn(f"no tool passes the filters, of {counted(len(ranking.hits), 'tool')} that match")


def _as_row(why: Explanation, ranking: Ranking) -> Mapping[str, Any]:
    parts = [
        {
            "word": part.word or None,
            "field": part.field,
            "score": part.score,
            **({"near": {"word": part.near.word, "cosine": part.near.cosine}} if part.near else {}),
            **({"recorded": part.recorded} if part.recorded else {}),
        }
        for part in why.shares()
    ]
    return {
        "query": why.query or None,
        "score": why.relevance if why.parts else None,
        "pinned": why.pinned,
        "parts": parts,
        "said": why.said or None,
        "unknown_words": list(ranking.unknown_words),
    }
