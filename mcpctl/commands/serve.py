"""`mcpctl serve`"""

from pathlib import Path
from typing import Annotated

from mcpctl.base import bounds
from mcpctl.base.errors import WrongUsage
from mcpctl.commands import complete
from mcpctl.commands import options as opt

Split = Annotated[bool, opt.flag("--split-execute", "Offer separate tools to read, write and destroy.", default=...)]


def _patterns(given: list[str] | None) -> list[str] | None:
    from mcpctl.config.settings import problem_of_direct

    if given and len(given) > bounds.DIRECT:
        raise WrongUsage(f"--direct is given {len(given)} times, and {bounds.DIRECT} count", "take globs, or a toolset")
    for pattern in given or ():
        if problem := problem_of_direct(pattern):
            raise WrongUsage(f"--direct: {problem}", "see what tools there are with: mcpctl tools ls")
    return given


Direct = Annotated[
    list[str] | None,
    opt.option(
        "--direct", "PATTERN", "Show these tools directly: server:tool, @TOOLSET, equipped or all (repeatable).",
        default=..., callback=_patterns,
    ),
]  # fmt: skip


def serve(
    print_config: str | None = opt.option(
        "--print-config", "CLIENT", "Print the entry with which CLIENT starts mcpctl; do not serve.", complete.clients
    ),
    http: str | None = opt.option(
        "--http", "[HOST:]PORT", "Serve many clients over HTTP there, in place of one on stdin and stdout."
    ),
    link: bool = opt.flag("--link", "Print it as a link that adds it, for Cursor or VS Code."),
    *,
    place: opt.Location,
    verbose: bool = opt.flag("--verbose -v", "Copy the stderr of the servers to stderr."),
    toolset: str | None = opt.TOOLSET,
    project: str | None = opt.PROJECT,
    token_file: Path | None = opt.option(
        "--token-file", "FILE", "FILE has the token of mcpctl tokens create (also, the token itself: MCPCTL_TOKEN)."
    ),
    split_execute: Split = False,
    allow_annotate: bool = opt.flag("--allow-annotate", "Let models add notes to the toolset in force."),
    direct: Direct = None,
    locked: Path | None = opt.option("--locked", "FILE", "Hide tools that differ from FILE; see mcpctl tools lock."),
) -> None:
    """Serve MCP clients, in front of all your servers.

    It speaks MCP on stdin and stdout. Put this command into the configuration of Claude, Cursor or any MCP client. It
    shows the model two tools, tool_discovery and tool_execute, and keeps a record of every session and call.

    With a project, only its servers are seen, and its toolset is in force; a request may name another in
    _meta.projectId, and sees only the servers of both. With a token, only its servers are seen. With a toolset, only
    its tools can be found and called, with its notes and hints. --split-execute offers tool_execute_read,
    tool_execute_write and tool_execute_destructive in place of tool_execute, so that a client can always allow only
    reads. --direct shows tools by names of their own, beside these two, or with all in their place; see
    mcpctl-direct(7). --allow-annotate adds add-tool-annotation. --locked hides and refuses every tool whose definition
    differs from the lock file.

    With [policy] in config.toml it asks before calling tools that may delete, or that do not say what they do, and
    keeps to your rules; see mcpctl-config(5).

    --http serves any number of clients at http://HOST:PORT/mcp, of this machine alone unless HOST says otherwise. Each
    person has a token of mcpctl tokens create, which the client sends as Authorization: Bearer; [http] in config.toml
    has the limits, and mcpctl-team(7) says more. It ends at SIGTERM once what is in flight is answered. With
    --print-config the entry has that address, which may be written as others reach it, and no token.

    --print-config prints the entry for a client's configuration; the clients are those of mcpctl install. Programs with
    a window do not have your shell's PATH: if theirs does not find the programs that start your servers, the entry has
    a PATH that does. --link prints a link in place of the entry: Cursor or VS Code, which opens it, asks whether to add
    the entry.

    Examples:
      mcpctl serve
      mcpctl serve --config servers.toml
      mcpctl serve --project acme
      mcpctl serve --toolset triage --split-execute
      mcpctl serve --direct 'time:*' --direct github:create_issue
      mcpctl serve --http 8080
      mcpctl serve --http 8080 --print-config cursor
      mcpctl serve --http https://mcp.example.com/mcp --print-config claude-code
      mcpctl serve --print-config claude-desktop
      mcpctl serve --print-config cursor --direct 'time:*' --link
    """
    if link and print_config is None:
        raise WrongUsage("--link needs --print-config", "name the client: --print-config cursor --link")
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
            "--verbose": verbose, "--split-execute": split_execute,
            "--allow-annotate": allow_annotate, "--direct": direct, "--locked": locked.absolute() if locked else None,
        }  # fmt: skip
        config = load(paths.config)
        servers = config.servers.values()
        if http is not None:
            _print_remote(print_config, http, config.http.path, link=link)
            return
        if link:
            output.write_text(client_config.link(print_config, client_config.entry(print_config, options, servers)))
            output.say(f"{client_kinds.CLIENTS[print_config].title} asks whether to add it when you open this")
        else:
            output.write_text(client_config.text(print_config, options, servers))
            output.say(client_config.goes_into(print_config))
        if not split_execute:
            output.say("one permission then covers all tools; --split-execute separates reads from writes")
        return
    if http is not None:
        from mcpctl.over_http import listening
        from mcpctl.over_http import process as over_http

        over_http.run(
            paths, listening.address(http), project=project, toolset=toolset, token_file=token_file,
            split=split_execute, annotate=allow_annotate, verbose=verbose, locked=locked, direct=direct or (),
        )  # fmt: skip
        return
    from mcpctl.proxy import process

    process.run(
        paths, project=project, toolset=toolset, token_file=token_file, split=split_execute, annotate=allow_annotate,
        verbose=verbose, locked=locked, direct=direct or (),
    )  # fmt: skip


def _print_remote(client: str, http: str, path: str, *, link: bool) -> None:
    """Print the entry of a client for what `--http` serves."""
    from mcpctl import output
    from mcpctl.clients import client_config
    from mcpctl.over_http import listening

    entry = client_config.remote_entry(client, listening.url_of(http, path))
    output.write_text(client_config.link(client, entry) if link else client_config.block(client, entry))
    output.say(client_config.goes_into(client))
    if "://" not in http and listening.address(http).is_any:
        output.say("other machines reach it by the name of this one: write that in place of 127.0.0.1")
    output.say(f"{client_config.where_its_token_is(client)}; one is made with: mcpctl tokens create --name NAME")
