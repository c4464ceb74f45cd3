"""`mcpctl calls ls`"""

from typing import Annotated

import typer

from mcpctl.commands import complete
from mcpctl.commands import options as opt
from mcpctl.commands.filter_options import Asked, filtered


@filtered
def ls(
    asked: Asked,
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

    Filters take several values, repeated or with commas between them, of which one has to fit; a name of a client may
    have a comma, so --client is only repeated. Different filters have to fit together.

    A day begins at midnight, here, and --until is exclusive: --since yesterday --until today is all of yesterday.
    --hint is what was known when the call was made; undeclared is a tool of which it was neither known that it only
    reads nor whether it destroys. --grep finds a text however JSON escapes it; what was redacted or cut is not found.

    Hints show as one column, RDIO for read-only, destructive, idempotent, open world: a capital says true, a small
    letter false, - not declared when the call was made; * marks what a toolset overrode.

    \b
    Examples:
      mcpctl calls ls --session last
      mcpctl calls ls --failed --server github,linear --since yesterday --until today
      mcpctl calls ls --status denied --fields tool,error
      mcpctl calls ls --hint destructive,undeclared --since 2026-11-01 --until 2026-11-08
      mcpctl calls ls --grep alice@example.com --fields started_at,client_name,tool
      mcpctl calls ls --status tool_error --since 1h30m --json | jq -r '.[].tool'
    """
    from mcpctl import output
    from mcpctl.commands import names
    from mcpctl.commands.calls import columns
    from mcpctl.models import CALL_FIELDS

    opt.one_of("kind", kind, ("call", "discovery"))
    listing = output.listing(json, jsonl, format, fields, limit, offset, count)
    if kind == "discovery":
        asked.refuse("searches", "server", "tool", "status", "failed", "hint")
    with opt.records(data_dir) as records:
        wanted = asked.resolved(records)
        names.refuse_strangers(wanted, records, opt.paths(None, data_dir))
        if kind == "call":
            output.write_list(records.calls(wanted, (*CALL_FIELDS, "key")), columns.CALLS, listing)
        else:
            output.write_list(records.discoveries(wanted), columns.DISCOVERIES, listing)
