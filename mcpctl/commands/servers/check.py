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
    failed. A table has its problems below it, on stderr, and so has a warning of commands that only your shell finds,
    not a program with a window.

    \b
    Examples:
      mcpctl servers check
      mcpctl servers check github --timeout 5
      mcpctl servers check --json | jq -r '.[] | select(.status != "ok") | .server'
    """
    from mcpctl import output
    from mcpctl.commands.servers.columns import say_hidden, write_checked
    from mcpctl.proxy.server_check import check

    asked, paths = output.listing(json, jsonl, format, fields), opt.paths(config, data_dir)
    with output.progress("checking", "servers") as on_progress:
        rows = check(paths, names or [], timeout, on_progress, project)
    say_hidden(paths, rows)
    write_checked(rows, asked)
