"""`mcpctl calls ls`"""

from mcpctl.commands import options as opt
from mcpctl.commands.filter_options import RecordFilters


def ls(
    filters: RecordFilters,
    kind: str = opt.option("--kind", "KIND", "call or discovery.", ("call", "discovery"), default="call"),
    *,
    listing: opt.Listing,
    data: opt.DataLocation,
) -> None:
    """List the calls on record, newest first. With --kind discovery, they are the searches.

    A filter takes several values, repeated or separated by commas; a call matches if it fits one of them, and all
    filters together. Names of clients may contain commas: repeat --client.

    A day begins at midnight, here, and --until is exclusive: --since yesterday --until today is all of yesterday.
    --hint is about the hints that were known when the call was made; undeclared: the tool declared neither readOnlyHint
    nor destructiveHint. --grep ignores case, and how JSON escapes a text; redacted or cut parts are not
    found.

    Hints show as one column, RDIO for read-only, destructive, idempotent, open world: a capital says true, a small
    letter false, - not declared when the call was made; * marks overrides of a toolset.

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
    with data.records() as records:
        criteria = filters.resolved(records, data.paths())
        if kind == "call":
            output.write_list(records.calls(criteria, (*CALL_FIELDS, "key")), columns.CALLS, options)
        else:
            output.write_list(records.discoveries(criteria), columns.SEARCHES, options)
