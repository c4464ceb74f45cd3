"""`mcpctl tools ls`"""

from mcpctl.commands import options as opt


def ls(
    server: opt.ServerFilter = None,
    read_only: opt.ReadOnly = None,
    destructive: opt.Destructive = None,
    idempotent: opt.Idempotent = None,
    open_world: opt.OpenWorld = None,
    fields: opt.Fields = None,
    json: opt.Json = False,
    jsonl: opt.Jsonl = False,
    format: opt.Format = "auto",
    limit: opt.Limit = None,
    offset: opt.Offset = 0,
    count: opt.Count = False,
    config: opt.ConfigFile = None,
    data_dir: opt.DataDir = None,
) -> None:
    """List the tools of all enabled servers, as last listed, with their behaviour hints.

    A hint shows as yes or no where the server declares it, and as - where nobody said. Filters take the hint in
    effect: a tool that declares nothing counts as destructive, as the protocol says.

    \b
    Examples:
      mcpctl tools ls --server github --read-only
      mcpctl tools ls --jsonl --fields key,title
    """
    from mcpctl import output
    from mcpctl.catalog import rows
    from mcpctl.commands.tools import columns

    asked = output.listing(json, jsonl, format, fields, limit, offset, count)
    wanted = rows.Wanted(server, read_only, destructive, idempotent, open_world)
    with rows.catalog(opt.paths(config, data_dir)) as catalog:
        output.write_list(rows.listed(catalog, wanted), columns.COLUMNS, asked)
