"""`mcpctl annotate set`"""

from typing import Annotated

import typer

from mcpctl.commands import options as opt

ReadOnly = Annotated[bool | None, typer.Option("--read-only/--no-read-only", help="It only reads, or not.")]
Destructive = Annotated[bool | None, typer.Option("--destructive/--no-destructive", help="It may destroy, or not.")]
Idempotent = Annotated[bool | None, typer.Option("--idempotent/--no-idempotent", help="It is safe to repeat, or not.")]
OpenWorld = Annotated[bool | None, typer.Option("--open-world/--no-open-world", help="It reaches outside, or not.")]
Title = Annotated[str | None, typer.Option(metavar="T", help="Its title.", show_default=False)]
Inherit = Annotated[
    list[str] | None,
    typer.Option(
        "--inherit", metavar="HINT", show_default=False,
        help="Leave read-only, destructive, idempotent, open-world or title to its server again.",
    ),
]  # fmt: skip


def set(
    key: opt.ToolKey,
    read_only: ReadOnly = None,
    destructive: Destructive = None,
    idempotent: Idempotent = None,
    open_world: OpenWorld = None,
    title: Title = None,
    inherit: Inherit = None,
    dry_run: opt.DryRun = False,
    toolset: opt.Toolset = None,
    project: opt.Project = None,
    config: opt.ConfigFile = None,
    data_dir: opt.DataDir = None,
) -> None:
    """Override a tool's behaviour hints and title in a toolset. Prints what changed.

    A toolset that a repository brings along may only tighten what decides, such as which tool_execute_... calls it;
    what it loosens is shown, and counts from your own data directory alone.

    \b
    Examples:
      mcpctl annotate set linear:create_issue --no-destructive
      mcpctl annotate set github:merge --inherit read-only --title 'Merge, carefully' --dry-run
    """
    from mcpctl.catalog import tool_notes
    from mcpctl.commands.annotate import columns

    given = {"read_only": read_only, "destructive": destructive, "idempotent": idempotent, "open_world": open_world}
    hints, inherited = columns.hints(given, title, inherit or [])
    paths = opt.paths(config, data_dir)
    done = tool_notes.override(paths, toolset, key, hints, title, inherited, project=project, dry_run=dry_run)
    columns.told(done, [*hints, *(["title"] if title else []), *inherited] if done.diff else [], dry_run)
