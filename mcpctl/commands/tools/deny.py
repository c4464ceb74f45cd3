"""`mcpctl tools deny`"""

from mcpctl.commands import options as opt


def deny(keys: opt.TheseTools, listing: opt.Rows, place: opt.Place) -> None:
    """Deny tools: they are neither found nor called any more, whatever the policy says.

    It writes NAME = false into [servers.SERVER.tools] of config.toml, comments and order kept; a running mcpctl serve
    follows it at once. A tool that its server has not listed yet can be denied too.

    \b
    Examples:
      mcpctl tools deny github:delete_repository
      mcpctl tools deny notes:delete_note weather:set_alert --json
    """
    from mcpctl import output
    from mcpctl.commands.tools import permitting
    from mcpctl.commands.tools.columns import PERMITTED

    options = listing.chosen()
    output.chosen_fields(PERMITTED, options)  # an unknown one is refused before anything is written
    paths = place.paths()
    permitting.write(paths, permitting.deny(paths, keys), options)
