"""`mcpctl tools show`"""

from mcpctl.commands import options as opt


def show(key: opt.ToolKey, fields: opt.Fields = None, json: opt.Json = False, *, place: opt.ToolsetPlace) -> None:
    """Show one tool: its description, its hints and their meaning, its parameters and its usage.

    \b
    Examples:
      mcpctl tools show github:create_issue
      mcpctl tools show github.create_issue --json | jq .definition.inputSchema
    """
    from mcpctl import output
    from mcpctl.catalog import rows
    from mcpctl.commands.tools import columns
    from mcpctl.output import text

    paths = place.paths()
    with rows.catalog(paths, place.toolset, place.project, quiet=True) as catalog:
        row = rows.show(catalog, key, columns.recorded_usage(paths))
    output.write_row(row, json, lambda: text.tool(row), fields)
