"""Decisions on calls, as REST answers."""

from starlette.requests import Request
from starlette.responses import Response

from mcpctl.base.fields import DECISIONS
from mcpctl.dashboard import rest_names
from mcpctl.dashboard.dashboard import dashboard_of
from mcpctl.dashboard.rest import OF_DECISIONS, WINDOW, Operation, Parameters, listing


def decisions(request: Request, query: Parameters) -> Response:
    """The decisions on calls, newest first: who said yes or no, through what, and when."""
    wanted, made = query.calls(), query.several("decision", DECISIONS)
    with dashboard_of(request).records() as records:
        found = records.decisions_made(records.resolved(wanted), made, query.several("channel"))
        return listing(query, "decisions", found, rest_names.DECISION_LISTED)


OPERATIONS = (Operation("/decisions", decisions, "DecisionList", (*WINDOW, *OF_DECISIONS)),)
