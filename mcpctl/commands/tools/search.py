"""`mcpctl tools search`"""

from typing import Annotated

import typer

from mcpctl.commands import options as opt


def search(
    query: Annotated[list[str], typer.Argument(metavar="QUERY...", help="What the tool should do.")],
    server: opt.ServerFilter = None,
    read_only: opt.ReadOnly = None,
    destructive: opt.Destructive = None,
    idempotent: opt.Idempotent = None,
    open_world: opt.OpenWorld = None,
    explain: Annotated[bool, typer.Option("--explain", help="Explain the relevance of each tool.")] = False,
    fields: opt.Fields = None,
    json: opt.Json = False,
    jsonl: opt.Jsonl = False,
    format: opt.Format = "auto",
    limit: opt.Limit = None,
    offset: opt.Offset = 0,
    count: opt.Count = False,
    toolset: opt.Toolset = None,
    project: opt.Project = None,
    config: opt.ConfigFile = None,
    data_dir: opt.DataDir = None,
) -> None:
    """Rank the tools against a few words, in the order of tool_discovery.

    The configuration chooses the provider that ranks: see optimization in mcpctl-config(5).

    With a toolset in force, only its tools are found, and its notes are searched too. A hint with * is an override of
    the toolset. A terminal gets the 10 best tools, a pipe all of them.

    --explain shows what each word of the query adds in each field; their sum is the relevance (values above 0.9 are
    compressed: only an exact name scores 1, with the rest under "exact"). "meaning" is the share of nearness of
    meaning; (≈ directory 0.71) is a near word of the tool. "embedding" is the similarity that an embedding model
    finds.

    \b
    Examples:
      mcpctl tools search create an issue
      mcpctl tools search create an issue --explain --limit 3
      mcpctl tools search calendar --read-only --json
    """
    from mcpctl import output
    from mcpctl.catalog import rows
    from mcpctl.commands.tools import columns
    from mcpctl.search import search_rows
    from mcpctl.search.providers import builder

    options = output.listing(json, jsonl, format, fields, limit, offset, count)
    filters = rows.Wanted(opt.listed("server", server), read_only, destructive, idempotent, open_world)
    paths = opt.paths(config, data_dir)
    usage = columns.usage(paths, columns.FOUND, options)
    with rows.catalog(paths, toolset, project, servers=filters.servers) as catalog:
        with output.progress("indexing", "tools") as on_progress:
            build = builder(catalog.config, paths, on_progress=on_progress)
            results = search_rows.search(
                catalog, [" ".join(query)], filters, usage, build, explained=explain, index_path=paths.search_index
            )
        columns.write_found(results, options, explained=explain)
        columns.footnote(catalog)
