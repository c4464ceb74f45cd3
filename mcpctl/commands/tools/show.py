"""`mcpctl tools show`"""

from mcpctl.commands import options as opt


def show(
    key: opt.ToolKey,
    schema: bool = opt.flag("--schema", "Print the whole input schema alone."),
    *,
    shown: opt.OneThing,
    ad_hoc: opt.AdHocServer,
    place: opt.ToolsetLocation,
) -> None:
    """Show a tool: its text, hints, parameters and usage.

    A tool of an HTTP API also has the method and path of its request, and the alternatives of security schemes that it
    takes, each with whether it has a value. Its schema may be shortened; --schema prints the whole one, for which the
    document is read again.

    With --url or -- COMMAND, KEY is the name of a tool of a server that config.toml need not have: see mcpctl tools ls.

    Examples:
      mcpctl tools show github:create_issue
      mcpctl tools show github.create_issue --json | jq .definition.inputSchema
      mcpctl tools show search --url https://mcp.example.com/mcp
    """
    from mcpctl.catalog import rows
    from mcpctl.commands import http_apis, tool_lists
    from mcpctl.output import text

    paths, loaded = place.paths(), None
    if schema:
        http_apis.write_schema(paths, key, place.toolset, place.project)
        return
    if ad_hoc.is_given:
        loaded, name = tool_lists.of_ad_hoc(paths, ad_hoc, place.project)
        key = f"{name}:{key.removeprefix(f'{name}:')}"
    with rows.catalog(paths, place.toolset, place.project, quiet=True, loaded=loaded) as catalog:
        row = rows.show(catalog, key, tool_lists.recorded_usage(paths), paths)
    shown.write(row, text.tool)
