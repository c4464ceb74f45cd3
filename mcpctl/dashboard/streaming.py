"""REST answers that are sent while they are made: the export of all calls, and the events as they happen."""

import asyncio
from collections.abc import AsyncIterator, Generator
from concurrent.futures import ThreadPoolExecutor

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from mcpctl.base import fields
from mcpctl.base.errors import McpctlError
from mcpctl.base.fields import CALL_FIELDS, CALL_PAYLOADS
from mcpctl.dashboard.dashboard import Dashboard, dashboard_of, login_of
from mcpctl.dashboard.event_feed import Listener, Subscription
from mcpctl.dashboard.rendering import error_answer
from mcpctl.dashboard.rest import OF_CALLS, Operation, Parameters
from mcpctl.dashboard.rest_names import EXPORTED
from mcpctl.output import csv_lines, to_json
from mcpctl.store.filters import CallFilter

_EXPORT_TYPES = {"jsonl": "application/x-ndjson", "csv": "text/csv; charset=utf-8"}
_BYTES_AT_ONCE = 1 << 16
_EXPORT_RETRY_S = 10
_EXPORTS_FULL = McpctlError("too many exports are running", "ask again when one has ended", "too_many_exports")
_EVENTS_TYPE = "text/event-stream"
_PING_S = 15.0
_PING = b": ping\n\n"
_POLL_S = 30
_POLL_HINT = f"ask for what you need every {_POLL_S} seconds"
_STREAMS_FULL = McpctlError("too many event streams are open", f"close one, or {_POLL_HINT}", "too_many_streams")
_UNREADABLE = McpctlError("the events cannot be read now", _POLL_HINT, "not_readable")
EVENT_PARAMETERS = ("since", "payloads", "approvals", *(name for name in OF_CALLS if name not in ("since", "until")))


def export(request: Request, query: Parameters) -> Response:
    """The calls that match the filters, newest first; a million of them take no more memory than one."""
    dashboard, format = dashboard_of(request), query.choice("format", tuple(_EXPORT_TYPES)) or "jsonl"
    every = (*CALL_FIELDS, *fields.names(fields.Stored)) if dashboard.store else CALL_FIELDS
    shown = [name for name in every if query.flag("payloads") is not False or name not in CALL_PAYLOADS]
    wanted = query.calls()
    with dashboard.records() as records:
        wanted = records.resolved(wanted)
    if request.method == "HEAD":
        return Response(media_type=_EXPORT_TYPES[format])
    return _Export(request, _chunks(dashboard, wanted, shown, format), format)


EXPORT = Operation("/export", export, "", (*OF_CALLS, "format", "payloads"), kinds=tuple(_EXPORT_TYPES.values()))


class _Export(StreamingResponse):
    """An export, let in and out on the event loop, whatever becomes of its client."""

    def __init__(self, request: Request, chunks: Generator[bytes], format: str) -> None:
        headers = {"content-disposition": f'attachment; filename="calls.{format}"'}
        super().__init__(_read(chunks), media_type=_EXPORT_TYPES[format], headers=headers)
        self._request = request

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        exports = dashboard_of(self._request).exports
        if exports.locked():
            await _refusal(self._request, _EXPORTS_FULL, _EXPORT_RETRY_S)(scope, receive, send)
            return
        async with exports:
            await super().__call__(scope, receive, send)


def _chunks(dashboard: Dashboard, wanted: CallFilter, shown: list[str], format: str) -> Generator[bytes]:
    names = [EXPORTED[field] for field in shown]
    with dashboard.records() as records:
        rows = (dict(zip(names, row.values(), strict=True)) for row in records.calls(wanted, shown).rows(None, 0))
        lines = csv_lines.lines(rows, names) if format == "csv" else map(to_json, rows)
        chunk = bytearray()
        for line in lines:
            chunk += f"{line}\n".encode("utf-8", "backslashreplace")
            if len(chunk) >= _BYTES_AT_ONCE:
                yield bytes(chunk)
                chunk.clear()
        if chunk:
            yield bytes(chunk)


async def _read(chunks: Generator[bytes]) -> AsyncIterator[bytes]:
    """The chunks, read in one thread: a database belongs to the thread that opened it."""
    thread = ThreadPoolExecutor(1, "export")
    try:
        while chunk := await asyncio.get_running_loop().run_in_executor(thread, next, chunks, b""):
            yield chunk
    finally:
        thread.submit(chunks.close)  # after the chunk that is being read then
        thread.shutdown(wait=False)


def events(request: Request) -> Response:
    """The events since the position of `Last-Event-ID` or `since`, else from now on."""
    query = Parameters(request.query_params.multi_items(), EVENT_PARAMETERS)
    wanted = query.calls(since=None)  # all that comes is new: here `since` is a position
    if wanted.sessions:
        with dashboard_of(request).records() as records:
            wanted = records.resolved(wanted)
    since = request.headers.get("last-event-id") or query.one("since")
    subscription = Subscription(wanted, since, query.flag("payloads") is not False, query.flag("approvals") or False)
    if request.method == "HEAD":
        return Response(media_type=_EVENTS_TYPE)
    return _Events(request, subscription)


class _Events(StreamingResponse):
    """A stream that joins the feed on the event loop, and leaves it there."""

    def __init__(self, request: Request, subscription: Subscription) -> None:
        super().__init__((), media_type=_EVENTS_TYPE)
        self._request = request
        self._subscription = subscription
        self._feed = dashboard_of(request).feed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        listener = self._feed.join(login_of(self._request), self._subscription)
        try:
            # Nothing is answered before the stream has begun: what happens after the answer is in the stream.
            first = await listener.outlet.take() if listener else None
            if listener and first:
                self.body_iterator = self._blocks(listener, first)
                await super().__call__(scope, receive, send)
            else:
                error = _UNREADABLE if listener else _STREAMS_FULL
                await _refusal(self._request, error, _POLL_S)(scope, receive, send)
        finally:
            if listener:
                self._feed.leave(listener)

    async def _blocks(self, listener: Listener, first: bytes) -> AsyncIterator[bytes]:
        block: bytes | None = first
        while block is not None:
            yield block or _PING
            self._feed.hurry(listener)
            block = await listener.outlet.take(_PING_S)


def _refusal(request: Request, error: McpctlError, retry_after_s: int) -> Response:
    refusal = error_answer(request, error, 503)
    refusal.headers["Retry-After"] = str(retry_after_s)
    return refusal
