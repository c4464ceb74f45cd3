"""`mcpctl calls tail`"""

import functools
import shutil
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from mcpctl.base.models import Row
from mcpctl.commands import options as opt
from mcpctl.commands.filter_options import RecordFilters, RecordLocation
from mcpctl.output import text, to_json

if TYPE_CHECKING:
    from mcpctl.store.events import Event

_LEFT_OUT = ("sessions.updated",)  # not printed for people: the call that it follows has just been
_LONGEST = 80
_WIDTH = 20  # the columns of a type and of a client's name in a wide terminal
_ROOM_FOR_CLIENT = 72
_LEAST_NAME = 8  # the columns that are left of a tool's name in the narrowest terminal


def tail(
    filters: RecordFilters,
    follow: bool = opt.flag("--follow -f", "Go on with what happens from now on, until Ctrl-C."),
    lines: int | None = opt.option("--lines -n", "N", "Begin with the newest N events (10).", min=0),
    since_position: str | None = opt.option(
        "--since-position", "POSITION", "Begin after the event of this position, or at the start.", ("start",)
    ),
    json: bool = opt.flag("--json --jsonl", "Print one JSON object a line."),
    *,
    data: RecordLocation,
) -> None:
    """Print the last events of all sessions. Those of all processes are printed, one a line, and with -f those that
    follow.

    With --json an event is {type, data, timestamp, position}. Its type is sessions.created, sessions.updated,
    sessions.closed, calls.started, calls.finished, discoveries.finished, reads.finished (a prompt or resource) or
    reset. The data of a call, search or read is its row of calls ls, that of a session its row of sessions ls with
    session_id in place of id; sessions.updated comes after each call with session_id, tool_call_count and total_tokens,
    and only with --json.

    Give the position of the last event to --since-position to get everything that came since, nothing left out and
    nothing twice, also after a restart. The event reset comes first if that cannot be promised, since a journal was
    removed that was not read to its end.

    --session, --client and --project choose sessions; every other filter leaves only calls, and reads where they have
    what is asked for; those of the end of a call (--status other than running, --failed, --outcome, --error, --code,
    --http-status, --redacted, --min-duration, --grep) only calls.finished. --since and --until are about the time of
    the event; with --since all that came since is printed.

    Examples:
      mcpctl calls tail -f
      mcpctl calls tail -f --failed --server github,linear
      mcpctl calls tail -f --json | jq -r 'select(.type == "calls.finished") | .data.tool'
      echo start > positions
      mcpctl calls tail --json --since-position "$(tail -n 1 positions)" | tee -a events | jq -r .position >> positions
    """
    from mcpctl import output
    from mcpctl.base.errors import WrongUsage
    from mcpctl.store import watch

    if since_position is not None and lines is not None:
        raise WrongUsage("--since-position says where to begin, and so does --lines", "give one of them")
    if filters.since and lines is None:
        since_position = since_position or "start"
    with data.stored() as records:
        criteria = filters.resolved(records, data.paths())
        newest = 10 if lines is None else min(lines, output.MOST)
        events = records.events(criteria, since=since_position, newest=newest, without=() if json else _LEFT_OUT)
        come = watch.follow(records, events, output.pause) if follow else events.read()
        if json:
            output.write_lines(_as_json(come, events.position), live=True)
        else:
            output.write_lines(_as_text(come, records.client_of), coloured=True, live=True)


def _as_json(events: "Iterator[Event]", position: Callable[[], str]) -> Iterator[str]:

    for event in events:
        yield to_json({"type": event.type, "data": event.data, "timestamp": event.timestamp, "position": position()})


def _as_text(events: "Iterator[Event]", client_of: Callable[[str], str | None]) -> Iterator[str]:
    """Each event for people, in columns on a terminal, where a failure is red; in a pipe with tabs between them.

    `client_of` knows the client of a session: events of searches do not have it.
    """

    client_of = functools.cache(client_of)
    is_terminal, paints = sys.stdout.isatty(), text.is_coloured()
    for event in events:
        cells = [text.line_of(cell) for cell in _cells(event.data, client_of)]
        cells = [cell if len(cell) <= _LONGEST else cell[: _LONGEST - 1] + "…" for cell in cells]
        if not is_terminal:
            yield "\t".join((event.timestamp, event.type, *cells))
            continue
        line = _fitted(_local(event.timestamp), event.type, *cells)
        yield f"{text.RED}{line}{text.PLAIN}" if paints and event.data.get("status") in text.PAINTED else line


def _fitted(time: str, type_: str, client: str, name: str, status: str, duration: str) -> str:
    """A line no wider than the terminal, where the status has room before the whole name."""
    from rich.cells import cell_len, set_cell_size

    def within(cell: str, width: int) -> str:
        return cell if cell_len(cell) <= width else set_cell_size(cell, width - 1) + "…"

    room = shutil.get_terminal_size().columns
    begin = f"{time}  {type_:<{min(_WIDTH, room // 5)}}  "
    if room >= _ROOM_FOR_CLIENT:
        width = min(_WIDTH, room // 6)
        begin += set_cell_size(within(client, width), width) + "  "
    end = f"  {status}  {duration}".rstrip()
    return within(begin + within(name, max(_LEAST_NAME, room - cell_len(begin) - cell_len(end))) + end, room)


def _local(timestamp: str) -> str:
    from datetime import datetime

    then = datetime.fromisoformat(timestamp).astimezone()
    return then.strftime("%H:%M:%S" if then.date() == datetime.now().astimezone().date() else "%m-%d %H:%M:%S")


def _cells(data: Row, client_of: Callable[[str], str | None]) -> tuple[str, str, str, str]:
    if "tool" in data:
        name, status = f"{data['server']}:{data['tool']}", data["status"]
    elif "name" in data:
        name, status = ":".join(filter(None, (data["server"], data["name"]))), data["status"]
    elif "query" in data:
        name, status = str(data["query"]), data["provider"]
    elif "session_id" in data:
        name, status = data["session_id"], data["status"]
    else:
        name, status = "events are missing before this", ""
    duration = data.get("duration_ms")
    client = client_of(data["session_id"]) if "query" in data else data.get("client_name")
    return client or "-", name, status, "" if duration is None else f"{duration} ms"
