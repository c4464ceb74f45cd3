"""`mcpctl toolsets show`"""

from mcpctl.commands import options as opt


def show(
    name: str | None = opt.argument("[NAME|PATH]", "The toolset; without it, the one in force.", default=None),
    *,
    shown: opt.OneThing,
    place: opt.ProjectLocation,
) -> None:
    """Show a toolset: its tools, notes and overrides.

    The status of a tool is ok, changed (its parameters, output or hints differ from when it was added, which is only
    information) or unknown (no such tool is listed).

    Examples:
      mcpctl toolsets show
      mcpctl toolsets show ./tools/triage.json --json | jq -r '.tools[] | select(.status != "ok") | .key'
    """
    from mcpctl.catalog import toolset_builder
    from mcpctl.output import text

    row = toolset_builder.show(place.paths(), name, place.project)
    shown.write(row, text.toolset)
