"""`mcpctl servers rm`"""

from mcpctl.commands import options as opt


def rm(names: opt.ServerNames, change: opt.ChangeOptions) -> None:
    """Remove servers from config.toml. Their records stay; what they wrote to stderr goes.

    The compiled document of an HTTP API goes, too; the document itself stays.

    A login stays too, since other configurations may use it: end it first, with mcpctl servers logout NAME.
    Where there is no server of one of the names, none is removed.

    Examples:
      mcpctl servers rm github
      mcpctl servers rm github weather notes
    """
    from collections.abc import Mapping
    from contextlib import suppress

    from mcpctl import output
    from mcpctl.base.errors import McpctlError
    from mcpctl.config import config, editing
    from mcpctl.config.server_settings import Server
    from mcpctl.openapi import snapshot
    from mcpctl.store import server_logs

    paths = change.paths()
    before: Mapping[str, Server] = {}
    with suppress(McpctlError):  # a fault elsewhere in the file keeps no entry in it
        before = config.load(paths.config).servers
    editing.remove(paths.config, names, change.gate(paths).config)
    for name in names:
        server_logs.remove(paths, name)
        if name in before:
            snapshot.remove(paths, name, before[name])
    removed = list(dict.fromkeys(names))
    output.write_done(change.json, lambda: [{"name": name, "removed": True} for name in removed], *removed)
    output.say(f"removed from {paths.config}")
