"""`mcpctl serve`"""

from pathlib import Path
from typing import Annotated

from mcpctl.commands import complete
from mcpctl.commands import options as opt

PrintConfig = Annotated[
    str | None,
    opt.option(
        "--print-config", "CLIENT", "Print the entry that CLIENT needs to start mcpctl; do not serve.", complete.clients
    ),
]


Split = Annotated[bool, opt.flag("--split-execute", "Offer separate tools for calls that read, write and destroy.")]
TokenFile = Annotated[
    Path | None,
    opt.option(
        "--token-file",
        "FILE",
        "The file that has the token of mcpctl tokens create (also, as the token itself: MCPCTL_TOKEN).",
    ),
]
Annotate = Annotated[bool, opt.flag("--allow-annotate", "Let models add notes to the toolset in force.")]
Locked = Annotated[
    Path | None,
    opt.option("--locked", "FILE", "Hold every tool that FILE does not have as it is; see mcpctl tools lock."),
]


def serve(
    print_config: PrintConfig = None,
    *,
    place: opt.Location,
    verbose: opt.Verbose = False,
    toolset: opt.Toolset = None,
    project: opt.Project = None,
    token_file: TokenFile = None,
    split_execute: Split = False,
    allow_annotate: Annotate = False,
    locked: Locked = None,
) -> None:
    """Serve one MCP client on stdin and stdout, in front of all configured servers.

    Put this command into the configuration of Claude, Cursor or any MCP client. It shows the model two tools,
    tool_discovery and tool_execute, and keeps a record of every session and call.

    With a project, only its servers are seen, and its toolset is in force; a request may name another in
    _meta.projectId, and sees only what both see. With a token, only what that is for is seen. With a toolset, only its
    tools can be found and called, with its notes and hints. --split-execute offers tool_execute_read,
    tool_execute_write and tool_execute_destructive in place of tool_execute, so that a client can always allow only
    reads. --allow-annotate adds add-tool-annotation. --locked holds what a lock file does not have exactly as it is:
    neither found nor called.

    With [policy] in config.toml it asks you before calls that may delete or change what nobody declared, and keeps to
    your rules; see mcpctl-config(5).

    --print-config prints the entry for a client's configuration. Clients: claude-desktop, claude-code, cursor, vscode,
    windsurf, codex, gemini-cli, zed, cline, opencode. Programs with a window do not have your shell's PATH: if theirs
    does not find the programs that start your servers, the entry has a PATH that does.

    \b
    Examples:
      mcpctl serve
      mcpctl serve --config servers.toml
      mcpctl serve --project acme
      mcpctl serve --toolset triage --split-execute
      mcpctl serve --print-config claude-desktop
    """
    paths = place.paths()
    if print_config is not None:
        from mcpctl import output
        from mcpctl.clients import client_config, client_kinds
        from mcpctl.config.config import load
        from mcpctl.toolsets import toolset_files

        opt.one_of("print-config", print_config, tuple(client_kinds.CLIENTS))
        options = {
            "--config": place.config, "--data-dir": place.data_dir, "--project": project,
            "--toolset": toolset_files.absolute_reference(toolset), "--token-file": token_file,
            "--verbose": verbose, "--split-execute": split_execute, "--allow-annotate": allow_annotate,
            "--locked": locked.absolute() if locked else None,
        }  # fmt: skip
        output.write_text(client_config.text(print_config, options, load(paths.config).servers.values()))
        output.say(client_config.goes_into(print_config))
        if not split_execute:
            output.say("one permission then covers all tools; --split-execute separates reads from writes")
        return
    from mcpctl.proxy import process

    process.run(
        paths, project=project, toolset=toolset, token_file=token_file, split=split_execute, annotate=allow_annotate,
        verbose=verbose, locked=locked,
    )  # fmt: skip
