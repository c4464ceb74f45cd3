"""`mcpctl tools show`"""

from mcpctl.commands import options as opt


def show(key: opt.ToolKey, shown: opt.OneThing, place: opt.ToolsetLocation) -> None:
    """Show a tool: its text, hints, parameters and usage.

    Examples:
      mcpctl tools show github:create_issue
      mcpctl tools show github.create_issue --json | jq .definition.inputSchema
    """
    from mcpctl.catalog import rows
    from mcpctl.commands import tool_lists
    from mcpctl.output import text

    paths = place.paths()
    with rows.catalog(paths, place.toolset, place.project, quiet=True) as catalog:
        row = rows.show(catalog, key, tool_lists.recorded_usage(paths))
    shown.write(row, text.tool)
