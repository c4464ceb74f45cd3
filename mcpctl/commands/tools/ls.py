"""`mcpctl tools ls`"""

from mcpctl.base.errors import WrongUsage
from mcpctl.commands import options as opt


def ls(
    which: opt.WhichTools,
    sort: str | None = opt.option(
        "--sort", "FIELD", "Sort the rows by key, tool, usage or last_used.", ("key", "tool", "usage", "last_used")
    ),
    by: str | None = opt.option("--by", "GROUP", "Group the rows by this: risk.", ("risk",)),
    unused: bool = opt.flag("--unused", "Only tools without a call on record."),
    direct: bool = opt.flag("--direct", "Only tools that clients are shown directly, with their names there."),
    *,
    ad_hoc: opt.AdHocServer,
    listing: opt.Listing,
    place: opt.ToolsetLocation,
) -> None:
    """List the tools of all enabled servers.

    They are as the servers last listed them, with the hints of their behaviour. A hint is yes or no if the server
    declares it or the method of an HTTP API's tool implies it, yes* or no* if the toolset in force overrides it, and -
    if it is not declared. Filters use the hint in effect: a tool without declared hints counts as destructive, as MCP
    says. With a toolset in force, only its tools are listed. Where tools are held until you approve them, a column says
    why.

    --by risk groups the tools by the worst that they may do: read-only; changing, but declared not destructive;
    destructive, also if a tool is only declared not read-only; not-declared, without either hint. In a group or without
    groups, tools are in the order of their servers and of each server's own list. --sort usage, the number of recorded
    calls, and --sort last_used begin with the highest number and the latest time.

    --direct shows which tools clients are shown by names of their own, as direct in [serve] of config.toml says, and
    the name of each; serve --direct, which goes before it, is not known here.

    With --url or -- COMMAND, the tools are those of a server that config.toml need not have, which is asked for them
    now. Nothing is added to config.toml. Its name begins with adhoc-; if config.toml has it, it has its name there.

    Examples:
      mcpctl tools ls --server github --read-only
      mcpctl tools ls --by risk --sort usage
      mcpctl tools ls --jsonl --fields key,title
      mcpctl tools ls --sort last_used --fields key,last_used
      mcpctl tools ls --unused --fields key
      mcpctl tools ls --direct --fields direct,key
      mcpctl tools ls --url https://mcp.example.com/mcp
      mcpctl tools ls -- npx -y @modelcontextprotocol/server-everything
    """
    from mcpctl import output
    from mcpctl.catalog import rows
    from mcpctl.commands import tool_lists
    from mcpctl.commands.columns import of_servers

    opt.one_of("sort", sort, rows.SORTS)
    opt.one_of("by", by, rows.GROUPS)
    options = listing.chosen()
    filters = which.chosen()
    order, paths, loaded = rows.Order(sort, by), place.paths(), None
    if ad_hoc.is_given:
        from msgspec.structs import replace

        if filters.servers:
            raise WrongUsage("--server is for servers in config.toml", "leave it out, or --url and --")
        loaded, name = tool_lists.of_ad_hoc(paths, ad_hoc, place.project)
        filters = replace(filters, servers=(name,))
    with rows.catalog(paths, place.toolset, place.project, servers=filters.servers, loaded=loaded) as catalog:
        layout = tool_lists.ordered(order, options, with_held=catalog.has_held, with_direct=direct)
        layout = of_servers(layout, catalog.config.servers)
        usage = tool_lists.usage(paths, layout, options, "usage" if unused else sort)
        listed = rows.listed(catalog, filters, order, usage)
        listed = tool_lists.unused(listed) if unused else listed
        output.write_list(tool_lists.direct(paths, catalog, listed) if direct else listed, layout, options)
        tool_lists.footnote(catalog)
