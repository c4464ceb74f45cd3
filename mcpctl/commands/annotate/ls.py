"""`mcpctl annotate ls`"""

from mcpctl.commands import options as opt


def ls(
    key: str | None = opt.argument("[KEY]", "Only those of this tool.", default=None),
    *,
    listing: opt.Listing,
    place: opt.ToolsetLocation,
) -> None:
    """List the notes and overrides of a toolset. They are those in effect, of all its tools or of one.

    Examples:
      mcpctl annotate ls
      mcpctl annotate ls linear:create_issue --toolset triage --json
    """
    from mcpctl import output
    from mcpctl.catalog import tool_notes
    from mcpctl.commands.columns import ANNOTATIONS

    options = listing.chosen()
    choice = tool_notes.ToolsetChoice(place.paths(), place.toolset, place.project)
    output.write_list(tool_notes.listed(choice, key), ANNOTATIONS, options)
