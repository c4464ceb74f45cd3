"""`mcpctl sessions ls`"""

from mcpctl.commands import options as opt
from mcpctl.commands.filter_options import AskedOfSessions, filtered


@filtered
def ls(
    asked: AskedOfSessions,
    fields: opt.Fields = None,
    json: opt.Json = False,
    jsonl: opt.Jsonl = False,
    format: opt.Format = "auto",
    limit: opt.Limit = None,
    offset: opt.Offset = 0,
    count: opt.Count = False,
    data_dir: opt.DataDir = None,
) -> None:
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
    from mcpctl.commands import names
    from mcpctl.commands.sessions.columns import COLUMNS
    from mcpctl.store import evictions

    listing = output.listing(json, jsonl, format, fields, limit, offset, count)
    with opt.records(data_dir) as records:
        wanted = asked.resolved(records)
        names.refuse_strangers(wanted, records, opt.paths(None, data_dir))
        output.write_list(records.sessions(wanted, *asked.statuses), COLUMNS, listing)
        for remark in evictions.remarks(records.evictions()):
            output.say(remark)
