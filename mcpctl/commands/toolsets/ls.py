"""`mcpctl toolsets ls`"""

from mcpctl.commands import options as opt


def ls(listing: opt.Listing, data: opt.DataLocation) -> None:
    """List the toolsets. They are those of the data directory, and the equipped one even if it is in another place.

    If a file of hypertool-mcp has several toolsets, each is listed as FILE#NAME.

    Examples:
      mcpctl toolsets ls
      mcpctl toolsets ls --json | jq -r '.[] | select(.equipped) | .path'
    """
    from mcpctl import output
    from mcpctl.catalog import toolset_builder
    from mcpctl.commands.columns import TOOLSETS

    output.write_list(toolset_builder.ls(data.paths()), TOOLSETS, listing.chosen())
