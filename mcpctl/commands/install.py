"""`mcpctl install`"""

from collections.abc import Iterable, Iterator, Sequence

from mcpctl import output
from mcpctl.base.models import Found, Row
from mcpctl.commands import complete
from mcpctl.commands import options as opt
from mcpctl.commands.serve import Direct, Split

_MOST_NAMED = 10
JSON = opt.flag("--json", "Print one JSON array with an object for each file.")


def install(
    clients: list[str] | None = opt.argument(
        "[CLIENT]...",
        "The clients, such as cursor; without any, those here are listed.",
        complete.clients,
        default=None,
    ),
    dry_run: bool = opt.DRY_RUN,
    diff: bool = opt.DIFF,
    yes: bool = opt.YES,
    project: str | None = opt.PROJECT_OR_HERE,
    toolset: str | None = opt.TOOLSET,
    split_execute: Split = False,
    direct: Direct = None,
    rename: list[str] | None = opt.RENAME,
    no_check: bool = opt.NO_CHECK,
    from_script: bool = opt.FROM_SCRIPT,
    json: bool = JSON,
    *,
    place: opt.Location,
) -> None:
    """Put mcpctl into MCP clients, before their servers.

    Without a CLIENT it lists those that are on this machine, each with its file, the number of its servers, whether
    mcpctl is in it, and the command that puts it there.

    Clients: {clients}. The servers in your own file of the client move into config.toml; one entry stays there, which
    starts mcpctl with the options --project, --toolset, --split-execute and --direct. Comments, order and all other
    settings of the file stay. A server that cannot be taken over stays in the file, and stderr names it; so do servers
    of a single project, and those that would not start, since their program is not found or an mcpctl that this client
    starts would lack a variable. Permission rules of the client go into [policy] if config.toml has one; otherwise only
    rules that deny a tool or a server are taken over, and a denied server is disabled for all clients.

    A terminal is shown what moves, what stays and what will not work, and is asked; elsewhere that comes last. --diff
    shows every line that changes, with secrets masked. A copy of the file is kept, and mcpctl uninstall undoes it.
    Running it again takes over servers that were added to the file since, and repairs the entry: its options stay
    unless they are given again, and it starts this mcpctl with this config.toml. --dry-run also prints the client's own
    command that adds mcpctl, if it has one.

    --project without a NAME writes the file that the client reads in the repository of the current folder, such as
    .cursor/mcp.json. Everybody who has the repository gets the entry, which starts the mcpctl on their PATH with their
    own config.toml. It has no path and no variable of this machine, and no server moves.

    The logins of the client stay with it. URLs without headers that are taken over are asked, all at once and for 3
    seconds at most, whether they need one here, and stderr has the command.

    Examples:
      mcpctl install
      mcpctl install cursor --dry-run
      mcpctl install claude-code codex
      mcpctl install vscode --project acme --split-execute --yes
      mcpctl install zed --rename github=github-zed
      mcpctl install claude-code cursor --project
      mcpctl install cursor --direct 'time:*' --direct github:create_issue
    """
    from mcpctl.clients import importing, installing
    from mcpctl.commands import confirmation, server_logins
    from mcpctl.commands.confirmation import Gate
    from mcpctl.config.config import load
    from mcpctl.toolsets import toolset_files

    if not clients:
        with_options = dry_run or diff or yes or split_execute or direct or rename or toolset or project == opt.HERE
        write_clients(json, with_options)
        return
    installing.check_clients(clients)
    shared = {"--split-execute": split_execute, "--direct": direct}
    paths = place.paths(creates=True)
    if project == opt.HERE:
        _refuse_own(place, rename, toolset)
        reference = toolset
        plan = installing.plan_in_repository(clients, {"--toolset": reference, **shared}, paths)
    else:
        reference = toolset_files.absolute_reference(toolset)
        own = {"--config": place.config, "--data-dir": place.data_dir, "--project": project, "--toolset": reference}
        load(paths.config, project)  # serve would not start with a project that nothing names
        plan = installing.plan(clients, {**own, **shared}, paths, importing.renames(rename or ()))
    lines = installing.preview(plan)
    if diff and not dry_run:
        confirmation.show(lines)
    is_asked = False
    if not dry_run and plan.changes_files:
        is_asked = confirmation.agree(installing.summary(plan), yes=yes)
        gate = Gate(paths, from_script)
        if reference:
            gate.equip(reference, "the toolset of a client")
        with confirmation.undisturbed():
            installing.write(plan, gate.config)
    else:
        Gate(paths, from_script, dry=True).config(*plan.texts)
    rows = installing.rows(plan)
    write_changes(rows, lines, dry_run=dry_run, json=json)
    if not json:
        _say(rows, dry_run)
        if not dry_run and not no_check:
            server_logins.say_needed(paths, [name for row in rows for name in row["servers"]])
    for line in (*installing.rule_remarks(plan), *(installing.broken(plan) if is_asked else installing.summary(plan))):
        output.say(line, always=True)


