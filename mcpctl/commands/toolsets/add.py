"""`mcpctl toolsets add`"""

from mcpctl.commands import options as opt


def add(name: opt.ToolsetName, keys: opt.ToolKeys = None, *, change: opt.ChangeOptions) -> None:
    """Put tools into a toolset. Prints the keys of the tools that were not in it before.

    A KEY may have wildcards, as for toolsets build: it stands for the tools that are listed now.

    Examples:
      mcpctl toolsets add triage github:add_labels
      mcpctl toolsets add triage 'github:list_*'
      mcpctl tools ls --server github --toolset none --fields key | mcpctl toolsets add triage -
    """
    from mcpctl import output
    from mcpctl.base.texts import counted
    from mcpctl.catalog import toolset_builder

    paths = change.paths()
    keys_added = toolset_builder.add(paths, name, keys or [], change.gate(paths).toolset)
    output.write_done(change.json, lambda: toolset_builder.show(paths, name), *keys_added)
    output.say(f"added {counted(len(keys_added), 'tool')} to {name}", always=toolset_builder.has_wildcard(keys or []))
