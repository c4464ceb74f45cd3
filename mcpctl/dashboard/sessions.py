"""Sessions: a list, and one of them, as REST answers and as pages."""

from collections import Counter
from collections.abc import Mapping, Sequence

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from mcpctl.base.fields import SESSION_STATUSES
from mcpctl.base.models import Found, Row
from mcpctl.dashboard import rest_names
from mcpctl.dashboard.board import board_of
from mcpctl.dashboard.calls import searches
from mcpctl.dashboard.links import ROWS, Asked, Window
from mcpctl.dashboard.parameters import OF_SESSIONS, WINDOW, Parameters
from mcpctl.dashboard.rendering import page
from mcpctl.dashboard.rest_answers import Operation, answer, listing
from mcpctl.dashboard.summaries import apart
from mcpctl.store.filters import CallFilter
from mcpctl.store.records import Records

_LOOKED_AT = 500
_NAMES = 12
_FIRST = 20
"""Calls, searches and decisions of a session that its page has."""


def sessions(request: Request, asked: Parameters) -> Response:
    """The sessions, last activity newest first."""
    wanted, statuses = asked.sessions()
    with board_of(request).records() as records:
        return listing(asked, "sessions", records.sessions(wanted, *statuses), rest_names.SESSION)


def session(request: Request, asked: Parameters) -> Response:
    """One session with what was called in it and what was decided of that."""
    with board_of(request).records() as records:
        row = records.session(request.path_params["id"])
        more = {
            "tools": [rest_names.renamed(tool, rest_names.CALLED_TOOL) for tool in row["tools"]],
            "decisions": list(row["decisions"].rows(None, 0)),
        }
    return answer({**rest_names.renamed(row, rest_names.SESSION), **more})


def sessions_page(request: Request) -> Response:
    """The sessions on record, last activity first."""
    asked = Asked.of(request)
    wanted, statuses = asked.sessions()
    with board_of(request).records() as records:
        found = records.sessions(wanted, *statuses)
        shown = Window(list(found.rows(ROWS, asked.offset)), found.count(), asked.offset, asked.at)
        filters = asked.filters({"status": SESSION_STATUSES, **_names(records)})
        return page(request, "sessions.html", asked=asked, sessions=shown, filters=filters)


def _names(records: Records) -> Mapping[str, Sequence[str]]:
    """The clients and projects of the newest sessions, those of most of them first."""
    counted = {name: Counter[str]() for name in ("client", "project")}
    for row in records.sessions().rows(_LOOKED_AT, 0):
        counted["client"].update([row["client_name"] or ""])
        counted["project"].update([row["project"] or ""])
    return {name: [value for value, _ in values.most_common(_NAMES) if value] for name, values in counted.items()}


def session_page(request: Request) -> Response:
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


OPERATIONS = (
    Operation("/sessions", sessions, "SessionList", (*WINDOW, *OF_SESSIONS)),
    Operation("/sessions/{id}", session, "SessionShown"),
)
PAGES: list[BaseRoute] = [Route("/sessions", sessions_page), Route("/sessions/{id}", session_page)]
