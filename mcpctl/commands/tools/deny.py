"""`mcpctl tools deny`"""

from mcpctl.commands import complete
from mcpctl.commands import options as opt


def deny(
    keys: list[str] = opt.argument("KEY...", "The tools: server:tool.", complete.tools),
    *,
    listing: opt.Rows,
    place: opt.Location,
) -> None:
    """Deny tools: they are neither found nor called. The policy cannot change that.

    It writes NAME = false into [servers.SERVER.tools] of config.toml, comments and order kept; a running mcpctl serve
    follows it at once. A tool that its server has not listed yet can be denied too.

    Examples:
      mcpctl tools deny github:delete_repository
      mcpctl tools deny notes:delete_note weather:set_alert --json
    """
    from mcpctl import output
    from mcpctl.commands import tool_permissions
    from mcpctl.commands.columns import PERMISSIONS

    options = listing.chosen()
    output.chosen_fields(PERMISSIONS, options)  # an unknown one is refused before anything is written
    paths = place.paths()
    tool_permissions.write(paths, tool_permissions.deny(paths, keys), options)
