"""`mcpctl serve`"""

from mcpctl.commands import options as opt


def serve(config: opt.ConfigFile = None, data_dir: opt.DataDir = None, verbose: opt.Verbose = False) -> None:
    """Serve one MCP client on stdin and stdout, in front of all configured servers.

    Put this command into the configuration of Claude, Cursor or any MCP client. It shows the model two tools,
    tool_discovery and tool_execute, and keeps a record of every session and call.

    \b
    Examples:
      mcpctl serve
      mcpctl serve --config servers.toml
    """
    from mcpctl.proxy import process

    process.run(opt.paths(config, data_dir), verbose=verbose)
