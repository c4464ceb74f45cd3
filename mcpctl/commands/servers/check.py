"""`mcpctl servers check`"""

from typing import Annotated

import typer

from mcpctl.commands import complete
from mcpctl.commands import options as opt

Names = Annotated[
    list[str] | None,
    typer.Argument(metavar="[NAME]...", help="Only these.", show_default=False, autocompletion=complete.servers),
]
Timeout = Annotated[
    float | None,
    typer.Option(metavar="S", min=0.1, help="Seconds to wait for each, in place of its start_timeout_s."),
]


def check(
    names: Names = None,
    timeout: Timeout = None,
    fields: opt.Fields = None,
    json: opt.Json = False,
    jsonl: opt.Jsonl = False,
    format: opt.Format = "auto",
    project: opt.Project = None,
    config: opt.ConfigFile = None,
    data_dir: opt.DataDir = None,
) -> None:
    """Connect every server, list its tools, and say what is wrong.

    The status of each is ok, odd (it works, with the warnings listed) or failed. The exit status is 4 when any has
    failed. A table has its problems below it, on stderr.

    \b
    Examples:
      mcpctl servers check
      mcpctl servers check github --timeout 5
      mcpctl servers check --json | jq -r '.[] | select(.status != "ok") | .server'
    """
    from mcpctl import output
    from mcpctl.commands.servers.columns import write_checked
    from mcpctl.proxy.check import check

    asked = output.listing(json, jsonl, format, fields)
    with output.progress("checking", "servers") as on_progress:
        rows = check(opt.paths(config, data_dir), names or [], timeout, on_progress, project)
    write_checked(rows, asked)
