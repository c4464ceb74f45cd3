"""The dashboard as an ASGI application."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles

from mcpctl.dashboard import event_stream, pages, rest
from mcpctl.dashboard.board import Board

_STATIC = Path(__file__).parent / "static"


def app(board: Board) -> Starlette:
    """The pages, the REST interface and the events of a dashboard."""
    routes = [*pages.ROUTES, *rest.ROUTES, *event_stream.ROUTES, Mount("/static", StaticFiles(directory=_STATIC))]
    served = Starlette(routes=routes, lifespan=_lifespan)
    served.state.board = board
    return served


@asynccontextmanager
async def _lifespan(served: Starlette) -> AsyncIterator[None]:
    yield
    served.state.board.feed.close()
