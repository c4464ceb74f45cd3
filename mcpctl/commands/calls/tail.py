"""`mcpctl calls tail`"""

from typing import Annotated

import typer

from mcpctl.commands import complete
from mcpctl.commands import options as opt


def tail(
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
        typer.Option(
            metavar="POSITION",
            help="Begin after the event of this position, or at the start.",
            show_default=False,
            autocompletion=complete.choices("start"),
        ),
    ] = None,
    session: opt.SessionFilter = None,
    server: opt.ServerFilter = None,
    project: opt.ProjectFilter = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object a line.")] = False,
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

    Filters for calls leave out all other events, and calls.started too if they ask for what is known only at the end.

    \b
    Examples:
      mcpctl calls tail -f
      mcpctl calls tail -f --json | jq -r 'select(.type == "calls.finished") | .data.tool'
      mcpctl calls tail --json --since-position "$(cat position)" | tee events | tail -n 1 | jq -r .position > position
    """
    from mcpctl import output
    from mcpctl.commands.calls import event_lines
    from mcpctl.errors import WrongUsage
    from mcpctl.store.filters import CallFilter

    if since_position is not None and lines is not None:
        raise WrongUsage("--since-position says where to begin, and so does --lines", "give one of them")
    newest = 10 if lines is None else lines
    with opt.records(data_dir) as records:
        wanted = CallFilter(
            sessions=(records.session_id(session),) if session else (),
            servers=(server,) if server else (), projects=(project,) if project else (),
        )  # fmt: skip
        without = () if json else event_lines.LEFT_OUT
        events = records.events(wanted, since=since_position, newest=newest, without=without)
        come = records.follow(events, output.pause) if follow else events.read()
        output.write_live(event_lines.as_json(come, events.position) if json else event_lines.as_text(come))
