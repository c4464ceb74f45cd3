"""`mcpctl servers rm`"""

from mcpctl.commands import options as opt


def rm(
    names: opt.ServerNames,
    config: opt.ConfigFile = None,
    data_dir: opt.DataDir = None,
) -> None:
    """Remove servers from config.toml. Their records stay.

    Where there is no server of one of the names, none is removed.

    \b
    Examples:
      mcpctl servers rm github
      mcpctl servers rm github weather notes
    """
    from mcpctl import output, server_entries

    path = opt.paths(config, data_dir).config
    server_entries.remove(path, names)
    output.write_lines(iter(dict.fromkeys(names)))
    output.say(f"removed from {path}")
