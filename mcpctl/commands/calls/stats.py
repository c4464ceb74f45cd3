"""`mcpctl calls stats`"""

from mcpctl.base.fields import TOTAL_FIELDS
from mcpctl.commands import options as opt
from mcpctl.commands.filter_options import OF_CALLS_ALONE, RecordFilters, RecordLocation
from mcpctl.store.filters import ERROR, GROUPS, grouping, sorts

_BY = (*GROUPS, ERROR)


def stats(
    filters: RecordFilters,
    by: list[str] | None = opt.option(
        "--by", "GROUP,…", "A row for each tool, server, client, token, project, status, day, hour or error.", _BY
    ),
    sort: str | None = opt.option(
        "--sort", "FIELD", "The largest first, of a field such as p95_ms or total_tokens.", TOTAL_FIELDS
    ),
    kind: str = opt.option("--kind", "KIND", "Count calls, or reads.", ("call", "read"), default="call"),
    *,
    listing: opt.Listing,
    data: RecordLocation,
) -> None:
    """Count the calls on record. It says how many, how many failed, how long they took, and their tokens.

    It takes the filters of mcpctl calls ls. A call in several rounds counts once, in the group of its last round.
    Calls that failed are those of --failed: errors and refused together. Refused ones were refused by a rule, a
    token or a person, or wait for a yes; error_percent leaves them out, and calls of tools that there are not,
    which reached no server: it is how many of a hundred other calls that ended went wrong. --by error groups
    failures of one tool by the first line of their text, with # for each number and id; calls ls --error lists the
    calls of one group. --kind read counts prompts and resources that were read: their tool is the name or the URI.
    Times are in milliseconds; p50_ms and p95_ms are exact: so many of a hundred calls, or rounds, took no longer.
    They and longest_ms leave out what was refused, which takes no time; a call that waited for a person's answer
    has that time in its duration. Tokens are those of arguments and responses, estimated as the field encoding of a
    call says. Days and hours are those of your time zone; the hour that comes twice when clocks go back is one. A
    bar is as long as the number of calls, or as the field of --sort.

    Examples:
      mcpctl calls stats --by tool --sort p95_ms --limit 10
      mcpctl calls stats --by day --since 7d --client cursor
      mcpctl calls stats --by server --sort error_percent
      mcpctl calls stats --by error --since 7d
      mcpctl calls stats --by token,server --since 30d
    """
    from mcpctl import output
    from mcpctl.base.models import Found
    from mcpctl.commands.columns import FAILURES, totals

    groups = opt.listed("by", by, (*GROUPS, ERROR))
    opt.one_of("sort", sort, sorts(groups))
    opt.one_of("kind", kind, ("call", "read"))
    options = listing.chosen()
    bar = sort if sort not in (None, "last_used") else "calls"
    if kind == "read":
        filters.refuse("reads", *OF_CALLS_ALONE)
        if ERROR in groups:
            opt.refuse_with("--by error", kind, "--kind read")
    with data.stored() as records:
        criteria = filters.resolved(records, data.paths())
        if ERROR in groups:
            output.write_list(records.errors(criteria, sort), FAILURES, options)
            return
        counted = records.totals(*grouping(groups), criteria=criteria, sort=sort, of_reads=kind == "read")
    if "token" in groups:
        from mcpctl.policy import tokens

        names = tokens.names(data.paths())
        counted = [{**row, "token": names.get(row["token"], row["token"])} for row in counted]
    rows = [{**row, "bar": row[bar] or 0} for row in counted]
    output.write_list(Found.of(rows), totals(groups, rows, options.effective, sort), options)
