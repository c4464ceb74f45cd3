"""`mcpctl annotate rm`"""

from typing import Annotated

import typer

from mcpctl.commands import complete
from mcpctl.commands import options as opt

Names = Annotated[
    list[str] | None,
    typer.Argument(metavar="NAME...", help="The names of notes.", show_default=False, autocompletion=complete.notes),
]
All = Annotated[bool, typer.Option("--all", help="Remove all notes of the tool.")]


def rm(
    key: opt.ToolKey,
    names: Names = None,
    everything: All = False,
    dry_run: opt.DryRun = False,
    json: opt.Json = False,
    toolset: opt.Toolset = None,
    project: opt.Project = None,
    config: opt.ConfigFile = None,
    data_dir: opt.DataDir = None,
) -> None:
    """Remove notes of a tool from a toolset. Prints the names of the removed notes.

    If the tool has no note of one of the names, none is removed. Without a NAME and without --all the command fails.
    Hints and a title are removed with: mcpctl annotate set KEY --inherit HINT

    \b
    Examples:
      mcpctl annotate rm linear:create_issue team-selection
      mcpctl annotate rm github:merge --all --toolset ./tools/triage.json --dry-run
    """
    from mcpctl.catalog import tool_notes
    from mcpctl.commands.annotate import columns
    from mcpctl.errors import WrongUsage

    if bool(names) is everything:
        hint = "name the notes to remove, or give --all alone to remove all of them"
        raise WrongUsage("names and --all contradict each other" if everything else "no note was named", hint)
    paths = opt.paths(config, data_dir)
    change, removed = tool_notes.remove(paths, toolset, key, names or None, project=project, dry_run=dry_run)
    columns.write_change(key, change, removed, dry_run, json)
