"""How events are printed, one a line."""

import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from mcpctl.models import Row
from mcpctl.output import text, to_json

if TYPE_CHECKING:
    from mcpctl.store.events import Event

LEFT_OUT = ("sessions.updated",)
"""What people are not told: the call that it follows has just been printed."""
_LONGEST = 80
_WIDTH = 20


def as_json(events: "Iterator[Event]", position: Callable[[], str]) -> Iterator[str]:
    """Each event as a JSON object, with the position after it."""
    for event in events:
        yield to_json({"type": event.type, "data": event.data, "timestamp": event.timestamp, "position": position()})


def as_text(events: "Iterator[Event]") -> Iterator[str]:
    """Each event for people, in columns on a terminal, where a failure is red; in a pipe with tabs between them."""
    is_terminal, paints = sys.stdout.isatty(), text.is_coloured()
    for event in events:
        cells = [_cut(cell) for cell in (event.timestamp, event.type, *_said(event.data))]
        if not is_terminal:
            yield "\t".join(cells)
            continue
        line = "  ".join((cells[0], cells[1].ljust(_WIDTH), cells[2].ljust(_WIDTH), *cells[3:])).rstrip()
        yield f"{text.RED}{line}{text.PLAIN}" if paints and event.data.get("status") in text.PAINTED else line


def _said(data: Row) -> tuple[str, str, str, str]:
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
    return data.get("client_name") or "-", what, status, "" if duration is None else f"{duration} ms"


def _cut(cell: str) -> str:
    cell = text.line_of(cell)
    return cell if len(cell) <= _LONGEST else cell[: _LONGEST - 1] + "…"
