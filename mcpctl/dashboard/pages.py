"""The pages; each is whole without a script."""

from starlette.routing import BaseRoute

from mcpctl.dashboard import calls_pages, overview, sessions_pages

ROUTES: list[BaseRoute] = [*overview.ROUTES, *sessions_pages.ROUTES, *calls_pages.ROUTES]
