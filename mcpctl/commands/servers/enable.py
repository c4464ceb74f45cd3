"""`mcpctl servers enable`"""

from mcpctl.commands import options as opt


def enable(
    name: opt.ServerName,
    json: opt.Json = False,
    config: opt.ConfigFile = None,
    data_dir: opt.DataDir = None,
) -> None:
    """Switch a server on.

    \b
    Example:
      mcpctl servers enable github
    """
    from mcpctl import output, server_entries

    paths = opt.paths(config, data_dir)
    server_entries.enable(paths.config, name, True)
    output.write_done(json, lambda: server_entries.show(paths, name), name)
    output.say(f"enabled in {paths.config}")
