"""The REST interface: what `--json` prints, in the names of `rest_names`, which mcpctl-records(5) has in a table."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from mcpctl.dashboard import approvals, calls, rest_export, servers, sessions, stats, tools
from mcpctl.dashboard.parameters import Parameters
from mcpctl.dashboard.rest_answers import BASE, Operation, answer


def openapi(request: Request, asked: Parameters) -> Response:
    """What can be asked, and what is answered."""
    from mcpctl.dashboard.openapi import document  # pydantic takes longer to load than all the rest

    return answer(document(BASE, OPERATIONS))


SUBJECTS = (sessions, calls, stats, tools, servers, approvals)
OPERATIONS: tuple[Operation, ...] = (
    *(one for each in SUBJECTS for one in each.OPERATIONS),
    *rest_export.OPERATIONS,
    Operation("/openapi.json", openapi, ""),
)
ROUTES: list[BaseRoute] = [
    Route(f"{BASE}{each.path}", each.run, methods=[each.method], name=each.answer.__name__) for each in OPERATIONS
]
