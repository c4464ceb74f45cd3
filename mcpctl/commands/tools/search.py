"""`mcpctl tools search`"""

import os

from mcpctl.commands import options as opt


def search(
    query: list[str] = opt.argument("QUERY...", "A task that the tool should do."),
    *,
    which: opt.WhichTools,
    explain: bool = opt.flag("--explain", "Explain the relevance of each tool."),
    listing: opt.Listing,
    place: opt.ToolsetLocation,
) -> None:
    """Rank the tools against a few words. The order is that of tool_discovery.

    The configuration chooses the provider that ranks: see optimization in mcpctl-config(5).

    With a toolset in force, only its tools are found, and its notes are searched too. A hint with * is an override of
    the toolset. A terminal gets the 10 best tools, a pipe all of them.

    --explain shows what each word of the query adds in each field; their sum is the relevance (values above 0.9 are
    compressed: only an exact name scores 1, with the rest under "exact"). "meaning" is the share of nearness of
    meaning; (≈ directory 0.71) is a near word of the tool, which counts in a field, too, where tools lack most
    words of the query, as in another language. "embedding" is the similarity that an embedding model finds. "use" is
    what was learnt from the query on record that it names.

    Examples:
      mcpctl tools search create an issue
      mcpctl tools search create an issue --explain --limit 3
      mcpctl tools search calendar --read-only --json
    """
    # The threads that numpy would start take a tenth of its import, and are of no use to one search.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from mcpctl import output
    from mcpctl.catalog import rows
    from mcpctl.commands import tool_lists
    from mcpctl.commands.columns import FOUND_TOOLS, of_servers
    from mcpctl.search import search_rows
    from mcpctl.search.providers import builder

    options = listing.chosen()
    filters = which.chosen()
    paths = place.paths()
    usage = tool_lists.usage(paths, FOUND_TOOLS, options)
    with rows.catalog(paths, place.toolset, place.project, servers=filters.servers) as catalog:
        with output.progress("indexing", "tools") as on_progress:
            build = builder(catalog.config, paths, on_progress=on_progress)
            results = search_rows.search(
                catalog, [" ".join(query)], filters, usage, build, explained=explain, index_path=paths.search_index
            )
        tool_lists.write_found(results, of_servers(FOUND_TOOLS, catalog.config.servers), options, explained=explain)
        tool_lists.footnote(catalog)
