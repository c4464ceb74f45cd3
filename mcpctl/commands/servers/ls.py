"""`mcpctl servers ls`"""

from mcpctl.commands import options as opt


def ls(
    fields: opt.Fields = None,
    json: opt.Json = False,
    jsonl: opt.Jsonl = False,
    format: opt.Format = "auto",
    limit: opt.Limit = None,
    offset: opt.Offset = 0,
    count: opt.Count = False,
    project: opt.Project = None,
    config: opt.ConfigFile = None,
    data_dir: opt.DataDir = None,
) -> None:
    """List the configured servers.

    Secrets are never printed: ${VAR} stays as it is, and literal values show as ***. LOGIN is there if a
    server has one: needed, logged in or expired, as the servers have last said; nothing is asked.

    \b
    Examples:
      mcpctl servers ls
      mcpctl servers ls --json | jq -r '.[] | select(.enabled) | .name'
    """
    from mcpctl import output, server_entries
    from mcpctl.commands.servers.columns import COLUMNS, with_logins
    from mcpctl.models import Found
    from mcpctl.oauth.login_state import EXPIRED, NEEDED

    options = output.listing(json, jsonl, format, fields, limit, offset, count)
    rows = server_entries.ls(opt.paths(config, data_dir), project)
    columns = with_logins(COLUMNS) if options.effective == "table" and any(row["login"] for row in rows) else COLUMNS
    output.write_list(Found.of(rows, filtered=project is not None), columns, options)
    opt.say_project(project)
    for name in (row["name"] for row in rows if row["enabled"] and row["login"] in (NEEDED, EXPIRED)):
        output.say(f"log in with: mcpctl servers login {name}")
