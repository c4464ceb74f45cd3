"""`mcpctl toolsets build`"""

from typing import Annotated

import typer

from mcpctl.commands import options as opt


def build(
    name: opt.ToolsetName,
    keys: opt.ToolKeys = None,
    description: Annotated[str | None, typer.Option(metavar="TEXT", help="What it is for.", show_default=False)] = None,
    config: opt.ConfigFile = None,
    data_dir: opt.DataDir = None,
) -> None:
    """Make a toolset of these tools.

    A NAME is kept in the data directory; what has a / or ends in .json is the path of a file, in a repository say. All
    tools can be named, whatever toolset is in force.

    \b
    Examples:
      mcpctl toolsets build triage linear:create_issue github:create_issue
      mcpctl tools search issue --toolset none --fields key | mcpctl toolsets build ./tools/triage.json -
    """
    from mcpctl import output
    from mcpctl.catalog import toolset_builder

    built = toolset_builder.build(opt.paths(config, data_dir), name, keys or [], description)
    output.write_text(built)
    output.say(f"put it in force with: mcpctl toolsets equip {built}")
