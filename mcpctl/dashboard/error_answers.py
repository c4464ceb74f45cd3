"""Failures as answers: the error object of the command line under /api, elsewhere a page."""

import traceback
from http import HTTPStatus
from os import environ
from typing import TYPE_CHECKING

from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, PlainTextResponse, Response

from mcpctl.base.errors import McpctlError, NotFound, Refused, Unusable, UpstreamFailed, WrongUsage, warn
from mcpctl.dashboard.rendering import error_page

if TYPE_CHECKING:
    from starlette.requests import Request

_STATUSES = (
    (NotFound, HTTPStatus.NOT_FOUND), (WrongUsage, HTTPStatus.BAD_REQUEST), (Refused, HTTPStatus.FORBIDDEN),
    (Unusable, HTTPStatus.SERVICE_UNAVAILABLE), (UpstreamFailed, HTTPStatus.BAD_GATEWAY),
)  # fmt: skip


def error_answer(request: "Request", error: McpctlError, status: int | None = None) -> Response:
    if status is None:
        status = next((code for kind, code in _STATUSES if isinstance(error, kind)), HTTPStatus.INTERNAL_SERVER_ERROR)
    return JSONResponse(error.body, status) if _is_api(request) else error_page(request, error, status)


def one_line(status: int, text: str) -> Response:
    """The answer for strangers: a line from which they learn nothing."""
    return PlainTextResponse(f"{text}\n", status)


def of_mcpctl(request: "Request", error: Exception) -> Response:
    assert isinstance(error, McpctlError)
    return error_answer(request, error)


def of_http(request: "Request", error: Exception) -> Response:
    """The answer where there is no such page, or it does not take this method."""
    assert isinstance(error, HTTPException)
    if error.status_code == HTTPStatus.NOT_FOUND:
        hint = "GET /api/v1/openapi.json has all addresses" if _is_api(request) else "the pages are named at the top"
        return error_answer(request, NotFound("there is nothing at this address", hint))
    phrase = HTTPStatus(error.status_code).phrase.lower()
    described = McpctlError(phrase, "GET /api/v1/openapi.json describes all requests", phrase.replace(" ", "_"))
    return error_answer(request, described, error.status_code)


def of_bug(request: "Request", error: Exception) -> Response:
    """The answer for an unforeseen failure, which only the terminal shows."""
    warn(f"internal error: {error!r}")
    if environ.get("MCPCTL_DEBUG"):
        for line in "".join(traceback.format_exception(error)).splitlines():
            warn(line)
    hint = "the terminal that started the dashboard says more"
    return error_answer(request, McpctlError("internal error", hint, "internal"))


def _is_api(request: "Request") -> bool:
    return request.url.path.startswith("/api/")
