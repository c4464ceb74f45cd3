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
    explain: Annotated[
        bool, typer.Option("--explain", help="Say of each what made it relevant, and how much.")
    ] = False,
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
    """Rank the tools against a few words, in the order that tool_discovery gives.

    What ranks them is what the configuration says: see optimization in mcpctl-config(5).

    With a toolset in force, only its tools are found, by its notes too. A hint with * is its override. A terminal gets
    the 10 best, a pipe all.

    --explain shows what each word of the query adds in each field; their sum is the relevance (values above 0.9 are
    compressed: only an exact name scores 1, with what it adds under "exact"). "meaning" is what latent semantic
    analysis adds: words that occur together. "embedding" is what a language model finds near.

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

    asked = output.listing(json, jsonl, format, fields, limit, offset, count)
    wanted = rows.Wanted(server, read_only, destructive, idempotent, open_world)
    paths = opt.paths(config, data_dir)
    used = columns.usage(paths, columns.FOUND, asked)
    with rows.catalog(paths, toolset, project, server=server) as catalog:
        with output.progress("embedding", "tools") as on_progress:
            build = builder(catalog.config, paths, on_progress=on_progress)
            found = search_rows.found(
                catalog, [" ".join(query)], wanted, used, build, explained=explain, kept=paths.search_index
            )
        columns.write_found(found, asked, explained=explain)
        columns.footnote(catalog)
