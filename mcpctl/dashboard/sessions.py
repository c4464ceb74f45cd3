"""Sessions: a list, and one of them, as REST answers and as pages."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from starlette.requests import Request
from starlette.responses import Response

from mcpctl.base.fields import SESSION_STATUSES
from mcpctl.base.models import Found, Row
from mcpctl.dashboard import rest_names
from mcpctl.dashboard.calls import LISTED, search
from mcpctl.dashboard.dashboard import dashboard_of
from mcpctl.dashboard.page_query import PageQuery, Window
from mcpctl.dashboard.rendering import page
from mcpctl.dashboard.rest import OF_SESSIONS, WINDOW, Operation, Parameters, answer, listing
from mcpctl.store.filters import CallFilter
from mcpctl.store.records import Records

_LOOKED_AT = 500
_NAMES = 12
_FILTERED = {"client": "client_name", "project": "project"}
_MOST_TOOLS = 500
_BEGINS = {"call": "started_at", "search": "started_at", "read": "started_at", "decision": "made_at"}
_NAMES_OF = {
    "call": [name for name in rest_names.CALL if name.field in LISTED], "search": rest_names.DISCOVERY,
    "read": rest_names.READ, "decision": rest_names.DECISION,
}  # fmt: skip


def sessions(request: Request, query: Parameters) -> Response:
    """The sessions, last activity newest first."""
    with dashboard_of(request).records() as records:
        return listing(query, "sessions", _listed(records, query), rest_names.SESSION)


def sessions_page(request: Request) -> Response:
    query = PageQuery.of(request)
    with dashboard_of(request).records() as records:
        shown = query.window(_listed(records, query))
        filters = query.filters({"status": SESSION_STATUSES, **_names(records)})
        return page(request, "sessions.html", query=query, sessions=shown, filters=filters)


def _listed(records: Records, query: Parameters) -> Found:
    wanted, statuses = query.sessions()
    return records.sessions(wanted, *statuses)


def _names(records: Records) -> Mapping[str, Sequence[str]]:
    rows = list(records.sessions().rows(_LOOKED_AT, 0))
    counted = {name: Counter(row[field] or "" for row in rows) for name, field in _FILTERED.items()}
    return {name: [value for value, _ in values.most_common(_NAMES) if value] for name, values in counted.items()}


def session(request: Request, query: Parameters) -> Response:
    """One session with the tools that were called in it and the decisions about its calls."""
    with dashboard_of(request).records() as records:
        row = records.session(request.path_params["id"])
        more = {
            "tools": [rest_names.renamed(tool, rest_names.CALLED_TOOL) for tool in row["tools"]],
            "decisions": list(row["decisions"].rows(None, 0)),
        }
    return answer({**rest_names.renamed(row, rest_names.SESSION), **more})


def timeline(request: Request, query: Parameters) -> Response:
    """The calls, searches, reads and attempts of one session, the oldest first, each with the decisions about it."""
    with dashboard_of(request).records() as records:
        found = records.timeline(request.path_params["id"], LISTED)
        rows = [_told(row) for row in found.rows(query.limit, query.offset)]
        return answer({"timeline": rows, "total": found.count()})


def _told(row: Row) -> Row:
    event = row["event"]
    told = rest_names.renamed(row, _NAMES_OF[event])
    return {"event": event, "timestamp": row[_BEGINS[event]], event: told, "decisions": row["decisions"]}


def session_page(request: Request) -> Response:
    dashboard = dashboard_of(request)
    with dashboard.records() as records:
        row = records.session(request.path_params["id"])
        only_this, query = CallFilter(sessions=(row["id"],)), PageQuery.of(request, ())
        window = query.window(records.timeline(row["id"], LISTED))
        totals = Counter[str]()
        for tool in row["tools"]:
            totals.update({name: tool[name] for name in ("calls", "done", "errors", "refused")})
        return page(
            request, "session.html", session=row, totals=totals, timeline=window, most_tools=_MOST_TOOLS,
            saving=dashboard.saving(records, only_this), events=_spaced(records, row, window),
            query=PageQuery(request.url.path, {"sessionId": row["id"]}),
        )  # fmt: skip


def _spaced(records: Records, session: Row, window: Window) -> Sequence[Row]:
    """The events, each with the milliseconds since those before it had ended."""
    end, spaced = datetime.fromisoformat(session["start_time"]), []
    if window.first > 1:
        end = max(map(_end, records.timeline(session["id"], LISTED).rows(1, window.first - 2)), default=end)
    for row in window.rows:
        searched = search(row) if row["event"] == "search" else row
        begin = datetime.fromisoformat(row[_BEGINS[row["event"]]])
        spaced.append({**searched, "gap_ms": max(0, round((begin - end).total_seconds() * 1000))})
        end = max(end, _end(row))
    return spaced


def _end(row: Row) -> datetime:
    begin = datetime.fromisoformat(row[_BEGINS[row["event"]]])
    waited = sum(made["waited_ms"] or 0 for made in row["decisions"])
    return begin + timedelta(milliseconds=(row.get("duration_ms") or 0) + waited)


OPERATIONS = (
    Operation("/sessions", sessions, "SessionList", (*WINDOW, *OF_SESSIONS)),
    Operation("/sessions/{id}", session, "SessionShown"),
    Operation("/sessions/{id}/timeline", timeline, "Timeline", ("limit", "offset")),
)
PAGES = {"/sessions": sessions_page, "/sessions/{id}": session_page}
