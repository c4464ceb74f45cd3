"""`mcpctl prompts ls`"""

from mcpctl.commands import options as opt


def ls(
    server: opt.ServerFilter = None,
    fields: opt.Fields = None,
    json: opt.Json = False,
    jsonl: opt.Jsonl = False,
    format: opt.Format = "auto",
    limit: opt.Limit = None,
    offset: opt.Offset = 0,
    count: opt.Count = False,
    project: opt.Project = None,
    config: opt.ConfigFile = None,
    data_dir: opt.DataDir = None,
) -> None:
    """List the prompts of all enabled servers, as last listed, by the names that clients see: SERVER_PROMPT.

    No server is started; mcpctl tools refresh lists prompts anew, too. Arguments that are required are marked with *.
    What is held until you approve it is left out, as in clients; mcpctl tools diff or check shows it.

    \b
    Examples:
      mcpctl prompts ls
      mcpctl prompts ls --server github --json
      mcpctl prompts ls --fields name,arguments
    """
    from mcpctl import output
    from mcpctl.catalog import feature_rows, rows
    from mcpctl.commands.prompts.columns import COLUMNS

    options = output.listing(json, jsonl, format, fields, limit, offset, count)
    servers = opt.listed("server", server)
    with rows.catalog(opt.paths(config, data_dir), project=project, servers=servers) as catalog:
        output.write_list(feature_rows.prompts(catalog, servers), COLUMNS, options)
        opt.say_project(catalog.config.project)
