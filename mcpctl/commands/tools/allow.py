"""`mcpctl tools allow`"""

from mcpctl.commands import complete
from mcpctl.commands import options as opt


def allow(
    keys: list[str] = opt.argument("KEY...", "The tools: server:tool.", complete.barred_tools),
    *,
    listing: opt.Rows,
    place: opt.Location,
) -> None:
    """Take back a denial of tools in their servers' entries. Only a person at a terminal can.

    It takes NAME = false out of [servers.SERVER.tools] of config.toml and, where the entry has only, puts NAME into it;
    comments and order stay. A rule of [policy] that denies the tool stays too, and is named with its place.

    Examples:
      mcpctl tools allow github:delete_repository
      mcpctl tools allow notes:delete_note weather:set_alert --json
    """
    from mcpctl import output
    from mcpctl.commands import tool_permissions
    from mcpctl.commands.columns import PERMISSIONS
    from mcpctl.commands.confirmation import only_for_people

    options = listing.chosen()
    output.chosen_fields(PERMISSIONS, options)  # an unknown one is refused before anything is written
    only_for_people("allow tools")
    paths = place.paths()
    tool_permissions.write(paths, tool_permissions.allow(paths, keys), options)
