"""`mcpctl sessions ls`"""

from mcpctl.commands import options as opt
from mcpctl.commands.filter_options import SessionFilters


def ls(filters: SessionFilters, listing: opt.Listing, data_dir: opt.DataDir = None) -> None:
    """List the sessions on record, last activity first. A terminal is told how many were removed, and why.

    With --server, --tool, --failed, --hint, --grep or --min-duration a session has such a call, one that fits them all
    and began in the time that --since and --until say; without them it was active in that time. tokens are those of
    calls and searches, total_tokens those of calls alone.

    \b
    Examples:
      mcpctl sessions ls
      mcpctl sessions ls --status active --json
      mcpctl sessions ls --failed --server github --since yesterday
    """
    from mcpctl import output
    from mcpctl.commands.columns import SESSIONS

    options = listing.chosen()
    with opt.records(data_dir) as records:
        wanted = filters.resolved(records, opt.paths(None, data_dir))
        output.write_list(records.sessions(wanted, *filters.statuses), SESSIONS, options)
        if removed := records.evictions():
            from mcpctl.store import retention

            for remark in retention.remarks(removed):
                output.say(remark)
