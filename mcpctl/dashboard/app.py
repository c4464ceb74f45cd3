"""The dashboard as an ASGI application."""

from pathlib import Path

from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles

from mcpctl.dashboard import pages, rest
from mcpctl.dashboard.board import Board

_STATIC = Path(__file__).parent / "static"


def app(board: Board) -> Starlette:
    """The pages, the REST interface and the events of a dashboard."""
    served = Starlette(routes=[*pages.ROUTES, *rest.ROUTES, Mount("/static", StaticFiles(directory=_STATIC))])
    served.state.board = board
    return served
