"""The bodies of requests: read whole and in bounds before a handler runs, which is in a thread and cannot wait."""

import asyncio
from http import HTTPStatus
from typing import TYPE_CHECKING

from starlette.requests import ClientDisconnect, Request

from mcpctl.base.errors import WrongUsage
from mcpctl.dashboard.error_answers import error_answer

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST = 1 << 16
"""Bytes of a request's body."""
_READ_S = 10


class Bodies:
    """The application, with each request's body in its state."""

    def __init__(self, app: "ASGIApp") -> None:
        self._app = app

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Pass a request on with its body, or answer that it has too much of one."""
        if scope["type"] != "http" or scope["method"] in ("GET", "HEAD"):
            await self._app(scope, receive, send)
            return
        request = Request(scope, receive)
        body = b""
        try:
            async with asyncio.timeout(_READ_S):
                async for part in request.stream():
                    body += part
                    if len(body) > MOST:
                        raise WrongUsage(f"the body has more than {MOST >> 10} kB", "send less", "body_too_large")
        except ClientDisconnect:
            return
        except WrongUsage as error:
            await error_answer(request, error, HTTPStatus.REQUEST_ENTITY_TOO_LARGE)(scope, receive, send)
            return
        except TimeoutError:
            slow = WrongUsage(f"the body took more than {_READ_S} s", "send it at once", "body_too_slow")
            await error_answer(request, slow, HTTPStatus.REQUEST_TIMEOUT)(scope, receive, send)
            return
        request.state.body = body
        unread: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def again() -> "Message":
            return unread.pop() if unread else await receive()

        await self._app(scope, again, send)
