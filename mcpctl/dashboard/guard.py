"""The checks of every request to the dashboard: its host, origin and login; and the headers of every answer.

Any page in the browser can make it send requests to this machine, and any program of any user here can connect. So a
request has to name us as its host, no other site may have caused it, and it needs a cookie or the token."""

import hmac
import os
from http import HTTPStatus
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mcpctl.base import posix
from mcpctl.base.errors import Refused
from mcpctl.dashboard.dashboard import Dashboard, body_of, dashboard_of, login_of
from mcpctl.dashboard.rendering import error_answer, one_line
from mcpctl.dashboard.running import Login
from mcpctl.wire.http_server import is_for, is_from

_AGAIN = "print a new link in a terminal: mcpctl dashboard --print-url"
_HEADERS = {
    b"content-security-policy":
        b"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:;"
        b" form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    # With no-referrer, a browser would send its own forms with the origin "null".
    b"referrer-policy": b"same-origin",
    b"x-content-type-options": b"nosniff",
    b"cache-control": b"no-store",
    b"x-frame-options": b"DENY",
    b"cross-origin-opener-policy": b"same-origin",
    b"cross-origin-resource-policy": b"same-origin",
}  # fmt: skip
_READING = ("GET", "HEAD")
_MOST_FIELDS = 100
_GO_ON = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><meta http-equiv="refresh" content="0; url=/">'
    '<title>mcpctl</title><p><a href="/">Go on to the dashboard</a></p>'
)


class Guard:
    def __init__(self, inner: ASGIApp, dashboard: Dashboard) -> None:
        self._inner = inner
        self._dashboard = dashboard
        self._hosts = {f"{host}:{dashboard.port}" for host in ("127.0.0.1", "localhost", "[::1]")}
        self._cookie = f"mcpctl_{dashboard.port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._inner(scope, receive, send)
        elif scope["type"] == "http":
            request = Request(scope)
            answer = self._refused_origin(request) or self._answer(request) or self._inner
            await answer(scope, receive, _with_headers(send))

    def _refused_origin(self, request: Request) -> Response | None:
        """The answer to a request that another site caused, or that is not for us."""
        hosts, origins = request.headers.getlist("host"), request.headers.getlist("origin")
        sites = request.headers.getlist("sec-fetch-site")
        if not is_for(hosts, self._hosts):
            return one_line(HTTPStatus.MISDIRECTED_REQUEST, "this dashboard has no such address")
        if request.method not in (*_READING, "POST"):
            answer = one_line(HTTPStatus.METHOD_NOT_ALLOWED, "this dashboard takes GET, HEAD and POST")
            answer.headers["allow"] = "GET, HEAD, POST"
            return answer
        is_elsewhere = any(site not in ("same-origin", "none") for site in sites)
        if not is_from(origins, (f"http://{hosts[0]}",)) or (is_elsewhere and not _follows_link(request)):
            return one_line(HTTPStatus.FORBIDDEN, "this dashboard does not answer other sites")
        return None

    def _answer(self, request: Request) -> Response | None:
        """The answer to a login, or to a request that may not go on; None lets it through."""
        path = request.url.path
        if path.startswith("/static/") and request.method in _READING:
            return None
        if path.startswith("/login/"):
            return self._log_in(request, path.removeprefix("/login/"))
        login = self._login(request)
        if login is None:
            answer = error_answer(request, Refused("you are not logged in", _AGAIN, "not_logged_in"), 401)
            answer.headers["www-authenticate"] = "Bearer"
            return answer
        request.state.login = login
        if request.method == "POST":
            if login.by_token:
                return error_answer(request, _TOKEN_READS)
            if _is_of_another_user(request):
                return one_line(HTTPStatus.FORBIDDEN, "a login is for the user who has logged in")
            if not request.headers.get("origin"):
                return one_line(HTTPStatus.FORBIDDEN, "this dashboard takes nothing without an Origin")
        return None

    def _log_in(self, request: Request, code: str) -> Response:
        """The answer to a login link, which only following it uses up."""
        if request.method != "GET" or any("purpose" in name for name in request.headers):  # Sec-Purpose: prefetch
            return one_line(HTTPStatus.FORBIDDEN, "a login link works only when it is opened")
        if _is_of_another_user(request):
            return one_line(HTTPStatus.FORBIDDEN, "a login link is for the user who has printed it")
        cookie = self._dashboard.logins.exchange(code)
        if cookie is None:
            if self._login(request):
                return RedirectResponse("/", HTTPStatus.SEE_OTHER)
            message = "this link does not log in: each does so once, within a minute"
            return error_answer(request, Refused(message, _AGAIN, "link_used"), 401)
        # A redirect counts as caused by the site that has the link; from another site it brings no cookie.
        is_elsewhere = request.headers.get("sec-fetch-site", "none") not in ("same-origin", "none")
        answer = HTMLResponse(_GO_ON) if is_elsewhere else RedirectResponse("/", HTTPStatus.SEE_OTHER)
        answer.set_cookie(self._cookie, cookie, path="/", httponly=True, samesite="strict")
        return answer

    def _login(self, request: Request) -> Login | None:
        if "authorization" in request.headers:
            kind, _, token = request.headers["authorization"].partition(" ")
            return self._dashboard.logins.of_bearer(token.strip()) if kind.lower() == "bearer" else None
        # Another site of this machine can add a cookie of the same name, which must not hide ours.
        pairs = (pair.strip().partition("=") for line in request.headers.getlist("cookie") for pair in line.split(";"))
        logins = (self._dashboard.logins.of_cookie(value) for name, _, value in pairs if name == self._cookie)
        return next(filter(None, logins), None)


