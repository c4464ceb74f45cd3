"""`mcpctl calls ls`"""

from typing import Annotated

import typer

from mcpctl.commands import complete
from mcpctl.commands import options as opt
from mcpctl.commands.filter_options import RecordFilters


def ls(
    filters: RecordFilters,
    kind: Annotated[
        str,
        typer.Option(metavar="KIND", help="call or discovery.", autocompletion=complete.choices("call", "discovery")),
    ] = "call",
    *,
    listing: opt.Listing,
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
    from mcpctl.base.fields import CALL_FIELDS
    from mcpctl.commands import columns

    opt.one_of("kind", kind, ("call", "discovery"))
    options = listing.chosen()
    if kind == "discovery":
        filters.refuse("searches", "server", "tool", "status", "failed", "hint")
    with opt.records(data_dir) as records:
        wanted = filters.resolved(records, opt.paths(None, data_dir))
        if kind == "call":
            output.write_list(records.calls(wanted, (*CALL_FIELDS, "key")), columns.CALLS, options)
        else:
            output.write_list(records.discoveries(wanted), columns.SEARCHES, options)
