"""`tools search`: the ranking of `tool_discovery`, as rows."""

from mcpctl.catalog import rows
from mcpctl.catalog.cache import Catalog
from mcpctl.errors import warn
from mcpctl.models import Found, Usage
from mcpctl.search import build
from mcpctl.toolsets.toolset import searched


def found(catalog: Catalog, query: str, wanted: rows.Wanted, used: Usage | None) -> Found:
    """The tools that match, best first; filters leave out, and never change a relevance.

    Without `used` their rows lack the fields of usage.
    """
    if wanted.server is not None:
        catalog.config.server(wanted.server)
    tools = {tool.key: tool for tool in catalog.visible()}
    ranking = build(list(tools.values()), searched(tools.values())).search([query], limit=len(tools) or 1)
    if ranking.unknown_words and tools:
        warn(f"no tool has these words: {', '.join(ranking.unknown_words)}")
    if ranking.weak and ranking.hits:
        warn("no good match; these are weak")
    return Found.of(
        [
            {"relevance": hit.relevance, **rows.row(tools[hit.key], catalog, used)}
            for hit in ranking.hits
            if wanted.met_by(tools[hit.key])
        ],
        filtered=catalog.toolset is not None,
    )
