"""`mcpctl policy explain`"""

from typing import Annotated

from mcpctl.commands import options as opt

Args = Annotated[str | None, opt.option("--args", "JSON", "The arguments of the call: an object.")]


def explain(
    key: opt.ToolKey,
    args: Args = None,
    fields: opt.Fields = None,
    json: opt.Json = False,
    *,
    place: opt.ToolsetPlace,
) -> None:
    """Explain what becomes of a call of a tool, and why: every rule that matches it, in the order in which they count.

    The decision is that of mcpctl serve, on the tool as its server last listed it. A tool that nobody has listed is
    explained as one that declares nothing. No rule looks at arguments; with --args, the JSON has the hash that a yes to
    this one call is bound to.

    \b
    Examples:
      mcpctl policy explain github:delete_repository
      mcpctl policy explain github:create_issue --project work --json | jq .decision
    """
    from mcpctl import output
    from mcpctl.catalog import explained, rows
    from mcpctl.commands.policy import columns

    paths, digest = place.paths(), columns.digest(args)
    with rows.catalog(paths, place.toolset, place.project, quiet=True) as catalog:
        row = explained.explain(catalog, key, explained.standing(paths), digest)
    output.write_row(row, json, lambda: columns.explanation(row, paths.config), fields)
