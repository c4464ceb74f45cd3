"""`mcpctl tools show`"""

from mcpctl.commands import options as opt


def show(key: opt.ToolKey, shown: opt.OneThing, ad_hoc: opt.AdHocServer, place: opt.ToolsetLocation) -> None:
    """Show a tool: its text, hints, parameters and usage.

    With --url or -- COMMAND, KEY is the name of a tool of a server that config.toml need not have: see mcpctl tools ls.

    Examples:
      mcpctl tools show github:create_issue
      mcpctl tools show github.create_issue --json | jq .definition.inputSchema
      mcpctl tools show search --url https://mcp.example.com/mcp
    """
    from mcpctl.catalog import rows
    from mcpctl.commands import tool_lists
    from mcpctl.output import text

    paths, loaded = place.paths(), None
    if ad_hoc.is_given:
        loaded, name = tool_lists.of_ad_hoc(paths, ad_hoc, place.project)
        key = f"{name}:{key.removeprefix(f'{name}:')}"
    with rows.catalog(paths, place.toolset, place.project, quiet=True, loaded=loaded) as catalog:
        row = rows.show(catalog, key, tool_lists.recorded_usage(paths))
    shown.write(row, text.tool)
