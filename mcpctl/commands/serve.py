"""`mcpctl serve`"""

from typing import Annotated

import typer

from mcpctl.commands import complete
from mcpctl.commands import options as opt

PrintConfig = Annotated[
    str | None,
    typer.Option(
        metavar="CLIENT", help="Print what CLIENT needs in its configuration to start this; do not serve.",
        autocompletion=complete.clients,
        show_default=False,
    ),
]  # fmt: skip


def serve(
    print_config: PrintConfig = None,
    config: opt.ConfigFile = None,
    data_dir: opt.DataDir = None,
    verbose: opt.Verbose = False,
) -> None:
    """Serve one MCP client on stdin and stdout, in front of all configured servers.

    Put this command into the configuration of Claude, Cursor or any MCP client. It shows the model two tools,
    tool_discovery and tool_execute, and keeps a record of every session and call.

    --print-config prints the block to put there, for: claude-desktop, claude-code, cursor, vscode, windsurf, codex,
    gemini-cli, zed, cline, opencode.

    \b
    Examples:
      mcpctl serve
      mcpctl serve --config servers.toml
      mcpctl serve --print-config claude-desktop
    """
    paths = opt.paths(config, data_dir)
    if print_config is not None:
        from mcpctl import output
        from mcpctl.clients import block, known

        opt.one_of("print-config", print_config, tuple(known.CLIENTS))
        output.write_text(block.text(print_config, {"--config": config, "--data-dir": data_dir}, verbose=verbose))
        output.say(block.goes_into(print_config))
        return
    from mcpctl.proxy import process

    process.run(paths, verbose=verbose)
