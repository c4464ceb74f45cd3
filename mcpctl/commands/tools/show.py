"""`mcpctl tools show`"""

from mcpctl.commands import options as opt


def show(
    key: opt.ToolKey,
    json: opt.Json = False,
    config: opt.ConfigFile = None,
    data_dir: opt.DataDir = None,
) -> None:
    """Show one tool: its description, its hints and what they mean, its parameters.

    \b
    Examples:
      mcpctl tools show github:create_issue
      mcpctl tools show github.create_issue --json | jq .definition.inputSchema
    """
    from mcpctl import output
    from mcpctl.catalog import rows
    from mcpctl.output import text

    with rows.catalog(opt.paths(config, data_dir)) as catalog:
        row = rows.show(catalog, key)
    output.write_row(row, json, lambda: text.tool(row))
