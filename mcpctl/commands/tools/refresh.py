"""`mcpctl tools refresh`"""

from typing import Annotated

import typer

from mcpctl.commands import complete
from mcpctl.commands import options as opt

Servers = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[SERVER]...", help="Only these servers.", show_default=False, autocompletion=complete.servers
    ),
]


def refresh(
    servers: Servers = None,
    json: opt.Json = False,
    jsonl: opt.Jsonl = False,
    format: opt.Format = "auto",
    fields: opt.Fields = None,
    project: opt.Project = None,
    config: opt.ConfigFile = None,
    data_dir: opt.DataDir = None,
) -> None:
    """Start the servers and list their tools again, and their prompts and resources.

    If some servers fail, the rows of the others are printed, the exit status is 4, and stderr has the reasons.

    \b
    Examples:
      mcpctl tools refresh
      mcpctl tools refresh github linear --json
    """
    from mcpctl import output
    from mcpctl.commands.tools.columns import REFRESHED
    from mcpctl.proxy import one_shot

    options = output.listing(json, jsonl, format, fields)
    with output.progress("listing tools", "servers") as on_progress:
        rows, failure = one_shot.refresh(opt.paths(config, data_dir), servers or [], on_progress, project)
    output.write_list(rows, REFRESHED, options)
    if failure:
        raise failure
