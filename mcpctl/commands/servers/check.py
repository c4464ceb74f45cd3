"""`mcpctl servers check`"""

from typing import Annotated

import typer

from mcpctl.commands import complete
from mcpctl.commands import options as opt

Names = Annotated[list[str] | None, opt.argument("[NAME]...", "Only these servers.", complete.servers)]
Timeout = Annotated[
    float | None,
    typer.Option(metavar="S", min=0.1, help="Seconds to wait for each server, in place of its start_timeout_s."),
]


def check(names: Names = None, timeout: Timeout = None, *, listing: opt.Rows, place: opt.ProjectPlace) -> None:
    """Connect to every server, list its tools, prompts and resources, and report problems.

    The status of a server is ok, odd (it works, with the warnings listed) or failed. The exit status is 4 if any server
    has failed. The environment says which variables a server gets. With a table, the problems are on stderr. A warning
    names commands that your shell finds and a program with a window does not.

    \b
    Examples:
      mcpctl servers check
      mcpctl servers check github --timeout 5
      mcpctl servers check --json | jq -r '.[] | select(.status != "ok") | .server'
    """
    from mcpctl import output
    from mcpctl.calling.server_check import check
    from mcpctl.commands.servers.columns import say_hidden, say_policy, write_checked

    options, paths = listing.chosen(), place.paths()
    say_policy(paths)
    with output.progress("checking", "servers") as on_progress:
        rows = check(paths, names or [], timeout, on_progress, place.project)
    say_hidden(paths, rows)
    write_checked(rows, options, paths)
