"""`mcpctl servers disable`"""

from mcpctl.commands import options as opt


def disable(
    name: opt.ServerName,
    config: opt.ConfigFile = None,
    data_dir: opt.DataDir = None,
) -> None:
    """Switch a server off; its entry stays.

    \b
    Example:
      mcpctl servers disable github
    """
    from mcpctl import output, server_entries

    path = opt.paths(config, data_dir).config
    server_entries.enable(path, name, False)
    output.write_text(name)
    output.say(f"disabled in {path}")
