"""The pages of sessions: a list, and one of them."""

from collections import Counter
from collections.abc import Mapping, Sequence

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from mcpctl.dashboard.board import board_of
from mcpctl.dashboard.calls_pages import searches
from mcpctl.dashboard.choices import ROWS, Window
from mcpctl.dashboard.record_filters import Asked
from mcpctl.dashboard.rendering import page
from mcpctl.dashboard.summaries import apart
from mcpctl.models import SESSION_STATUSES, Found, Row
from mcpctl.store.filters import CallFilter
from mcpctl.store.records import Records

_LOOKED_AT = 500
_NAMES = 12
_FIRST = 20
"""Calls, searches and decisions of a session that its page has."""


def sessions(request: Request) -> Response:
    """The sessions on record, last activity first."""
    asked = Asked.of(request)
    wanted, statuses = asked.of_sessions
    with board_of(request).records() as records:
        found = records.sessions(wanted, *statuses)
        shown = Window(list(found.rows(ROWS, asked.offset)), found.count(), asked.offset, asked.at)
        filters = asked.choices({"status": SESSION_STATUSES, **_names(records)})
        return page(request, "sessions.html", asked=asked, sessions=shown, filters=filters)


def _names(records: Records) -> Mapping[str, Sequence[str]]:
    """The clients and projects of the newest sessions, those of most of them first."""
    counted = {name: Counter[str]() for name in ("client", "project")}
    for row in records.sessions().rows(_LOOKED_AT, 0):
        counted["client"].update([row["client_name"] or ""])
        counted["project"].update([row["project"] or ""])
    return {name: [value for value, _ in values.most_common(_NAMES) if value] for name, values in counted.items()}


def session(request: Request) -> Response:
    """One session: who was connected, and what was done in it."""
    board = board_of(request)
    with board.records() as records:
        of_records = records.session(request.path_params["id"])
        found = {**of_records, "tools": apart(of_records["tools"])}
        total = found["calls"].count()
        only_this = CallFilter(sessions=(found["id"],))
        asked = Asked(request.url.path, {"sessionId": found["id"]})
        return page(
            request, "session.html", session=found, asked=asked, saving=board.saving(records, only_this),
            calls=_last(found["calls"], total), total=total,
            searches=searches(records, only_this, _FIRST),
            decisions=list(found["decisions"].rows(_FIRST, 0)), decided=found["decisions"].count(),
        )  # fmt: skip


def _last(found: Found, total: int) -> Sequence[Row]:
    """The last rows, the last one first; sorting very many calls by time would take as long as all the rest."""
    return list(found.rows(_FIRST, max(0, total - _FIRST)))[::-1]


ROUTES: list[BaseRoute] = [Route("/sessions", sessions), Route("/sessions/{id}", session)]
