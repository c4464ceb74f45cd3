"""`mcpctl calls stats`"""

from typing import Annotated

import typer

from mcpctl.commands import complete
from mcpctl.commands import options as opt
from mcpctl.commands.filter_options import Asked, filtered
from mcpctl.models import TOTAL_FIELDS
from mcpctl.store.asking import GROUPS


@filtered
def stats(
    asked: Asked,
    by: Annotated[
        list[str] | None,
        typer.Option(
            "--by", metavar="GROUP,…", help="A row for each tool, server, client, project, status, day or hour.",
            show_default=False, autocompletion=complete.choices(*GROUPS),
        ),
    ] = None,
    sort: Annotated[
        str | None,
        typer.Option(
            "--sort", metavar="FIELD", help="The largest first, of a field such as p95_ms or total_tokens.",
            show_default=False, autocompletion=complete.choices(*TOTAL_FIELDS),
        ),
    ] = None,
    fields: opt.Fields = None,
    json: opt.Json = False,
    jsonl: opt.Jsonl = False,
    format: opt.Format = "auto",
    limit: opt.Limit = None,
    offset: opt.Offset = 0,
    count: opt.Count = False,
    data_dir: opt.DataDir = None,
) -> None:  # fmt: skip
    """Count the calls on record: how many, how many failed, how long they took, and their tokens.

    It takes the filters of mcpctl calls ls. A call in several rounds counts once, where its last one does; what failed
    is what --failed lists, of which denied was refused by a rule, or waits for a yes. Times are in milliseconds; p50_ms
    and p95_ms are exact: so many of a hundred calls, or rounds, took no longer. Tokens are those of arguments and
    responses, estimated as the field encoding of a call says. A day and an hour are those of your time zone; the hour
    that comes twice when clocks go back is one. A bar is as long as the number of calls, or as what --sort names.

    \b
    Examples:
      mcpctl calls stats --by tool --sort p95_ms --limit 10
      mcpctl calls stats --by day --since 7d --client cursor
      mcpctl calls stats --by server,status --failed
    """
    from mcpctl import output
    from mcpctl.commands import names
    from mcpctl.commands.calls import totals
    from mcpctl.models import Found

    groups = opt.listed("by", by, GROUPS)
    opt.one_of("sort", sort, TOTAL_FIELDS)
    listing = output.listing(json, jsonl, format, fields, limit, offset, count)
    with opt.records(data_dir) as records:
        wanted = asked.resolved(records)
        names.refuse_strangers(wanted, records, opt.paths(None, data_dir))
        rows = totals.rows(records, groups, wanted, sort)
    output.write_list(Found.of(rows), totals.columns(groups, rows, listing.effective), listing)
