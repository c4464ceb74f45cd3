"""`mcpctl calls ls`"""

from mcpctl.base.fields import CALL_SORTS
from mcpctl.commands import options as opt
from mcpctl.commands.filter_options import OF_CALLS_ALONE, RecordFilters, RecordLocation

_KINDS = ("call", "discovery", "read")
_OF_SEARCHES = ("server", "status", "failed", "outcome")


def ls(
    filters: RecordFilters,
    kind: str = opt.option("--kind", "KIND", "call, discovery or read.", _KINDS, default="call"),
    sort: str | None = opt.option("--sort", "FIELD", "The largest first, of a field such as duration_ms.", CALL_SORTS),
    *,
    listing: opt.Listing,
    data: RecordLocation,
) -> None:
    """List the calls on record, newest first.

    --kind discovery lists the searches, and --kind read the prompts and resources that were read.

    A filter takes several values, repeated or separated by commas; a call matches if it fits one of them, and all
    filters together. Names of clients may contain commas: repeat --client.

    A day begins at midnight, here, and --until is exclusive: --since yesterday --until today is all of yesterday.
    --hint is about the hints that were known when the call was made; undeclared: the tool declared neither readOnlyHint
    nor destructiveHint. --grep ignores case, and how JSON escapes a text; redacted or cut parts are not
    found.

    --arg takes the name of an argument, or names with dots between them for one inside another, and its exact value: a
    text, or JSON such as 7, true or '["a"]'; 7 is also the text "7". A value that was redacted is found by its mark,
    [redacted:1a2b3c4d], which is the same for the same secret; arguments that were cut are not looked into. --redacted
    leaves the calls with such marks, and their fields arguments_redacted and response_redacted say where. --outcome
    refused leaves what a rule, a token or a person refused and what waits for a yes; the latter has the code
    needs_consent. --http-status 4xx leaves the calls of HTTP APIs that were answered with 400 to 499, and their fields
    http and http_status say what was asked.

    The column HINTS has four letters, R, D, I and O for read-only, destructive, idempotent, open world: a capital says
    true, a small letter false, - not declared when the call was made; * marks overrides of a toolset.

    Examples:
      mcpctl calls ls --session last
      mcpctl calls ls --failed --server github,linear --since yesterday --until today
      mcpctl calls ls --sort duration_ms --limit 10
      mcpctl calls ls --outcome refused --code no-needs_consent --fields started_at,key,error_line
      mcpctl calls ls --arg city=Oslo --arg options.days=3
      mcpctl calls ls --hint destructive,undeclared --since 2026-11-01 --until 2026-11-08
      mcpctl calls ls --grep alice@example.com --fields started_at,client_name,tool
      mcpctl calls ls --status tool_error --since 1h30m --json | jq -r '.[].tool'
    """
    from mcpctl import output
    from mcpctl.commands import columns

    opt.one_of("kind", kind, _KINDS)
    opt.one_of("sort", sort, CALL_SORTS)
    options = listing.chosen()
    if kind != "call":
        noun, missing = (
            ("searches", (*_OF_SEARCHES, *OF_CALLS_ALONE)) if kind == "discovery" else ("reads", OF_CALLS_ALONE)
        )
        filters.refuse(noun, *missing)
        opt.refuse_with("--sort", sort, f"--kind {kind}")
    with data.stored() as records:
        criteria = filters.resolved(records, data.paths())
        shown = columns.with_names(data.columns(columns.columns("calls ls", kind)), data.paths(), options)
        if kind == "call":
            found = records.calls(criteria, output.chosen_fields(shown, options), sort)
        else:
            found = records.reads(criteria) if kind == "read" else records.discoveries(criteria)
        output.write_list(found, shown, options)
