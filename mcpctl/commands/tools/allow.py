"""`mcpctl tools allow`"""

from mcpctl.commands import options as opt


def allow(keys: opt.BarredTools, listing: opt.Rows, place: opt.Place) -> None:
    """Take back a denial of tools in their servers' entries. Only a person at a terminal can.

    It takes NAME = false out of [servers.SERVER.tools] of config.toml and, where the entry has only, puts NAME into it;
    comments and order stay. A rule of [policy] that denies the tool stays too, and is named with its place.

    \b
    Examples:
      mcpctl tools allow github:delete_repository
      mcpctl tools allow notes:delete_note weather:set_alert --json
    """
    from mcpctl import output
    from mcpctl.commands.people import only_for_people
    from mcpctl.commands.tools import permitting
    from mcpctl.commands.tools.columns import PERMITTED

    options = listing.chosen()
    output.chosen_fields(PERMITTED, options)  # an unknown one is refused before anything is written
    only_for_people("allow tools")
    paths = place.paths()
    permitting.write(paths, permitting.allow(paths, keys), options)
