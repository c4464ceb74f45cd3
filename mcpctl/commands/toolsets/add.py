"""`mcpctl toolsets add`"""

from mcpctl.commands import options as opt


def add(
    name: opt.ToolsetName,
    keys: opt.ToolKeys = None,
    config: opt.ConfigFile = None,
    data_dir: opt.DataDir = None,
) -> None:
    """Put tools into a toolset. Prints the keys of those that were not in it yet.

    \b
    Examples:
      mcpctl toolsets add triage github:add_labels
      mcpctl tools ls --server github --toolset none --fields key | mcpctl toolsets add triage -
    """
    from mcpctl import output
    from mcpctl.catalog import toolset_builder

    added = toolset_builder.add(opt.paths(config, data_dir), name, keys or [])
    output.write_lines(map(output.text.line_of, added))
    output.say(f"{len(added)} tools were added to {name}")
