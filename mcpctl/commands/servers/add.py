"""`mcpctl servers add`"""

from typing import Annotated

import typer

from mcpctl.commands import options as opt

Env = Annotated[
    list[str] | None,
    typer.Option(
        "--env",
        metavar="NAME=VALUE",
        help="A variable for it; '${VAR}' keeps a secret out of the file.",
        show_default=False,
    ),
]
Deny = Annotated[
    list[str] | None, typer.Option("--deny", metavar="TOOL", help="A tool never found nor called.", show_default=False)
]


def add(
    name: opt.ServerName,
    command: Annotated[list[str], typer.Argument(metavar="COMMAND [ARGS]...", help="What starts it, after --.")],
    env: Env = None,
    env_file: Annotated[str | None, typer.Option(metavar="FILE", help="NAME=value lines for its environment.")] = None,
    cwd: Annotated[str | None, typer.Option(metavar="DIR", help="Where it runs.")] = None,
    deny: Deny = None,
    start_timeout: Annotated[float | None, typer.Option(metavar="S", help="Seconds it may take to start.")] = None,
    call_timeout: Annotated[float | None, typer.Option(metavar="S", help="Seconds a call may take; 0: any.")] = None,
    config: opt.ConfigFile = None,
    data_dir: opt.DataDir = None,
) -> None:
    """Add a stdio server to config.toml. Comments and order of a hand-written file are kept.

    \b
    Examples:
      mcpctl servers add time -- uvx mcp-server-time
      mcpctl servers add github --env 'GITHUB_TOKEN=${GITHUB_TOKEN}' -- npx -y @modelcontextprotocol/server-github
    """
    from mcpctl import output, servers

    entry = servers.entry(command, env or [], env_file, cwd, deny or [], start_timeout, call_timeout)
    path = opt.paths(config, data_dir, creates=True).config
    servers.add(path, name, entry)
    output.write_text(name)
    output.say(f"added to {path}; see its tools with: mcpctl tools refresh {name}")
