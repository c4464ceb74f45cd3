"""`mcpctl servers enable`"""

from mcpctl.commands import options as opt


def enable(
    name: opt.ServerName,
    config: opt.ConfigFile = None,
    data_dir: opt.DataDir = None,
) -> None:
    """Switch a server on.

    \b
    Example:
      mcpctl servers enable github
    """
    from mcpctl import output, server_entries

    path = opt.paths(config, data_dir).config
    server_entries.enable(path, name, True)
    output.write_text(name)
    output.say(f"enabled in {path}")
