"""How events are printed, one a line."""

import functools
import shutil
import sys
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING

from mcpctl.base.models import Row
from mcpctl.output import text, to_json

if TYPE_CHECKING:
    from mcpctl.store.events import Event

LEFT_OUT = ("sessions.updated",)
"""What people are not told: the call that it follows has just been printed."""
_LONGEST = 80
_WIDTH = 20
"""What a type and a client's name get of a wide terminal."""
_ROOM_FOR_CLIENT = 72
_WHAT = 8
"""What is left of a tool's name in the narrowest terminal."""


def as_json(events: "Iterator[Event]", position: Callable[[], str]) -> Iterator[str]:
    """Each event as a JSON object, with the position after it."""
    for event in events:
        yield to_json({"type": event.type, "data": event.data, "timestamp": event.timestamp, "position": position()})


def as_text(events: "Iterator[Event]", client_of: Callable[[str], str | None]) -> Iterator[str]:
    """Each event for people, in columns on a terminal, where a failure is red; in a pipe with tabs between them.

    `client_of` knows the client of a session: events of searches do not have it.
    """
    client_of = functools.cache(client_of)
    is_terminal, paints = sys.stdout.isatty(), text.is_coloured()
    for event in events:
        said = [_cut(cell) for cell in _said(event.data, client_of)]
        if not is_terminal:
            yield "\t".join((event.timestamp, event.type, *said))
            continue
        line = _fitted(_local(event.timestamp), event.type, *said)
        yield f"{text.RED}{line}{text.PLAIN}" if paints and event.data.get("status") in text.PAINTED else line


def _fitted(time: str, type_: str, client: str, what: str, status: str, duration: str) -> str:
    """A line that is no wider than the terminal: how it went is seen before the whole of what it was about."""
    from rich.cells import cell_len, set_cell_size

    def within(cell: str, width: int) -> str:
        return cell if cell_len(cell) <= width else set_cell_size(cell, width - 1) + "…"

    room = shutil.get_terminal_size().columns
    begin = f"{time}  {type_:<{min(_WIDTH, room // 5)}}  "
    if room >= _ROOM_FOR_CLIENT:
        width = min(_WIDTH, room // 6)
        begin += set_cell_size(within(client, width), width) + "  "
    end = f"  {status}  {duration}".rstrip()
    return within(begin + within(what, max(_WHAT, room - cell_len(begin) - cell_len(end))) + end, room)


def _local(timestamp: str) -> str:
    """The time of day here, after the day if that is not today."""
    then = datetime.fromisoformat(timestamp).astimezone()
    return then.strftime("%H:%M:%S" if then.date() == datetime.now().astimezone().date() else "%m-%d %H:%M:%S")


def _said(data: Row, client_of: Callable[[str], str | None]) -> tuple[str, str, str, str]:
    """Who, what, how it went, and how long it took."""
    if "tool" in data:
        what, status = f"{data['server']}:{data['tool']}", data["status"]
    elif "query" in data:
        what, status = str(data["query"]), data["provider"]
    elif "session_id" in data:
        what, status = data["session_id"], data["status"]
    else:
        what, status = "events are missing before this", ""
    duration = data.get("duration_ms")
    client = client_of(data["session_id"]) if "query" in data else data.get("client_name")
    return client or "-", what, status, "" if duration is None else f"{duration} ms"


def _cut(cell: str) -> str:
    cell = text.line_of(cell)
    return cell if len(cell) <= _LONGEST else cell[: _LONGEST - 1] + "…"
