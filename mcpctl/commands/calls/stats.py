"""`mcpctl calls stats`"""

from mcpctl.base.fields import TOTAL_FIELDS
from mcpctl.commands import options as opt
from mcpctl.commands.filter_options import RecordFilters
from mcpctl.store.filters import GROUPS, grouping


def stats(
    filters: RecordFilters,
    by: list[str] | None = opt.option(
        "--by", "GROUP,…", "A row for each tool, server, client, project, status, day or hour.", GROUPS
    ),
    sort: str | None = opt.option(
        "--sort", "FIELD", "The largest first, of a field such as p95_ms or total_tokens.", TOTAL_FIELDS
    ),
    *,
    listing: opt.Listing,
    data: opt.DataLocation,
) -> None:
    """Count the calls on record. It says how many, how many failed, how long they took, and their tokens.

    It takes the filters of mcpctl calls ls. A call in several rounds counts once, in the group of its last round. Calls
    that failed are those of --failed; denied ones among them were refused by a rule, or wait for a yes. Times are in
    milliseconds; p50_ms and p95_ms are exact: so many of a hundred calls, or rounds, took no longer. Tokens are those
    of arguments and responses, estimated as the field encoding of a call says. Days and hours are those of your time
    zone; the hour that comes twice when clocks go back is one. A bar is as long as the number of calls, or as the field
    of --sort.

    Examples:
      mcpctl calls stats --by tool --sort p95_ms --limit 10
      mcpctl calls stats --by day --since 7d --client cursor
      mcpctl calls stats --by server,status --failed
    """
    from mcpctl import output
    from mcpctl.base.models import Found
    from mcpctl.commands.columns import totals

    groups = opt.listed("by", by, GROUPS)
    opt.one_of("sort", sort, TOTAL_FIELDS)
    options = listing.chosen()
    bar = sort if sort not in (None, "last_used") else "calls"
    with data.records() as records:
        criteria = filters.resolved(records, data.paths())
        counted = records.totals(*grouping(groups), criteria=criteria, sort=sort)
    rows = [{**row, "bar": row[bar] or 0} for row in counted]
    output.write_list(Found.of(rows), totals(groups, rows, options.effective), options)
