"""`mcpctl sessions ls`"""

from mcpctl.commands import options as opt
from mcpctl.commands.filter_options import RecordLocation, SessionFilters


def ls(filters: SessionFilters, listing: opt.Listing, data: RecordLocation) -> None:
    """List the sessions on record, last activity first. A terminal also gets the number of removed sessions, and why.

    With --server, --tool, --failed, --hint, --grep or --min-duration a session has such a call, one that fits them all
    and began in the time that --since and --until say; without them it was active in that time. tokens are those of
    calls and searches, total_tokens those of calls alone.

    Examples:
      mcpctl sessions ls
      mcpctl sessions ls --status active --json
      mcpctl sessions ls --failed --server github --since yesterday
    """
    from mcpctl import output
    from mcpctl.commands.columns import SESSIONS, with_names

    options = listing.chosen()
    with data.stored() as records:
        criteria = filters.resolved(records, data.paths())
        shown = with_names(data.columns(SESSIONS), data.paths(), options)
        output.write_list(records.sessions(criteria, *filters.statuses), shown, options)
        if removed := records.evictions():
            from mcpctl.store import retention

            for remark in retention.remarks(removed):
                output.say(remark)
