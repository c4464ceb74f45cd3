"""The dashboard as an ASGI application."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles

from mcpctl.base.errors import McpctlError
from mcpctl.dashboard import error_answers, event_stream, overview, rest
from mcpctl.dashboard.board import Board
from mcpctl.dashboard.bodies import Bodies
from mcpctl.dashboard.guard import Guard

_PAGES = [page for each in (overview, *rest.SUBJECTS) for page in each.PAGES]
_STATIC = Path(__file__).parent / "static"


def guarded(board: Board) -> Guard:
    """The dashboard for those who have logged in."""
    return Guard(app(board), board)


def app(board: Board) -> Starlette:
    """The pages, the REST interface and the events of a dashboard, for whoever gets at them."""
    served = Starlette(
        routes=[*_PAGES, *rest.ROUTES, *event_stream.ROUTES, Mount("/static", StaticFiles(directory=_STATIC))],
        middleware=[Middleware(Bodies)],
        exception_handlers={
            McpctlError: error_answers.of_mcpctl,
            HTTPException: error_answers.of_http,
            Exception: error_answers.of_bug,
        },
        lifespan=_lifespan,
    )
    served.state.board = board
    return served


@asynccontextmanager
async def _lifespan(served: Starlette) -> AsyncIterator[None]:
    yield
    served.state.board.feed.close()
