"""`mcpctl tools export`"""

from typing import Annotated

import typer

from mcpctl.commands import options as opt

Toolset = Annotated[str, typer.Option(metavar="NAME|PATH", help="Only the tools of this toolset.", show_default=False)]


def export(
    server: opt.ServerFilter = None,
    read_only: opt.ReadOnly = None,
    destructive: opt.Destructive = None,
    idempotent: opt.Idempotent = None,
    open_world: opt.OpenWorld = None,
    toolset: Toolset = "none",
    json: opt.Json = False,
    project: opt.Project = None,
    config: opt.ConfigFile = None,
    data_dir: opt.DataDir = None,
) -> None:
    """Print the tools of all enabled servers as the servers sent them: one JSON object a line, {"server", "tool"}.

    mcpctl annotate check --catalog reads this snapshot where servers cannot run, as in CI. No toolset is in force
    unless --toolset names one.

    \b
    Examples:
      mcpctl tools export > catalog.jsonl
      mcpctl tools export --server github | jq -r .tool.name
    """
    from mcpctl import output
    from mcpctl.catalog import catalog_file, rows

    filters = rows.Wanted(opt.listed("server", server), read_only, destructive, idempotent, open_world)
    with rows.catalog(opt.paths(config, data_dir), toolset, project, servers=filters.servers) as catalog:
        lines = (line.decode() for line in catalog_file.written(catalog, filters))
        output.write_lines(iter([f"[{','.join(lines)}]"]) if json else lines)
