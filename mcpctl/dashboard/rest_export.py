"""All calls as lines or comma-separated values, sent while they are read."""

import asyncio
from collections.abc import AsyncIterator, Generator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from starlette.responses import Response, StreamingResponse

from mcpctl.base.errors import McpctlError
from mcpctl.base.fields import CALL_FIELDS, CALL_PAYLOADS
from mcpctl.dashboard.board import Board, board_of
from mcpctl.dashboard.error_answers import error_answer
from mcpctl.dashboard.parameters import OF_CALLS, Parameters
from mcpctl.dashboard.rest_answers import Operation
from mcpctl.dashboard.rest_names import EXPORTED
from mcpctl.output import csv_lines, to_json
from mcpctl.store.filters import CallFilter

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import Receive, Scope, Send

_TYPES = {"jsonl": "application/x-ndjson", "csv": "text/csv; charset=utf-8"}
_BYTES_AT_ONCE = 1 << 16
_SOON_S = "10"
_FULL = McpctlError(
    "there are as many exports as there may be at once", "ask again when one has ended", "too_many_exports"
)


def export(request: "Request", asked: Parameters) -> Response:
    """The calls that are meant, newest first; it takes no more memory for a million of them than for one."""
    board, format = board_of(request), asked.choice("format", tuple(_TYPES)) or "jsonl"
    fields = [name for name in CALL_FIELDS if asked.flag("payloads") is not False or name not in CALL_PAYLOADS]
    wanted = asked.calls()
    with board.records() as records:
        wanted = records.resolved(wanted)
    if request.method == "HEAD":
        return Response(media_type=_TYPES[format])
    return _Export(request, _chunks(board, wanted, fields, format), format)


class _Export(StreamingResponse):
    """It is let in on the event loop, and leaves there, whatever becomes of its reader."""

    def __init__(self, request: "Request", chunks: Generator[bytes], format: str) -> None:
        headers = {"content-disposition": f'attachment; filename="calls.{format}"'}
        super().__init__(_read(chunks), media_type=_TYPES[format], headers=headers)
        self._request = request

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        exports = board_of(self._request).exports
        if exports.locked():
            refusal = error_answer(self._request, _FULL, 503)
            refusal.headers["Retry-After"] = _SOON_S
            await refusal(scope, receive, send)
            return
        async with exports:
            await super().__call__(scope, receive, send)


def _chunks(board: Board, wanted: CallFilter, fields: list[str], format: str) -> Generator[bytes]:
    names = [EXPORTED[field] for field in fields]
    with board.records() as records:
        rows = (dict(zip(names, row.values(), strict=True)) for row in records.calls(wanted, fields).rows(None, 0))
        lines = csv_lines.lines(rows, names) if format == "csv" else map(to_json, rows)
        some = bytearray()
        for line in lines:
            some += f"{line}\n".encode("utf-8", "backslashreplace")
            if len(some) >= _BYTES_AT_ONCE:
                yield bytes(some)
                some.clear()
        if some:
            yield bytes(some)


async def _read(chunks: Generator[bytes]) -> AsyncIterator[bytes]:
    """What is read in one thread of its own: a database belongs to the thread that opened it."""
    thread = ThreadPoolExecutor(1, "export")
    try:
        while chunk := await asyncio.get_running_loop().run_in_executor(thread, next, chunks, b""):
            yield chunk
    finally:
        thread.submit(chunks.close)  # what is being read then is read to its end before
        thread.shutdown(wait=False)


_FILTERS = (*OF_CALLS, "format", "payloads")
OPERATIONS = (Operation("/export", export, "", _FILTERS, kinds=tuple(_TYPES.values())),)
