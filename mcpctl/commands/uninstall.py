"""`mcpctl uninstall`"""

from mcpctl.base.models import Row
from mcpctl.commands import complete
from mcpctl.commands import options as opt
from mcpctl.commands.install import JSON, write_changes, write_clients


def uninstall(
    clients: list[str] | None = opt.argument(
        "[CLIENT]...",
        "The clients, such as cursor; without any, those that have it are listed.",
        complete.clients,
        default=None,
    ),
    dry_run: bool = opt.DRY_RUN,
    diff: bool = opt.DIFF,
    yes: bool = opt.YES,
    project: bool = opt.flag("--project", "Take it out of the client's file of this repository."),
    json: bool = JSON,
    *,
    place: opt.Location,
) -> None:
    """Take mcpctl out of MCP clients. They get their servers back.

    Without a CLIENT it lists those in which mcpctl is.

    A file that nobody has changed since mcpctl install is restored byte for byte. Otherwise the changes stay, the entry
    for mcpctl goes, and the former servers come back unless a new one has the name. A file into which you put mcpctl
    yourself loses only that entry. The servers in config.toml stay.

    --project takes out what mcpctl install --project has written into the repository of the current folder.

    A terminal is told what goes and what comes back, and is asked; --diff shows every line that changes, with secrets
    masked. A copy of the file is kept.

    Examples:
      mcpctl uninstall
      mcpctl uninstall cursor --dry-run
      mcpctl uninstall claude-code codex --yes
      mcpctl uninstall cursor --project
    """
    from mcpctl import output
    from mcpctl.clients import installing, uninstalling
    from mcpctl.commands import confirmation

    if not clients:
        write_clients(json, dry_run or diff or yes or project, to_uninstall=True)
        return
    installing.check_clients(clients)
    paths = place.paths(creates=True)
    changes = uninstalling.plan(clients, paths, in_repository=project)
    lines = uninstalling.preview(changes)
    if diff and not dry_run:
        confirmation.show(lines)
    is_asked = False
    if not dry_run and any(change.kept or change.action != "unchanged" for change in changes):
        is_asked = confirmation.agree(uninstalling.summary(changes), yes=yes)
        with confirmation.undisturbed():
            uninstalling.write(changes, paths)
    rows = uninstalling.rows(changes)
    write_changes(rows, lines, dry_run=dry_run, json=json)
    if not json:
        _say(rows, clients, dry_run)
    if not is_asked:
        for line in uninstalling.summary(changes):
            output.say(line, always=True)


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
