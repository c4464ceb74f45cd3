"""Prompts that were got and resources that were read, as REST answers."""

from starlette.requests import Request
from starlette.responses import Response

from mcpctl.dashboard import rest_names
from mcpctl.dashboard.dashboard import dashboard_of
from mcpctl.dashboard.rest import OF_READS, WINDOW, Operation, Parameters, listing


def reads(request: Request, query: Parameters) -> Response:
    """The prompts that were got and the resources that were read, newest first."""
    wanted = query.calls()
    with dashboard_of(request).records() as records:
        return listing(query, "reads", records.reads(records.resolved(wanted)), rest_names.READ)


OPERATIONS = (Operation("/reads", reads, "ReadList", (*WINDOW, *OF_READS)),)
