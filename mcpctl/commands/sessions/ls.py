"""`mcpctl sessions ls`"""

from typing import Annotated

import typer

from mcpctl.commands import complete
from mcpctl.commands import options as opt


def ls(
    status: Annotated[
        str | None,
        typer.Option(
            metavar="STATUS",
            help="active or closed.",
            show_default=False,
            autocompletion=complete.choices("active", "closed"),
        ),
    ] = None,
    client: Annotated[str | None, typer.Option(metavar="NAME", help="Only of this client.", show_default=False)] = None,
    project: opt.ProjectFilter = None,
    fields: opt.Fields = None,
    json: opt.Json = False,
    jsonl: opt.Jsonl = False,
    format: opt.Format = "auto",
    limit: opt.Limit = None,
    offset: opt.Offset = 0,
    count: opt.Count = False,
    data_dir: opt.DataDir = None,
) -> None:
    """List the sessions on record, last activity first.

    \b
    Examples:
      mcpctl sessions ls
      mcpctl sessions ls --status active --json
    """
    from mcpctl import output
    from mcpctl.commands import names
    from mcpctl.commands.sessions.columns import COLUMNS

    listing = output.listing(json, jsonl, format, fields, limit, offset, count)
    opt.one_of("status", status, ("active", "closed"))
    with opt.records(data_dir) as records:
        rows = records.sessions(status=status, client=client, project=project)
        names.refuse_strangers(rows, records, opt.paths(None, data_dir), {"client": client, "project": project})
        output.write_list(rows, COLUMNS, listing)
