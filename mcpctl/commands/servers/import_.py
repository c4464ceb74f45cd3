"""`mcpctl servers import`"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mcpctl import output
from mcpctl.commands import complete
from mcpctl.commands import options as opt

if TYPE_CHECKING:
    from mcpctl.clients.importing import Import

WRITTEN = ("added", "replaced")  # the actions on entries that go into the file


def import_(
    source: str | None = opt.option("--from", "CLIENT|FILE", "Only from this client, or from FILE.", complete.clients),
    prefix: str = opt.option("--prefix", "P", "Begin every name with P.", default=""),
    replace: bool = opt.flag("--replace", "Overwrite servers of the same name."),
    rename: list[str] | None = opt.RENAME,
    dry_run: bool = opt.DRY_RUN,
    no_check: bool = opt.NO_CHECK,
    from_script: bool = opt.FROM_SCRIPT,
    *,
    listing: opt.Rows,
    place: opt.Location,
) -> None:
    """Take over the servers that other MCP clients have.

    Clients: {clients}. Without --from, your own files of all of them are read; files of the project in the current
    folder are read only if you name the client or the file. A FILE is JSON (comments and trailing commas allowed) or
    Codex's TOML.

    Nothing is overwritten without --replace, two servers of one name both come with --rename, and stderr names settings
    that mcpctl cannot follow; its last lines name servers that come disabled, or lack a variable or their program. If
    some servers cannot be imported, the others are, and the exit status is 5; then only the failures are printed. With
    --json and the like, --dry-run prints a row for each server instead of a diff. Imported URLs without headers are
    asked, all at once and for 3 seconds at most, whether they need a login, and stderr has the command; --dry-run asks
    nobody.

    Examples:
      mcpctl servers import
      mcpctl servers import --from cursor --dry-run
      mcpctl servers import --from ./.vscode/mcp.json --prefix work-
    """
    from mcpctl.base.models import Found
    from mcpctl.clients import importing
    from mcpctl.commands import server_logins
    from mcpctl.commands.columns import IMPORTED_SERVERS
    from mcpctl.commands.confirmation import Gate
    from mcpctl.output.text import block_of

    options = listing.chosen()
    batch = importing.read(source, prefix, replace, importing.renames(rename or ()))
    _say_read(batch, importing.places(source))
    paths = place.paths(creates=True)
    permit = Gate(paths, from_script, dry=dry_run).config
    try:
        diff = importing.run(paths.config, batch, permit, dry_run=dry_run)
    finally:
        if not dry_run and not no_check:  # servers that went into the file, also where others could not
            server_logins.say_needed(paths, [row["name"] for row in batch.rows if row["action"] in WRITTEN])
        if not dry_run and any(row["action"] == "failed" for row in batch.rows):
            for line in batch.consequences:  # only the error follows
                output.say(line, always=True)
    if dry_run and options == output.ListOptions():
        output.write_lines(map(block_of, diff))
    else:
        output.write_list(Found.of(batch.rows), IMPORTED_SERVERS, options)
    if not dry_run and any(row["action"] in WRITTEN for row in batch.rows):
        output.say(f"written to {paths.config}")
    for line in batch.consequences:
        output.say(line, always=True)


def _say_read(batch: "Import", places: "Sequence[Path]") -> None:
    from mcpctl.base import errors

    if batch.files:
        output.say(f"read {', '.join(str(file.path) for file in batch.files)}")
    elif not batch.broken:
        errors.warn(f"found no servers of other clients; looked at {', '.join(map(str, places))}")
