"""`mcpctl servers search`"""

from mcpctl.commands import options as opt


def search(
    words: list[str] = opt.argument("WORDS...", "Words in the names of servers."),
    *,
    listing: opt.Listing,
    place: opt.Location,
) -> None:
    """Look for servers in the registry.

    The registry is the official one, unless url in [registry] of config.toml or MCPCTL_REGISTRY names another. It looks
    for the longest word in names; the other words may also stand in titles and descriptions. Rows come in its order:
    the newest version of each server, deprecated ones with that status. KINDS are the ways to use one: packages of npm
    and PyPI, which servers add has run by npx and uvx, packages of other kinds, which it only names, and remote for an
    address.

    Examples:
      mcpctl servers search github
      mcpctl servers search weather forecast --json --limit 5
    """
    from mcpctl import output
    from mcpctl.base.errors import warn
    from mcpctl.base.models import Found
    from mcpctl.commands.columns import PUBLISHED_SERVERS
    from mcpctl.config import config
    from mcpctl.registry.api import Registry

    options = listing.chosen()
    output.chosen_fields(PUBLISHED_SERVERS, options)  # a mistyped one is told before the registry is asked
    most = options.offset + options.limit if options.limit and not options.count else None
    registry = Registry(config.load(place.paths().config))
    search = registry.search([word for text in words for word in text.split()] or [""], most)
    output.write_list(Found.of([each.row() for each in search.found], filtered=True), PUBLISHED_SERVERS, options)
    if search.unread:
        warn(f"{search.unread} servers of {registry.host} are left out: they are not as the registry's API says")
    if search.is_cut and most is None:
        warn(f"{registry.host} has more than is read at once; give more words")
    if search.found:
        output.say("add one with: mcpctl servers add NAME")
