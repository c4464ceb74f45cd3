"""`mcpctl servers enable`"""

from mcpctl.commands import options as opt


def enable(
    name: opt.ServerName,
    from_script: opt.FromScript = False,
    json: opt.Json = False,
    *,
    place: opt.Place,
) -> None:
    """Switch a server on.

    \b
    Example:
      mcpctl servers enable github
    """
    from mcpctl import output, servers
    from mcpctl.commands.people import Gate
    from mcpctl.config import editing

    paths = place.paths()
    editing.enable(paths.config, name, True, Gate(paths, from_script).config)
    output.write_done(json, lambda: servers.show(paths, name), name)
    output.say(f"enabled in {paths.config}")
