"""`mcpctl annotate add`"""

from mcpctl.commands import options as opt


def add(
    key: opt.ToolKey,
    name: str | None = opt.argument("[NAME]", "The note's name.", default=None),
    text: str | None = opt.argument("[TEXT|-]", "The note's text; - reads it from stdin.", default=None),
    note: list[str] | None = opt.option("--note", "NAME=TEXT", "A note. May be repeated."),
    dry_run: bool = opt.DRY_RUN,
    json: bool = opt.JSON,
    *,
    place: opt.ToolsetLocation,
) -> None:
    """Add notes to a tool of a toolset. Models read them in its description, and searches read them too.

    A name has 2 to 50 of a-z, 0-9 and -, a text up to 500 characters. Nothing is replaced: if the tool already has a
    note of that name, the new one is skipped with a warning; change a note with annotate edit. Prints the names of the
    added notes.

    Examples:
      mcpctl annotate add linear:create_issue team-selection 'Always confirm the team first.'
      mcpctl annotate add github:merge --toolset ./tools/triage.json --note ci='Only when CI is green.' --dry-run
    """
    from mcpctl.catalog import tool_notes
    from mcpctl.commands import annotations

    notes = annotations.notes(name, text, note or [])
    choice = tool_notes.ToolsetChoice(place.paths(), place.toolset, place.project)
    change = tool_notes.add(choice, key, notes, dry_run=dry_run)
    annotations.write_change(key, change, change.names, dry_run, json)
