"""`mcpctl toolsets unequip`"""

from mcpctl.commands import options as opt


def unequip(change: opt.ChangeOptions) -> None:
    """End the equipped toolset. All tools can be found and called again.

    Example:
      mcpctl toolsets unequip
    """
    from mcpctl import output
    from mcpctl.catalog import toolset_builder

    paths = change.paths()
    toolset_builder.unequip(paths, change.gate(paths).equip)
    output.write_done(change.json, lambda: {"equipped": None})
    output.say("no toolset is equipped")
