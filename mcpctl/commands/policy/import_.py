"""`mcpctl policy import`"""

from pathlib import Path

from mcpctl.commands import options as opt

CLIENTS = ("claude-code", "cursor", "codex", "gemini")


def import_(
    client: str = opt.argument("CLIENT", "claude-code, cursor, codex or gemini.", CLIENTS),
    source: Path | None = opt.option("--from", "FILE", "Only from FILE, such as a project's."),
    dry_run: bool = opt.DRY_RUN,
    yes: bool = opt.YES,
    from_script: bool = opt.FROM_SCRIPT,
    *,
    listing: opt.Rows,
    place: opt.Location,
) -> None:
    """Take over a client's permission rules. Those for the tools of MCP servers go into [policy] in config.toml.

    Once all calls go through mcpctl, the client's own rules for other servers mean nothing. It reads your own files of
    Claude Code (permissions), Cursor (mcpAllowlist), Codex (approval modes) or Gemini CLI (trust and policies). Those
    of the project in the current folder apply in that project only, and are left out unless --from names one.

    A rule is only carried over if it loosens nothing: stderr says which are left out, and why. One that allows tools is
    only taken over for a server that the client has, or had when mcpctl was installed in it. Without [policy], one is
    made that asks about every other tool, as the client does. At a terminal it shows the change and asks first;
    elsewhere it needs --yes. With --json and the like, --dry-run prints a row for each rule. Comments and order are
    kept, and running it twice changes nothing.

    Examples:
      mcpctl policy import claude-code --dry-run
      mcpctl policy import gemini --from .gemini/policies/team.toml --yes
    """
    opt.one_of("client", client, CLIENTS)
    from mcpctl import output
    from mcpctl.base.errors import WrongUsage, warn
    from mcpctl.base.models import Found
    from mcpctl.clients import policy_import
    from mcpctl.commands import confirmation
    from mcpctl.commands.columns import IMPORTED_RULES
    from mcpctl.commands.confirmation import Gate
    from mcpctl.output.text import block_of

    options = listing.chosen()
    output.chosen_fields(IMPORTED_RULES, options)  # an unknown one is refused before anything is written
    paths = place.paths(creates=True)
    batch = policy_import.read(client, source, paths)
    output.say(f"read {', '.join(map(str, batch.files))}")
    diff = policy_import.preview(paths.config, batch)
    for remark in policy_import.remarks(batch):
        warn(remark)
    if diff and not dry_run:
        if not yes:
            if not confirmation.is_terminal():
                raise WrongUsage("nobody can be asked here", "see the change with --dry-run, then write it with --yes")
            confirmation.show(diff)
            confirmation.ask("Write this to config.toml?")
        policy_import.write(paths.config, batch, Gate(paths, from_script).config)
        output.say(f"written to {paths.config}; see what it makes of your tools with: mcpctl policy check", always=True)
    if dry_run and options == output.ListOptions():
        output.write_lines(map(block_of, diff))
    else:
        output.write_list(Found.of(batch.rows), IMPORTED_RULES, options)