_TOKEN_READS = Refused(
    "a token only reads", "answer in the browser, or in a terminal: mcpctl approvals allow", "token_only_reads"
)


def require_answering(request: Request) -> None:
    """Raise `Refused` unless a person's login, with its form token, may answer approvals in this dashboard."""
    login = login_of(request)
    hint = "answer in a terminal: mcpctl approvals allow, or deny"
    if login.by_token:
        raise _TOKEN_READS
    if dashboard_of(request).read_only:
        raise Refused("this dashboard is read-only", hint, "read_only")
    if not login.may_answer:
        raise Refused("this login only reads: its link was not printed for a person", hint, "login_only_reads")
    token = request.headers.get("x-form-token") or form_of(request).get("form_token", "")
    if not hmac.compare_digest(token.encode(), login.form_token.encode()):
        raise Refused("this form is not of your login", "load the page again, and answer there", "wrong_form_token")


def form_of(request: Request) -> dict[str, str]:
    """The fields of the form in the body; none for a body of another kind."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        return {}
    try:
        text = body_of(request).decode()
        return dict(parse_qsl(text, keep_blank_values=True, max_num_fields=_MOST_FIELDS))
    except ValueError:
        return {}


def _is_of_another_user(request: Request) -> bool:
    """Whether another user of this machine asks: they can see a link or get its cookie."""
    client, server = request.scope.get("client"), request.scope.get("server")
    owner = posix.owner_of_connection(client, server) if client and server else None
    return owner not in (None, 0, os.geteuid())  # root may do so anyway, and forwards ports for others


def _follows_link(request: Request) -> bool:
    """Whether a person followed a login link: in a terminal within a page, or in a mail."""
    mode, kind = request.headers.get("sec-fetch-mode"), request.headers.get("sec-fetch-dest")
    is_navigation = request.method == "GET" and (mode, kind) == ("navigate", "document")
    return is_navigation and request.url.path.startswith("/login/")


def _with_headers(send: Send) -> Send:
    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            others = [each for each in message.get("headers", ()) if each[0].lower() not in _HEADERS]
            message = {**message, "headers": [*others, *_HEADERS.items()]}
        await send(message)

    return sent
