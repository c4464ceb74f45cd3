"""`mcpctl prompts ls`"""

from mcpctl.commands import options as opt


def ls(server: list[str] | None = opt.SERVERS, *, listing: opt.Listing, place: opt.ProjectLocation) -> None:
    """List the prompts of all enabled servers. They are as last listed, by the names that clients see: SERVER_PROMPT.

    No server is started; mcpctl tools refresh lists prompts again, too. Required arguments are marked with *. Held
    prompts are left out, as in clients; mcpctl tools diff or check shows them.

    Examples:
      mcpctl prompts ls
      mcpctl prompts ls --server github --json
      mcpctl prompts ls --fields name,arguments
    """
    from mcpctl import output
    from mcpctl.catalog import known_features, rows
    from mcpctl.commands.columns import PROMPTS, of_servers

    options = listing.chosen()
    servers = opt.listed("server", server)
    with rows.catalog(place.paths(), project=place.project, servers=servers) as catalog:
        layout = of_servers(PROMPTS, catalog.config.servers)
        output.write_list(known_features.prompts(catalog, servers), layout, options)
        opt.say_project(catalog.config.project)
