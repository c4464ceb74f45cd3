"""`mcpctl toolsets build`"""

from typing import Annotated

import typer

from mcpctl.commands import options as opt


def build(
    name: opt.ToolsetName,
    keys: opt.ToolKeys = None,
    description: Annotated[
        str | None, typer.Option(metavar="TEXT", help="The purpose of the toolset.", show_default=False)
    ] = None,
    json: opt.Json = False,
    config: opt.ConfigFile = None,
    data_dir: opt.DataDir = None,
) -> None:
    """Create a toolset of these tools.

    A toolset with a NAME is kept in the data directory. A PATH has a / or ends in .json, and may be in a repository.
    All tools can be named, even if a toolset is in force.

    \b
    Examples:
      mcpctl toolsets build triage linear:create_issue github:create_issue
      mcpctl tools search issue --toolset none --fields key | mcpctl toolsets build ./tools/triage.json -
    """
    from mcpctl import output
    from mcpctl.catalog import toolset_builder

    paths = opt.paths(config, data_dir)
    reference = toolset_builder.build(paths, name, keys or [], description)
    output.write_done(json, lambda: toolset_builder.show(paths, reference), reference)
    output.say(f"put it in force with: mcpctl toolsets equip {reference}")
