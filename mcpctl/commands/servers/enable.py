"""`mcpctl servers enable`"""

from mcpctl.commands import options as opt


def enable(name: opt.ServerName, change: opt.ChangeOptions) -> None:
    """Switch a server on.

    Example:
      mcpctl servers enable github
    """
    from mcpctl import output, servers
    from mcpctl.config import editing

    paths = change.paths()
    editing.enable(paths.config, name, True, change.gate(paths).config)
    output.write_done(change.json, lambda: servers.show(paths, name), name)
    output.say(f"enabled in {paths.config}")
