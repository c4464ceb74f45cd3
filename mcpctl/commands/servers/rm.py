"""`mcpctl servers rm`"""

from mcpctl.commands import options as opt


def rm(
    name: opt.ServerName,
    json: opt.Json = False,
    config: opt.ConfigFile = None,
    data_dir: opt.DataDir = None,
) -> None:
    """Remove a server from config.toml. Its records stay.

    \b
    Example:
      mcpctl servers rm github
    """
    from mcpctl import output, server_entries

    path = opt.paths(config, data_dir).config
    server_entries.remove(path, name)
    output.write_done(json, lambda: {"name": name, "removed": True}, name)
    output.say(f"removed from {path}")
