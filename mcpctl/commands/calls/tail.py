"""`mcpctl calls tail`"""

from typing import Annotated

import typer

from mcpctl.commands import complete
from mcpctl.commands import options as opt
from mcpctl.commands.filter_options import Asked


def tail(
    asked: Asked,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on with what happens from now on, until Ctrl-C.")
    ] = False,
    lines: Annotated[
        int | None,
        typer.Option(
            "--lines", "-n", metavar="N", min=0, help="Begin with the newest N events (10).", show_default=False
        ),
    ] = None,
    since_position: Annotated[
        str | None,
        opt.option(
            "--since-position",
            "POSITION",
            "Begin after the event of this position, or at the start.",
            complete.choices("start"),
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", "--jsonl", help="Print one JSON object a line.")] = False,
    data_dir: opt.DataDir = None,
) -> None:
    """Print what happened last, and with -f what happens, in all sessions of all processes: one event a line.

    With --json an event is {type, data, timestamp, position}. Its type is sessions.created, sessions.updated,
    sessions.closed, calls.started, calls.finished, discoveries.finished or reset. The data of a call or search is its
    row of calls ls, that of a session its row of sessions ls with session_id in place of id; sessions.updated comes
    after each call with session_id, tool_call_count and total_tokens, and only with --json.

    Give the position of the last event to --since-position, and what follows is everything that came since, nothing
    left out and nothing twice, also after a restart. The event reset comes first if that cannot be promised, since a
    journal was removed that was not read to its end.

    --session, --client and --project choose sessions; every other filter leaves only calls, and those of the end of a
    call (--status other than running, --failed, --min-duration, --grep) only calls.finished. --since and --until are
    about the time of the event; with --since all that came since is printed.

    \b
    Examples:
      mcpctl calls tail -f
      mcpctl calls tail -f --failed --server github,linear
      mcpctl calls tail -f --json | jq -r 'select(.type == "calls.finished") | .data.tool'
      echo start > positions
      mcpctl calls tail --json --since-position "$(tail -n 1 positions)" | tee -a events | jq -r .position >> positions
    """
    from mcpctl import output
    from mcpctl.base.errors import WrongUsage
    from mcpctl.commands.calls import event_lines

    if since_position is not None and lines is not None:
        raise WrongUsage("--since-position says where to begin, and so does --lines", "give one of them")
    if asked.since and lines is None:
        since_position = since_position or "start"
    with opt.records(data_dir) as records:
        wanted = asked.resolved(records, opt.paths(None, data_dir))
        without = () if json else event_lines.LEFT_OUT
        newest = 10 if lines is None else min(lines, output.MOST)
        events = records.events(wanted, since=since_position, newest=newest, without=without)
        come = records.follow(events, output.pause) if follow else events.read()
        if json:
            output.write_live(event_lines.as_json(come, events.position))
        else:
            output.write_live(event_lines.as_text(come, records.client_of), coloured=True)
