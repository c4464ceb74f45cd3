"""`mcpctl annotate set`"""

from mcpctl.commands import options as opt


def set(
    key: opt.ToolKey,
    read_only: bool | None = opt.flag("--read-only/--no-read-only", "It only reads, or not.", default=None),
    destructive: bool | None = opt.flag("--destructive/--no-destructive", "It may destroy, or not.", default=None),
    idempotent: bool | None = opt.flag("--idempotent/--no-idempotent", "It is safe to repeat, or not.", default=None),
    open_world: bool | None = opt.flag("--open-world/--no-open-world", "It reaches outside, or not.", default=None),
    title: str | None = opt.option("--title", "T", "The tool's title."),
    inherit: list[str] | None = opt.option(
        "--inherit", "HINT", "Take read-only, destructive, idempotent, open-world or title from the server again."
    ),
    dry_run: bool = opt.DRY_RUN,
    from_script: bool = opt.FROM_SCRIPT,
    json: bool = opt.JSON,
    *,
    place: opt.ToolsetLocation,
) -> None:
    """Override a tool's hints and title in a toolset. Prints the names of what changed.

    A toolset in a repository may only tighten the hints that decide, for example, which tool_execute_... may call a
    tool. A hint that it loosens is only shown; it applies only in a toolset of your own data directory.

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
