"""`mcpctl servers ls`"""

from mcpctl.commands import options as opt


def ls(listing: opt.Listing, place: opt.ProjectLocation) -> None:
    """List the configured servers.

    Secrets are never printed: ${VAR} stays as it is, and literal values show as ***. LOGIN is there if a
    server has one: needed, logged in or expired, as the servers have last said; nothing is asked.

    Examples:
      mcpctl servers ls
      mcpctl servers ls --json | jq -r '.[] | select(.enabled) | .name'
    """
    from mcpctl import output, servers
    from mcpctl.base.models import Found
    from mcpctl.commands.columns import SERVERS, SERVERS_WITH_LOGINS
    from mcpctl.oauth.token_store import EXPIRED, NEEDED

    options = listing.chosen()
    rows = servers.ls(place.paths(), place.project)
    with_logins = options.effective == "table" and any(row["login"] for row in rows)
    columns = SERVERS_WITH_LOGINS if with_logins else SERVERS
    output.write_list(Found.of(rows, filtered=place.project is not None), columns, options)
    opt.say_project(place.project)
    for name in (row["name"] for row in rows if row["enabled"] and row["login"] in (NEEDED, EXPIRED)):
        output.say(f"log in with: mcpctl servers login {name}")
