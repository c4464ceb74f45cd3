"""`mcpctl servers add`"""

from typing import Annotated

import typer

from mcpctl.commands import complete
from mcpctl.commands import options as opt

Env = Annotated[
    list[str] | None,
    typer.Option(
        "--env",
        metavar="NAME=VALUE",
        help="A variable for the server; '${VAR}' keeps a secret out of the file.",
        show_default=False,
    ),
]
Deny = Annotated[
    list[str] | None,
    typer.Option("--deny", metavar="TOOL", help="A tool that can be neither found nor called.", show_default=False),
]
Projects = Annotated[
    list[str] | None,
    typer.Option(
        "--project",
        metavar="NAME",
        help="A project that sees the server; without one, every project sees it.",
        show_default=False,
        autocompletion=complete.projects,
    ),
]
Header = Annotated[
    list[str] | None,
    typer.Option(
        "--header",
        metavar="NAME=VALUE",
        help="A header of every request; 'Bearer ${VAR}' keeps a secret out of the file.",
        show_default=False,
    ),
]
InheritEnv = Annotated[
    list[str] | None,
    typer.Option(
        "--inherit-env",
        metavar="all|minimal|NAME",
        help="Of mcpctl's environment it gets all, the usual few (minimal), or those and NAME. [default: minimal]",
        show_default=False,
        autocompletion=complete.choices("all", "minimal"),
    ),
]
Command = Annotated[
    list[str] | None,
    typer.Argument(metavar="[-- COMMAND [ARGS]...]", help="The command that starts the server.", show_default=False),
]
Transport = Annotated[
    str | None,
    typer.Option(
        metavar="http|sse", help="The transport of URL: Streamable HTTP, or the older SSE.",
        autocompletion=complete.choices("http", "sse"),
    ),
]  # fmt: skip


def add(
    name: opt.NewServerName,
    command: Command = None,
    url: Annotated[str | None, typer.Option(metavar="URL", help="The address of a remote server.")] = None,
    transport: Transport = None,
    header: Header = None,
    env: Env = None,
    env_file: Annotated[
        str | None, typer.Option(metavar="FILE", help="A file of NAME=value lines for its environment.")
    ] = None,
    inherit_env: InheritEnv = None,
    cwd: Annotated[str | None, typer.Option(metavar="DIR", help="The folder in which the command runs.")] = None,
    project: Projects = None,
    deny: Deny = None,
    start_timeout: Annotated[float | None, typer.Option(metavar="S", help="Seconds that the start may take.")] = None,
    call_timeout: Annotated[
        float | None, typer.Option(metavar="S", help="Seconds that a call may take; 0: no limit.")
    ] = None,
    json: opt.Json = False,
    config: opt.ConfigFile = None,
    data_dir: opt.DataDir = None,
) -> None:
    """Add a server to config.toml. The comments and the order of a hand-written file stay.

    A server is a command that speaks MCP on stdin and stdout, or a URL. A command gets few variables of the environment
    of mcpctl, such as HOME and PATH: what else it needs, --env, --env-file or --inherit-env names.

    \b
    Examples:
      mcpctl servers add time -- uvx mcp-server-time
      mcpctl servers add linear --project acme --url https://mcp.linear.app/mcp
      mcpctl servers add github --env 'GITHUB_TOKEN=${GITHUB_TOKEN}' -- npx -y @modelcontextprotocol/server-github
      mcpctl servers add acme --url https://acme.example/mcp --header 'Authorization=Bearer ${ACME_TOKEN}'
    """
    from mcpctl import output, server_entries
    from mcpctl.errors import warn

    program, *args = command or [""]
    entry = server_entries.entry({
        "command": program, "args": args, "url": url, "transport": transport,
        "headers": server_entries.assignments("header", header or []),
        "env": server_entries.assignments("env", env or []),
        "env_file": env_file, "inherit_env": server_entries.inheritance(inherit_env or [], is_remote=url is not None),
        "cwd": cwd, "start_timeout_s": start_timeout, "call_timeout_s": call_timeout,
        "projects": list(dict.fromkeys(project or [])), "tools": dict.fromkeys(deny or [], False),
    })  # fmt: skip
    paths = opt.paths(config, data_dir, creates=True)
    server_entries.add(paths.config, name, entry)
    for remark in server_entries.remarks(entry):
        warn(f"{name}: {remark}")
    output.write_done(json, lambda: server_entries.show(paths, name), name)
    output.say(f"added to {paths.config}")
    output.say(f"list its tools with: mcpctl tools refresh {name}")
