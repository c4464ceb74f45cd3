"""`mcpctl servers import`"""

from typing import TYPE_CHECKING, Annotated

import typer

from mcpctl.commands import complete
from mcpctl.commands import options as opt

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from mcpctl.clients.importing import Import

From = Annotated[
    str | None,
    typer.Option(
        "--from",
        metavar="CLIENT|FILE",
        help="Only from this client, or from FILE.",
        show_default=False,
        autocompletion=complete.clients,
    ),
]
Prefix = Annotated[str, typer.Option(metavar="P", help="Begin every name with P.", show_default=False)]
Replace = Annotated[bool, typer.Option("--replace", help="Overwrite servers of the same name.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Print the changes to config.toml as a diff; write nothing.")]


def import_(
    source: From = None,
    prefix: Prefix = "",
    replace: Replace = False,
    dry_run: DryRun = False,
    fields: opt.Fields = None,
    json: opt.Json = False,
    jsonl: opt.Jsonl = False,
    format: opt.Format = "auto",
    config: opt.ConfigFile = None,
    data_dir: opt.DataDir = None,
) -> None:
    """Take over the servers that other MCP clients have.

    Clients: claude-desktop, claude-code, cursor, vscode, windsurf, codex, gemini-cli, zed, cline, opencode. Without
    --from, your own files of every one; those of the project in the current folder only when the client or the file is
    named. A FILE is JSON (comments and trailing commas allowed) or Codex's TOML.

    Nothing is overwritten without --replace, and what mcpctl cannot do as the client did is said. If something could
    not be imported, the rest is, and the exit status is 5; nothing is printed then but what failed. With --json and
    the like, --dry-run prints what would be done instead of a diff.

    \b
    Examples:
      mcpctl servers import
      mcpctl servers import --from cursor --dry-run
      mcpctl servers import --from ./.vscode/mcp.json --prefix work-
    """
    from mcpctl import output
    from mcpctl.clients import importing
    from mcpctl.commands.servers.columns import IMPORTED
    from mcpctl.models import Found
    from mcpctl.output.text import block_of

    asked = output.listing(json, jsonl, format, fields)
    wanted = importing.found(source, prefix, replace)
    _say_read(wanted, importing.looked_at(source))
    path = opt.paths(config, data_dir, creates=True).config
    changes = importing.run(path, wanted, dry_run=dry_run)
    if dry_run and asked == output.ListOptions():
        output.write_lines(map(block_of, changes))
    else:
        output.write_list(Found.of(wanted.rows), IMPORTED, asked)
    if not dry_run and any(row["action"] in ("added", "replaced") for row in wanted.rows):
        opt.say_changed(f"written to {path}")


def _say_read(wanted: "Import", looked_at: "Sequence[Path]") -> None:
    """Say what was read, or, in a pipe too, that there was nothing and where it might have been."""
    from mcpctl import errors, output

    if wanted.files:
        output.say(f"read {', '.join(str(file.path) for file in wanted.files)}")
    elif not wanted.broken:
        errors.warn(f"found no servers of other clients; looked at {', '.join(map(str, looked_at))}")
