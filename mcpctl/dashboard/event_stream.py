"""`GET /api/v1/events`: what happens, as server-sent events."""

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from starlette.responses import Response, StreamingResponse
from starlette.routing import BaseRoute, Route

from mcpctl.base.errors import McpctlError
from mcpctl.dashboard.board import board_of, login_of
from mcpctl.dashboard.error_answers import error_answer
from mcpctl.dashboard.feed import Feed
from mcpctl.dashboard.listener import Listener, Subscription
from mcpctl.dashboard.parameters import OF_CALLS, Parameters

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import Receive, Scope, Send

_PING_S = 15.0
_PING = b": ping\n\n"
_POLL_S = 30
_TYPE = "text/event-stream"
_HINT = f"ask for what you need every {_POLL_S} seconds"
_FULL = McpctlError("there are as many streams of events as there may be", f"close one, or {_HINT}", "too_many_streams")
_UNREADABLE = McpctlError("the events cannot be read now", _HINT, "not_readable")
PARAMETERS = ("since", "payloads", "approvals", *(name for name in OF_CALLS if name not in ("since", "until")))


def events(request: "Request") -> Response:
    """A stream of what happens since the position of `Last-Event-ID` or `since`, else from now on."""
    subscription = _subscription(request)
    if request.method == "HEAD":
        return Response(media_type=_TYPE)
    return _Stream(request, board_of(request).feed, subscription)


def _subscription(request: "Request") -> Subscription:
    given = Parameters(request.query_params.multi_items(), PARAMETERS)
    # Of a time nothing is asked, since all that comes is new: here `since` is where to begin.
    wanted = given.calls(since=None)
    if wanted.sessions:
        with board_of(request).records() as records:
            wanted = records.resolved(wanted)
    since = request.headers.get("last-event-id") or given.one("since")
    return Subscription(wanted, since, given.flag("payloads") is not False, given.flag("approvals") or False)


class _Stream(StreamingResponse):
    """Who is let in is known on the event loop, and what begins there has its end there, too."""

    def __init__(self, request: "Request", feed: Feed, subscription: Subscription) -> None:
        super().__init__((), media_type=_TYPE)
        self._request = request
        self._feed = feed
        self._subscription = subscription

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        listener = self._feed.join(login_of(self._request), self._subscription)
        try:
            # Before it has begun nothing is answered: what happens after the answer is in the stream.
            first = await listener.outlet.take() if listener else None
            if listener and first:
                self.body_iterator = self._blocks(listener, first)
                await super().__call__(scope, receive, send)
            else:
                refusal = error_answer(self._request, _UNREADABLE if listener else _FULL, 503)
                refusal.headers["Retry-After"] = str(_POLL_S)
                await refusal(scope, receive, send)
        finally:
            if listener:
                self._feed.leave(listener)

    async def _blocks(self, listener: Listener, first: bytes) -> AsyncIterator[bytes]:
        block: bytes | None = first
        while block is not None:
            yield block or _PING
            self._feed.hurry(listener)
            block = await listener.outlet.take(_PING_S)


ROUTES: list[BaseRoute] = [Route("/api/v1/events", events)]
