"""`mcpctl uninstall`"""

from mcpctl.base.models import Row
from mcpctl.commands import options as opt
from mcpctl.commands.install import JSON, Clients, write_changes


def uninstall(
    clients: Clients, dry_run: bool = opt.DRY_RUN, yes: bool = opt.YES, json: bool = JSON, *, place: opt.Location
) -> None:
    """Take mcpctl out of MCP clients. They get their servers back.

    A file that nobody has changed since mcpctl install is restored byte for byte. Otherwise the changes stay, the entry
    for mcpctl goes, and the former servers come back unless a new one has the name. A file into which you put mcpctl
    yourself loses only that entry. The servers in config.toml stay.

    It shows the changes first, with secrets masked, and asks at a terminal. A copy of the file is kept.

    Examples:
      mcpctl uninstall cursor --dry-run
      mcpctl uninstall claude-code codex --yes
    """
    from mcpctl.base.errors import warn
    from mcpctl.clients import installing, uninstalling
    from mcpctl.commands import confirmation

    installing.check_clients(clients)
    paths = place.paths(creates=True)
    changes = uninstalling.plan(clients, paths)
    diff = uninstalling.preview(changes)
    remarks = uninstalling.remarks(changes)
    if not dry_run and any(change.kept or change.action != "unchanged" for change in changes):
        confirmation.agree(diff, remarks, yes=yes, json=json)
        uninstalling.write(changes, paths)
    else:
        for remark in remarks:
            warn(remark)
    rows = uninstalling.rows(changes)
    write_changes(rows, diff, dry_run=dry_run, json=json)
    if not json:
        _say(rows, clients, dry_run)


def _say(rows: list[Row], clients: list[str], dry_run: bool) -> None:
    from mcpctl import output
    from mcpctl.clients.client_kinds import CLIENTS

    for client in dict.fromkeys(clients):
        own = [row for row in rows if row["client"] == client]
        if all(row["action"] == "unchanged" for row in own):
            output.say(f"{CLIENTS[client].title}: mcpctl is not installed there", always=True)
        elif not dry_run:
            output.say(f"{CLIENTS[client].title}: {CLIENTS[client].restart}", always=True)
        for row in own:
            if row["backup"]:
                output.say(f"{row['path']} as it was: {row['backup']}", always=True)
    if any(row["servers"] for row in rows) and not dry_run:
        output.say("the servers stay in config.toml too; remove one with: mcpctl servers rm NAME", always=True)
