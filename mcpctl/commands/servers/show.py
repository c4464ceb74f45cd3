"""`mcpctl servers show`"""

from mcpctl.commands import options as opt


def show(name: opt.ServerName, fields: opt.Fields = None, json: opt.Json = False, *, place: opt.Place) -> None:
    """Show one server's entry, with its secrets masked.

    \b
    Examples:
      mcpctl servers show github
      mcpctl servers show github --json
    """
    from mcpctl import output, servers
    from mcpctl.output import text

    row = servers.show(place.paths(), name)
    output.write_row(row, json, lambda: text.pairs(row), fields)
