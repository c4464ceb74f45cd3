"""`mcpctl tools export`"""

from mcpctl.commands import options as opt


def export(
    which: opt.WhichTools,
    toolset: str = opt.option(
        "--toolset", "NAME|PATH", "Only the tools of this toolset.", default="none", show_default=False
    ),
    json: bool = opt.JSON,
    *,
    place: opt.ProjectLocation,
) -> None:
    """Print all tools as JSON, as their servers sent them. Each line is an object, {"server", "tool"}, of an enabled
    server.

    mcpctl annotate check --catalog reads this snapshot where servers cannot run, as in CI. No toolset is in force
    unless --toolset names one.

    Examples:
      mcpctl tools export > catalog.jsonl
      mcpctl tools export --server github | jq -r .tool.name
    """
    from mcpctl import output
    from mcpctl.catalog import rows

    filters = which.chosen()
    with rows.catalog(place.paths(), toolset, place.project, servers=filters.servers) as catalog:
        lines = (line.decode() for line in rows.exported(catalog, filters))
        output.write_lines(iter([f"[{','.join(lines)}]"]) if json else lines)
