"""`mcpctl servers disable`"""

from mcpctl.commands import options as opt


def disable(name: opt.ServerName, place: opt.JsonLocation) -> None:
    """Switch a server off; its entry stays.

    Example:
      mcpctl servers disable github
    """
    from mcpctl import output, servers
    from mcpctl.commands.confirmation import Gate
    from mcpctl.config import editing

    paths = place.paths()
    editing.enable(paths.config, name, False, Gate(paths).config)
    output.write_done(place.json, lambda: servers.show(paths, name), name)
    output.say(f"disabled in {paths.config}")
