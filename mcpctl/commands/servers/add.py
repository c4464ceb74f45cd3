"""`mcpctl servers add`"""

from mcpctl.commands import options as opt
from mcpctl.commands.servers import entry_options as entry


def add(
    name: opt.NewServerName,
    command: entry.Command = None,
    url: entry.Url = None,
    transport: entry.Transport = None,
    header: entry.Header = None,
    oauth: entry.Login = None,
    env: entry.Env = None,
    env_file: entry.EnvFile = None,
    inherit_env: entry.InheritEnv = None,
    cwd: entry.Cwd = None,
    project: entry.Projects = None,
    deny: entry.Deny = None,
    only: entry.Only = None,
    start_timeout: entry.StartTimeout = None,
    call_timeout: entry.CallTimeout = None,
    no_check: opt.NoCheck = False,
    from_script: opt.FromScript = False,
    json: opt.Json = False,
    config: opt.ConfigFile = None,
    data_dir: opt.DataDir = None,
) -> None:
    """Add a server to config.toml. The comments and the order of a hand-written file stay.

    A server is a command that speaks MCP on stdin and stdout, or a URL. A command gets few variables of the environment
    of mcpctl, such as HOME and PATH: what else it needs, --env, --env-file or --inherit-env names. A URL without
    headers is asked, for 3 seconds at most, whether it needs a login.

    \b
    Examples:
      mcpctl servers add time -- uvx mcp-server-time
      mcpctl servers add linear --project acme --url https://mcp.linear.app/mcp
      mcpctl servers add github --env 'GITHUB_TOKEN=${GITHUB_TOKEN}' -- npx -y @modelcontextprotocol/server-github
      mcpctl servers add acme --url https://acme.example/mcp --header 'Authorization=Bearer ${ACME_TOKEN}'
    """
    from mcpctl import output, server_entries
    from mcpctl.commands.people import Gate
    from mcpctl.commands.servers import logins
    from mcpctl.errors import warn

    entry.check_no_file([name, *(command or [])])
    entry.check_program(command or [], f"mcpctl servers add {name}")
    given = entry.given(
        command or [], url, transport, header, oauth, env, env_file, inherit_env, cwd, project, deny, only,
        start_timeout, call_timeout,
    )  # fmt: skip
    table = server_entries.entry(given)
    paths = opt.paths(config, data_dir, creates=True)
    server_entries.add(paths.config, name, table, Gate(paths, from_script).config)
    if remark := server_entries.remark(paths.config, name):
        warn(f"{name}: {remark}")
    output.write_done(json, lambda: server_entries.show(paths, name), name)
    output.say(f"added to {paths.config}")
    if no_check or not logins.say_needed(paths, [name]):
        output.say(f"list its tools with: mcpctl tools refresh {name}")
