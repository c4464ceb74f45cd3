"""`mcpctl toolsets equip`"""

from mcpctl.commands import options as opt


def equip(name: opt.ToolsetName, change: opt.ChangeOptions) -> None:
    """Put a toolset in force. Every client and command that names no other finds and calls only its tools.

    A running serve follows at its next search or call. --toolset, MCPCTL_TOOLSET and a project's toolset take
    precedence over the equipped one.

    Examples:
      mcpctl toolsets equip triage
      mcpctl toolsets equip ./tools/triage.json
    """
    from mcpctl import output
    from mcpctl.catalog import toolset_builder

    paths = change.paths()
    reference = toolset_builder.equip(paths, name, change.gate(paths).equip)
    output.write_done(change.json, lambda: toolset_builder.show(paths, reference), reference)
    output.say("in force now; end it with: mcpctl toolsets unequip")
