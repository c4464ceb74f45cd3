"""`mcpctl annotate rm`"""

from mcpctl.commands import complete
from mcpctl.commands import options as opt


def rm(
    key: opt.ToolKey,
    names: list[str] | None = opt.argument("NAME...", "The names of notes.", complete.notes, default=None),
    everything: bool = opt.flag("--all", "Remove all notes of the tool."),
    dry_run: bool = opt.DRY_RUN,
    json: bool = opt.JSON,
    *,
    place: opt.ToolsetLocation,
) -> None:
    """Remove notes of a tool from a toolset. Prints the names of the removed notes.

    If the tool has no note of one of the names, none is removed. Without a NAME and without --all the command fails.
    Hints and a title are removed with: mcpctl annotate set KEY --inherit HINT

    Examples:
      mcpctl annotate rm linear:create_issue team-selection
      mcpctl annotate rm github:merge --all --toolset ./tools/triage.json --dry-run
    """
    from mcpctl.base.errors import WrongUsage
    from mcpctl.catalog import tool_notes
    from mcpctl.commands import annotations

    if bool(names) is everything:
        hint = "name the notes to remove, or give --all alone to remove all of them"
        raise WrongUsage("names and --all contradict each other" if everything else "no note was named", hint)
    choice = tool_notes.ToolsetChoice(place.paths(), place.toolset, place.project)
    change = tool_notes.remove(choice, key, names or None, dry_run=dry_run)
    annotations.write_change(key, change, change.names, dry_run, json)
