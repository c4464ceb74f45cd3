"""`mcpctl toolsets unequip`"""

from mcpctl.commands import options as opt


def unequip(from_script: opt.FromScript = False, json: opt.Json = False, *, place: opt.Place) -> None:
    """End the equipped toolset: all tools can be found and called again.

    \b
    Example:
      mcpctl toolsets unequip
    """
    from mcpctl import output
    from mcpctl.catalog import toolset_builder
    from mcpctl.commands.people import Gate

    paths = place.paths()
    toolset_builder.unequip(paths, Gate(paths, from_script).equip)
    output.write_done(json, lambda: {"equipped": None})
    output.say("no toolset is equipped")
