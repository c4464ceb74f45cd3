"""`mcpctl calls ls`"""

from typing import Annotated

import typer

from mcpctl.commands import complete
from mcpctl.commands import options as opt
from mcpctl.models import CALL_STATUSES


def ls(
    session: opt.SessionFilter = None,
    server: opt.ServerFilter = None,
    tool: Annotated[
        str | None,
        typer.Option(
            metavar="TOOL", help="Only of this tool, by name or key.", show_default=False, autocompletion=complete.tools
        ),
    ] = None,
    status: Annotated[
        str | None,
        typer.Option(
            metavar="STATUS",
            help="ok, tool_error, denied, failed, ….",
            show_default=False,
            autocompletion=complete.choices(*CALL_STATUSES),
        ),
    ] = None,
    project: opt.ProjectFilter = None,
    since: opt.Since = None,
    kind: Annotated[
        str,
        typer.Option(metavar="KIND", help="call or discovery.", autocompletion=complete.choices("call", "discovery")),
    ] = "call",
    fields: opt.Fields = None,
    json: opt.Json = False,
    jsonl: opt.Jsonl = False,
    format: opt.Format = "auto",
    limit: opt.Limit = None,
    offset: opt.Offset = 0,
    count: opt.Count = False,
    data_dir: opt.DataDir = None,
) -> None:
    """List the calls on record, newest first, or with --kind discovery the searches.

    Hints show as one column, RDIO for read-only, destructive, idempotent, open world: a capital says true, a small
    letter false, - not declared when the call was made; * marks what a toolset overrode.

    \b
    Examples:
      mcpctl calls ls --session last
      mcpctl calls ls --status tool_error --since 1h --json | jq -r '.[].tool'
    """
    from mcpctl import output
    from mcpctl.commands import names
    from mcpctl.commands.calls import columns

    listing = output.listing(json, jsonl, format, fields, limit, offset, count)
    selection = columns.Selection(kind, session, server, tool, status, project, opt.since(since))
    with opt.records(data_dir) as records:
        rows = selection.rows(records)
        named = {"server": server, "tool": tool, "project": project}
        names.refuse_strangers(rows, records, opt.paths(None, data_dir), named)
        output.write_list(rows, selection.columns, listing)