def _refuse_own(place: opt.Location, rename: list[str] | None, toolset: str | None) -> None:
    """Raise `WrongUsage` for what an entry that others get cannot have."""
    from mcpctl.base.errors import WrongUsage
    from mcpctl.toolsets import toolset_files

    opt.refuse_with("--config", place.config, "--project without a NAME")
    opt.refuse_with("--data-dir", place.data_dir, "--project without a NAME")
    opt.refuse_with("--rename", rename, "--project without a NAME")
    if toolset and toolset_files.is_path(toolset):
        message = f"'{toolset}' is a path of this machine, and others get the file of the repository"
        raise WrongUsage(message, "name a toolset that each of them has, or leave --toolset out", "not_shared")


def write_clients(json: bool, with_options: object = False, *, to_uninstall: bool = False) -> list[Row]:
    """List the clients on this machine, or only those in which mcpctl is `to_uninstall`; raises `WrongUsage` where
    options say that some were to be named."""
    from pathlib import Path

    from mcpctl.base.errors import WrongUsage, warn
    from mcpctl.clients import installing
    from mcpctl.commands.columns import CLIENTS_HERE

    rows = list(installing.here())
    names = list(dict.fromkeys(row["client"] for row in rows if row["installed"] or not to_uninstall))
    if with_options:
        hint = f"here are: {', '.join(names)}" if names else "list those that are here with: mcpctl install"
        raise WrongUsage("no client was named", hint, "no_client")
    problems = [row["problem"] for row in rows if row["problem"]]
    if to_uninstall:
        rows = [{**row, "command": f"mcpctl uninstall {row['client']}"} for row in rows if row["installed"]]
    options = output.ListOptions("json" if json else "auto")
    columns = CLIENTS_HERE._replace(empty="mcpctl is in no client here") if to_uninstall else CLIENTS_HERE
    if options.effective == "table":
        home = f"{Path.home()}/"
        columns = columns._replace(render={**columns.render, "path": lambda path: path.replace(home, "~/", 1)})
    output.write_list(Found.of(rows), columns, options)
    for problem in problems:
        warn(problem)
    if to_uninstall:
        if names:
            output.say(f"take it out with: mcpctl uninstall {' '.join(names)}")
        return rows
    for line in kept(rows):
        output.say(line)
    if new := list(dict.fromkeys(row["client"] for row in rows if row["command"] and not row["installed"])):
        output.say(f"put it in front of their servers with: mcpctl install {' '.join(new)}")
    elif rows:
        output.say("it is in all of them; take it out with: mcpctl uninstall CLIENT")
    return rows


def kept(rows: Iterable[Row]) -> Iterator[str]:
    """The servers that clients have kept for themselves, beside mcpctl."""
    from mcpctl.base.texts import beginning
    from mcpctl.clients.client_kinds import CLIENTS

    for row in rows:
        if row["installed"] and row["names"]:
            yield (
                f"{CLIENTS[row['client']].title} still has servers of its own: {beginning(row['names'], _MOST_NAMED)}; "
                f"see why each stays, or move it, with: {row['command'] or 'mcpctl install ' + row['client']}"
            )


def _say(rows: list[Row], dry_run: bool) -> None:
    from mcpctl.clients.client_kinds import CLIENTS

    for row in rows:
        title = CLIENTS[row["client"]].title
        if row["entry"] and row["action"] == "unchanged":
            output.say(f"{title}: mcpctl is installed already in {row['path']}", always=True)
        elif row["entry"] and dry_run and row["command"]:
            output.say(f"{title}: its own command for the entry alone is: {row['command']}", always=True)
        elif row["entry"] and not dry_run:
            output.say(f"{title}: {row['restart']}", always=True)
        if row["backup"]:
            output.say(f"{row['path']} as it was: {row['backup']}", always=True)


def write_changes(rows: list[Row], diff: Sequence[str], *, dry_run: bool, json: bool) -> None:
    from mcpctl.commands.columns import CLIENT_FILES
    from mcpctl.output.text import block_of

    if dry_run and not json:
        output.write_lines(map(block_of, diff))
    else:
        output.write_list(Found.of(rows), CLIENT_FILES, output.ListOptions("json" if json else "auto"))
