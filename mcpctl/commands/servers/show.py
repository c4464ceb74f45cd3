"""`mcpctl servers show`"""

from mcpctl.commands import options as opt


def show(
    name: opt.ServerName,
    fields: opt.Fields = None,
    json: opt.Json = False,
    config: opt.ConfigFile = None,
    data_dir: opt.DataDir = None,
) -> None:
    """Show one server's entry, with its secrets masked.

    \b
    Examples:
      mcpctl servers show github
      mcpctl servers show github --json
    """
    from mcpctl import output, server_entries
    from mcpctl.output import text

    row = server_entries.show(opt.paths(config, data_dir), name)
    output.write_row(row, json, lambda: text.pairs(row), fields)
