"""`mcpctl servers show`"""

from mcpctl.commands import options as opt


def show(name: opt.ServerName, shown: opt.OneThing, place: opt.Location) -> None:
    """Show one server's entry, with its secrets masked.

    Examples:
      mcpctl servers show github
      mcpctl servers show github --json
    """
    from mcpctl import servers
    from mcpctl.output import text

    shown.write(servers.show(place.paths(), name), text.pairs)
