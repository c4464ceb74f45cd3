"""`mcpctl annotate set`"""

from typing import Annotated

from mcpctl.commands import options as opt

ReadOnly = Annotated[bool | None, opt.flag("--read-only/--no-read-only", "The tool only reads, or not.")]
Destructive = Annotated[bool | None, opt.flag("--destructive/--no-destructive", "The tool may destroy, or not.")]
Idempotent = Annotated[bool | None, opt.flag("--idempotent/--no-idempotent", "The tool is safe to repeat, or not.")]
OpenWorld = Annotated[
    bool | None, opt.flag("--open-world/--no-open-world", "The tool reaches outside systems, or not.")
]
Title = Annotated[str | None, opt.option("--title", "T", "The tool's title.")]
Inherit = Annotated[
    list[str] | None,
    opt.option(
        "--inherit", "HINT", "Take read-only, destructive, idempotent, open-world or title from the server again."
    ),
]


def set(
    key: opt.ToolKey,
    read_only: ReadOnly = None,
    destructive: Destructive = None,
    idempotent: Idempotent = None,
    open_world: OpenWorld = None,
    title: Title = None,
    inherit: Inherit = None,
    dry_run: opt.DryRun = False,
    from_script: opt.FromScript = False,
    json: opt.Json = False,
    *,
    place: opt.ToolsetLocation,
) -> None:
    """Override a tool's behaviour hints and title in a toolset. Prints the names of what changed.

    A toolset in a repository may only tighten the hints that decide, for example, which tool_execute_... may call a
    tool. A hint that it loosens is only shown; it counts only in a toolset of your own data directory.

    \b
    Examples:
      mcpctl annotate set linear:create_issue --no-destructive
      mcpctl annotate set github:merge --inherit read-only --title 'Merge, carefully' --dry-run
    """
    from mcpctl.catalog import tool_notes
    from mcpctl.commands import annotations
    from mcpctl.commands.confirmation import Gate

    values = {"read_only": read_only, "destructive": destructive, "idempotent": idempotent, "open_world": open_world}
    hints, inherited = annotations.hints(values, title, inherit or [])
    paths = place.paths()
    permit = Gate(paths, from_script).toolset
    choice = tool_notes.ToolsetChoice(paths, place.toolset, place.project)
    change = tool_notes.override(choice, key, hints, title, inherited, permit, dry_run=dry_run)
    annotations.write_change(
        key, change, [*hints, *(["title"] if title else []), *inherited] if change.diff else [], dry_run, json
    )
