"""`mcpctl tools ls`"""

from mcpctl.commands import options as opt


def ls(
    server: opt.ServerFilter = None,
    read_only: opt.ReadOnly = None,
    destructive: opt.Destructive = None,
    idempotent: opt.Idempotent = None,
    open_world: opt.OpenWorld = None,
    sort: opt.Sort = None,
    by: opt.By = None,
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
    """List the tools of all enabled servers, as last listed, with their behaviour hints.

    A hint shows as yes or no where the server declares it, as yes* or no* where the toolset in force overrides it, and
    as - where nobody said. Filters take the hint in effect: a tool of which nobody said anything counts as
    destructive, as the protocol says. With a toolset in force, only its tools are listed.

    --by risk groups by what a tool may do at worst: read-only; changing, but declared not to destroy; destructive,
    which a tool that is declared not read-only is unless declared otherwise; not-declared, where nobody said either.
    Within a group, and without one, tools stand by server and as it lists them, or as --sort says: usage, how many
    calls are on record, and last_used begin with the most and the latest.

    \b
    Examples:
      mcpctl tools ls --server github --read-only
      mcpctl tools ls --by risk --sort usage
      mcpctl tools ls --jsonl --fields key,title
    """
    from mcpctl import output
    from mcpctl.catalog import rows
    from mcpctl.commands.tools import columns

    opt.one_of("sort", sort, rows.SORTS)
    opt.one_of("by", by, rows.GROUPS)
    asked = output.listing(json, jsonl, format, fields, limit, offset, count)
    wanted = rows.Wanted(server, read_only, destructive, idempotent, open_world)
    order, paths = rows.Order(sort, by), opt.paths(config, data_dir)
    shown = columns.ordered(order, asked)
    used = columns.usage(paths, shown, asked, sort)
    with rows.catalog(paths, toolset, project, server=server) as catalog:
        output.write_list(rows.listed(catalog, wanted, order, used), shown, asked)
        columns.footnote(catalog)
