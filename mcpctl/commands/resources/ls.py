"""`mcpctl resources ls`"""

from mcpctl.commands import options as opt


def ls(
    server: list[str] | None = opt.SERVERS,
    templates: bool = opt.flag("--templates", "List templates of URIs in place of resources."),
    *,
    listing: opt.Listing,
    place: opt.ProjectLocation,
) -> None:
    """List the resources of all enabled servers. They are as last listed, by their URIs.

    A URI is as its server has it, and mcpctl+SERVER:URI where several servers list the same. No server is started;
    mcpctl tools refresh lists resources again, too. --templates lists instead URIs with gaps, such as book://{id},
    which can be read once they are filled in. Held resources are left out, as in clients; mcpctl tools diff or check
    shows them.

    Examples:
      mcpctl resources ls
      mcpctl resources ls --server docs --fields uri,size
      mcpctl resources ls --templates --json
    """
    from mcpctl import output
    from mcpctl.catalog import known_features, rows
    from mcpctl.commands.columns import RESOURCES, of_servers

    options = listing.chosen()
    servers = opt.listed("server", server)
    with rows.catalog(place.paths(), project=place.project, servers=servers) as catalog:
        layout = of_servers(RESOURCES, catalog.config.servers)
        output.write_list(known_features.resources(catalog, servers, templates=templates), layout, options)
        opt.say_project(catalog.config.project)
