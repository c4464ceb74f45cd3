"""`mcpctl servers show`"""

from mcpctl.commands import options as opt


def show(name: opt.ServerName, shown: opt.OneThing, place: opt.Location) -> None:
    """Show one server's entry, with its secrets masked.

    An HTTP API also has its document as it was last read, its base address, the hosts that requests go to and those
    where clients are changed for tokens, the number of operations that are no tools, by the reason, and its security
    schemes, each with whether it has a value.

    Examples:
      mcpctl servers show github
      mcpctl servers show github --json
    """
    from mcpctl import servers
    from mcpctl.output import text

    shown.write(servers.show(place.paths(), name), lambda row: text.pairs(row if shown.fields else servers.shown(row)))
