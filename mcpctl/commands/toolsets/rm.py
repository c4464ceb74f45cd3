"""`mcpctl toolsets rm`"""

from mcpctl.commands import options as opt


def rm(
    name: opt.ToolsetName,
    keys: opt.ToolKeys = None,
    everything: bool = opt.flag("--all", "Delete the toolset."),
    *,
    change: opt.ChangeOptions,
) -> None:
    """Remove tools from a toolset, or with --all all of it. Prints the keys of the removed tools.

    A KEY may have the wildcards of policy rules, such as git:list_*: it stands for the tools that are in the toolset.
    The notes and overrides of a removed tool stay in the file, and apply again if the tool is added again. Only a
    toolset of the data directory can be deleted, unless it is equipped. Without a KEY and without --all the command
    fails: an empty variable must not delete a toolset.

    Examples:
      mcpctl toolsets rm triage github:add_labels
      mcpctl toolsets rm triage 'github:list_*'
      mcpctl toolsets rm triage --all
    """
    from mcpctl import output
    from mcpctl.base.errors import WrongUsage
    from mcpctl.base.texts import counted
    from mcpctl.catalog import toolset_builder
    from mcpctl.toolsets.toolset_files import is_path

    if bool(keys) is everything:
        delete = f"delete the {'file' if is_path(name) else f'toolset with: mcpctl toolsets rm {name} --all'}"
        hint = f"name the tools to remove, or {delete}"
        problem = "tools and --all contradict each other" if everything else "no tool was named"
        raise WrongUsage(problem, hint, "no_tools")

    paths = change.paths()
    if keys:
        removed = toolset_builder.remove(paths, name, keys, change.gate(paths).toolset)
        output.write_done(change.json, lambda: toolset_builder.show(paths, name), *removed)
        output.say(f"removed {counted(len(removed), 'tool')} from {name}", always=toolset_builder.has_wildcard(keys))
    else:
        toolset_builder.delete(paths, name)
        output.write_done(change.json, lambda: {"name": name, "removed": True}, name)
        output.say(f"deleted toolset {name}")
