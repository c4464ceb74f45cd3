"""`mcpctl toolsets unequip`"""

from mcpctl.commands import options as opt


def unequip(json: opt.Json = False, data_dir: opt.DataDir = None) -> None:
    """End the equipped toolset: all tools can be found and called again.

    \b
    Example:
      mcpctl toolsets unequip
    """
    from mcpctl import output
    from mcpctl.catalog import toolset_builder

    toolset_builder.unequip(opt.paths(None, data_dir))
    output.write_done(json, lambda: {"equipped": None})
    output.say("no toolset is equipped")
