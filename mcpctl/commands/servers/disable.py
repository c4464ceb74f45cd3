"""`mcpctl servers disable`"""

from mcpctl.commands import options as opt


def disable(
    name: opt.ServerName,
    json: opt.Json = False,
    config: opt.ConfigFile = None,
    data_dir: opt.DataDir = None,
) -> None:
    """Switch a server off; its entry stays.

    \b
    Example:
      mcpctl servers disable github
    """
    from mcpctl import output, server_entries
    from mcpctl.commands.people import Gate

    paths = opt.paths(config, data_dir)
    server_entries.enable(paths.config, name, False, Gate(paths).config)
    output.write_done(json, lambda: server_entries.show(paths, name), name)
    output.say(f"disabled in {paths.config}")
