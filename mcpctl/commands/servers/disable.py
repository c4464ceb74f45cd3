"""`mcpctl servers disable`"""

from mcpctl.commands import options as opt


def disable(name: opt.ServerName, json: opt.Json = False, *, place: opt.Place) -> None:
    """Switch a server off; its entry stays.

    \b
    Example:
      mcpctl servers disable github
    """
    from mcpctl import output
    from mcpctl.commands.people import Gate
    from mcpctl.servers import server_entries

    paths = place.paths()
    server_entries.enable(paths.config, name, False, Gate(paths).config)
    output.write_done(json, lambda: server_entries.show(paths, name), name)
    output.say(f"disabled in {paths.config}")
