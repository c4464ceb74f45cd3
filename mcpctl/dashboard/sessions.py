"""Sessions: a list, and one of them, as REST answers and as pages."""

from collections import Counter
from collections.abc import Mapping, Sequence

from starlette.requests import Request
from starlette.responses import Response

from mcpctl.base.fields import SESSION_STATUSES
from mcpctl.base.models import Found
from mcpctl.dashboard import rest_names
from mcpctl.dashboard.calls import searches
from mcpctl.dashboard.dashboard import apart, dashboard_of
from mcpctl.dashboard.page_query import PageQuery
from mcpctl.dashboard.rendering import page
from mcpctl.dashboard.rest import OF_SESSIONS, WINDOW, Operation, Parameters, answer, listing
from mcpctl.store.filters import CallFilter
from mcpctl.store.records import Records

_LOOKED_AT = 500
_NAMES = 12
_FILTERED = {"client": "client_name", "project": "project"}
_FIRST = 20  # calls, searches and decisions on the page of a session


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


def session_page(request: Request) -> Response:
    dashboard = dashboard_of(request)
    with dashboard.records() as records:
        row = records.session(request.path_params["id"])
        calls, decisions = row["calls"], row["decisions"]
        total = calls.count()
        only_this = CallFilter(sessions=(row["id"],))
        return page(
            request, "session.html", session={**row, "tools": apart(row["tools"])},
            query=PageQuery(request.url.path, {"sessionId": row["id"]}), saving=dashboard.saving(records, only_this),
            # The last rows, reversed; sorting very many calls by time would take as long as all the rest.
            calls=list(calls.rows(_FIRST, max(0, total - _FIRST)))[::-1], total=total,
            searches=searches(records, only_this, _FIRST),
            decisions=list(decisions.rows(_FIRST, 0)), decided=decisions.count(),
        )  # fmt: skip


OPERATIONS = (
    Operation("/sessions", sessions, "SessionList", (*WINDOW, *OF_SESSIONS)),
    Operation("/sessions/{id}", session, "SessionShown"),
)
PAGES = {"/sessions": sessions_page, "/sessions/{id}": session_page}
