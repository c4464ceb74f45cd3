"""The pages; each is whole without a script."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from mcpctl.dashboard import approvals_pages, servers_pages, stats_pages, tools_pages
from mcpctl.dashboard.board import board_of
from mcpctl.dashboard.rendering import page


def sessions(request: Request) -> Response:
    """The sessions on record."""
    with board_of(request).records() as records:
        found = records.sessions()
        return page(request, "sessions.html", sessions=list(found.rows(50, 0)), total=found.count())


ROUTES: list[BaseRoute] = [
    Route("/sessions", sessions),
    *tools_pages.ROUTES,
    *servers_pages.ROUTES,
    *approvals_pages.ROUTES,
    *stats_pages.ROUTES,
]
