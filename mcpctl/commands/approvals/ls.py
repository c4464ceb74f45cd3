"""`mcpctl approvals ls`"""

from typing import Annotated

import typer

from mcpctl.commands import options as opt

Pending = Annotated[bool, typer.Option("--pending", help="Only those that can be answered now.")]


def ls(
    pending: Pending = False,
    fields: opt.Fields = None,
    json: opt.Json = False,
    jsonl: opt.Jsonl = False,
    format: opt.Format = "auto",
    limit: opt.Limit = None,
    offset: opt.Offset = 0,
    count: opt.Count = False,
    data_dir: opt.DataDir = None,
) -> None:
    """List the calls that needed your consent, the newest first, and what became of them.

    \b
    Examples:
      mcpctl approvals ls --pending
      mcpctl approvals ls --json | jq '.[] | select(.state == "denied") | .key'
    """
    from mcpctl import output
    from mcpctl.commands.approvals.columns import COLUMNS
    from mcpctl.policy.answering import rows

    options = output.listing(json, jsonl, format, fields, limit, offset, count)
    output.write_list(rows(opt.paths(None, data_dir), pending=pending), COLUMNS, options)
