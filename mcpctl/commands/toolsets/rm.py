"""`mcpctl toolsets rm`"""

from typing import Annotated

import typer

from mcpctl.commands import options as opt

All = Annotated[bool, typer.Option("--all", help="Delete the toolset.")]


def rm(
    name: opt.ToolsetName,
    keys: opt.ToolKeys = None,
    everything: All = False,
    config: opt.ConfigFile = None,
    data_dir: opt.DataDir = None,
) -> None:
    """Take tools out of a toolset, or with --all delete it.

    Notes and overrides of a tool that is taken out stay in the file, and count again when it is added again. Only a
    toolset of the data directory can be deleted here, and not the equipped one. Without a KEY and without --all nothing
    is done: a variable that is empty must not delete a toolset.

    \b
    Examples:
      mcpctl toolsets rm triage github:add_labels
      mcpctl toolsets rm triage --all
    """
    from mcpctl import output
    from mcpctl.catalog import toolset_builder
    from mcpctl.errors import WrongUsage

    if bool(keys) is everything:
        hint = f"name tools to take out, or delete it whole: mcpctl toolsets rm {name} --all"
        what = "tools and --all contradict each other" if everything else "no tool was named"
        raise WrongUsage(what, hint, "no_tools")

    paths = opt.paths(config, data_dir)
    if keys:
        output.write_lines(map(output.text.line_of, toolset_builder.remove(paths, name, keys)))
    else:
        toolset_builder.delete(paths, name)
        output.write_text(name)
        output.say(f"deleted toolset {name}")
