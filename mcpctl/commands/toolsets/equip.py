"""`mcpctl toolsets equip`"""

from mcpctl.commands import options as opt


def equip(
    name: opt.ToolsetName,
    data_dir: opt.DataDir = None,
) -> None:
    """Put a toolset in force: only its tools are found and called, by every client and command that names no other.

    A running serve follows at its next search or call. --toolset, MCPCTL_TOOLSET and a project's toolset go before it.

    \b
    Examples:
      mcpctl toolsets equip triage
      mcpctl toolsets equip ./tools/triage.json
    """
    from mcpctl import output
    from mcpctl.catalog import toolset_builder

    output.write_text(toolset_builder.equip(opt.paths(None, data_dir), name))
    output.say("in force now; end it with: mcpctl toolsets unequip")
