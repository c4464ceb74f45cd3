"""The pages; each is whole without a script."""

from starlette.routing import BaseRoute

from mcpctl.dashboard import (
    approvals_pages,
    calls_pages,
    overview_pages,
    servers_pages,
    sessions_pages,
    stats_pages,
    tools_pages,
)

ROUTES: list[BaseRoute] = [
    *overview_pages.ROUTES,
    *sessions_pages.ROUTES,
    *calls_pages.ROUTES,
    *tools_pages.ROUTES,
    *servers_pages.ROUTES,
    *approvals_pages.ROUTES,
    *stats_pages.ROUTES,
]
