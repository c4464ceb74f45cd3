"""`mcpctl servers add`"""

from typing import Annotated

from mcpctl.commands import options as opt
from mcpctl.commands import server_options


def add(
    name: Annotated[str, opt.argument("NAME", "The server's name.")],
    command: server_options.Command = None,
    *,
    entry: server_options.EntryOptions,
    no_check: bool = opt.NO_CHECK,
    place: opt.ChangeOptions,
) -> None:
    """Add a server to config.toml. The comments and the order of a hand-written file stay.

    A server is a command that speaks MCP on stdin and stdout, or a URL. A command gets few variables of the environment
    of mcpctl, such as HOME and PATH; name others with --env, --env-file or --inherit-env. A URL without headers is
    asked, for 3 seconds at most, whether it needs a login.

    Examples:
      mcpctl servers add time -- uvx mcp-server-time
      mcpctl servers add linear --project acme --url https://mcp.linear.app/mcp
      mcpctl servers add github --env 'GITHUB_TOKEN=${GITHUB_TOKEN}' -- npx -y @modelcontextprotocol/server-github
      mcpctl servers add acme --url https://acme.example/mcp --header 'Authorization=Bearer ${ACME_TOKEN}'
    """
    from mcpctl import output, servers
    from mcpctl.base.errors import warn
    from mcpctl.commands import server_logins
    from mcpctl.config import editing

    server_options.check_no_file([name, *(command or [])])
    server_options.check_program(command or [], f"mcpctl servers add {name}")
    given = entry.given(command or [])
    table = editing.entry(given)
    paths = place.paths(creates=True)
    editing.add(paths.config, name, table, place.gate(paths).config)
    if remark := servers.remark(paths.config, name):
        warn(f"{name}: {remark}")
    output.write_done(place.json, lambda: servers.show(paths, name), name)
    output.say(f"added to {paths.config}")
    if no_check or not server_logins.say_needed(paths, [name]):
        output.say(f"list its tools with: mcpctl tools refresh {name}")
