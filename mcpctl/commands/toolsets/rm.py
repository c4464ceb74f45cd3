"""`mcpctl toolsets rm`"""

from mcpctl.commands import options as opt


def rm(
    name: opt.ToolsetName,
    keys: opt.ToolKeys = None,
    config: opt.ConfigFile = None,
    data_dir: opt.DataDir = None,
) -> None:
    """Take tools out of a toolset; without a KEY, delete the toolset.

    Notes and overrides of a tool that is taken out stay in the file, and count again when it is added again. Only a
    toolset of the data directory can be deleted here, and not the equipped one.

    \b
    Examples:
      mcpctl toolsets rm triage github:add_labels
      mcpctl toolsets rm triage
    """
    from mcpctl import output
    from mcpctl.catalog import selections

    paths = opt.paths(config, data_dir)
    if keys:
        output.write_lines(map(output.text.line_of, selections.remove(paths, name, keys)))
    else:
        selections.delete(paths, name)
        output.write_text(name)
        output.say(f"deleted toolset {name}")
