"""`mcpctl servers show`"""

from collections.abc import Iterator

from mcpctl.base.models import Row
from mcpctl.commands import options as opt

_OWN = "calls over HTTP are refused, as require_own_login says"
_SHARED = "with serve --http, everybody acts as the account in this entry, or in its login: see mcpctl-team(7)"


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
    from mcpctl.config import config
    from mcpctl.output import text

    paths = place.paths()
    server = config.load(paths.config).servers.get(name)

    def lines(row: Row) -> Iterator[str]:
        yield from text.pairs(row if shown.fields else servers.shown(row))
        if server and server.has_account and not shown.fields:
            yield ""
            yield _OWN if server.require_own_login else _SHARED

    shown.write(servers.show(paths, name), lines)
