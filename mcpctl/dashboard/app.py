"""The dashboard as an ASGI application: its addresses, and the bodies of requests, which are read before a handler runs
in its thread, where it cannot wait for them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Receive, Scope, Send

from mcpctl.base.errors import McpctlError, WrongUsage
from mcpctl.dashboard import (
    approvals,
    calls,
    decisions,
    overview,
    reads,
    rendering,
    review,
    servers,
    sessions,
    stats,
    streaming,
    tool_hints,
    tools,
)
from mcpctl.dashboard.dashboard import Dashboard
from mcpctl.dashboard.guard import Guard
from mcpctl.dashboard.rendering import error_answer
from mcpctl.dashboard.rest import BASE, Operation, Parameters, answer

MOST_BYTES = 1 << 16  # bytes of a request's body
_READ_S = 10
_TOO_LARGE = (
    WrongUsage(f"the body has more than {MOST_BYTES >> 10} kB", "send less", "body_too_large"),
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
)
_TOO_SLOW = (
    WrongUsage(f"the body took more than {_READ_S} s", "send it at once", "body_too_slow"), HTTPStatus.REQUEST_TIMEOUT,
)  # fmt: skip
_STATIC = Path(__file__).parent / "static"
_SUBJECTS = (sessions, calls, stats, tools, servers, approvals, review, tool_hints)
_FORMS = approvals.FORMS | review.FORMS | tool_hints.FORMS


def openapi(request: Request, query: Parameters) -> Response:
    """The operations, their parameters and their answers."""
    from mcpctl.dashboard.openapi import document  # pydantic takes longer to load than all the rest

    return answer(document(BASE, OPERATIONS))


OPERATIONS: tuple[Operation, ...] = (
    *(operation for subject in (*_SUBJECTS, decisions, reads) for operation in subject.OPERATIONS),
    streaming.EXPORT,
    Operation("/openapi.json", openapi, ""),
)
_ROUTES: list[BaseRoute] = [
    *(Route(path, page) for subject in (overview, *_SUBJECTS) for path, page in subject.PAGES.items()),
    *(Route(path, form, methods=["POST"]) for path, form in _FORMS.items()),
    *(Route(f"{BASE}{each.path}", each.run, methods=[each.method], name=each.answer.__name__) for each in OPERATIONS),
    Route(f"{BASE}/events", streaming.events),
    Mount("/static", StaticFiles(directory=_STATIC)),
]


def guarded(dashboard: Dashboard) -> Guard:
    return Guard(app(dashboard), dashboard)


def app(dashboard: Dashboard) -> Starlette:
    served = Starlette(
        routes=_ROUTES,
        middleware=[Middleware(_Bodies)],
        exception_handlers={
            McpctlError: rendering.of_mcpctl,
            HTTPException: rendering.of_http,
            Exception: rendering.of_bug,
        },
        lifespan=_lifespan,
    )
    served.state.dashboard = dashboard
    return served


@asynccontextmanager
async def _lifespan(served: Starlette) -> AsyncIterator[None]:
    yield
    served.state.dashboard.feed.close()


class _Bodies:
    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer = self._app
        if scope["type"] == "http" and scope["method"] not in ("GET", "HEAD"):
            request = Request(scope, receive)
            try:
                if problem := await _read(request):
                    answer = error_answer(request, *problem)
            except ClientDisconnect:
                return
        await answer(scope, receive, send)


async def _read(request: Request) -> tuple[WrongUsage, HTTPStatus] | None:
    """Put the body into the request's state; the problem of one that is too large or too slow."""
    body = b""
    try:
        async with asyncio.timeout(_READ_S):
            async for part in request.stream():
                body += part
                if len(body) > MOST_BYTES:
                    return _TOO_LARGE
    except TimeoutError:
        return _TOO_SLOW
    request.state.body = body
    return None
