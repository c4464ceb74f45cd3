"""Pages from the templates, and failures as answers: under /api the error object of the command line, elsewhere a page.

Every text in a page is escaped, and shows the characters that nobody would see."""

import json
import re
import shlex
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime
from functools import cache, partial
from http import HTTPStatus
from os import environ
from typing import Any, NamedTuple
from urllib.parse import quote

import jinja2
import msgspec
from markupsafe import Markup
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response

from mcpctl.answers import readable
from mcpctl.base.errors import McpctlError, NotFound, Refused, Unusable, UpstreamFailed, WrongUsage, warn
from mcpctl.base.models import OUTCOMES
from mcpctl.base.texts import duration, escaped
from mcpctl.catalog import rows
from mcpctl.catalog.cache import Catalog
from mcpctl.dashboard import badges, first_run
from mcpctl.dashboard.dashboard import Dashboard, Waiting, dashboard_of, login_of
from mcpctl.output import text
from mcpctl.policy import pausing, tokens

MOST_SHOWN = 1 << 16  # characters of one JSON text on a page; the whole is in the REST interface
_SHORTEST = 8  # characters of an id in a row, as in lists on a terminal
_LONGEST = 300  # characters of a text in a row of a table; the page of one thing shows it whole
_OUTCOMES = {status: outcome for outcome, statuses in OUTCOMES.items() for status in statuses}
_NAVIGATION = (
    ("/", "Overview"), ("/sessions", "Sessions"), ("/tool-calls", "Calls"), ("/tools", "Tools"),
    ("/servers", "Servers"), ("/stats", "Statistics"), ("/approvals", "Approvals"), ("/review", "Review"),
)  # fmt: skip
_STATUSES = (
    (NotFound, HTTPStatus.NOT_FOUND), (WrongUsage, HTTPStatus.BAD_REQUEST), (Refused, HTTPStatus.FORBIDDEN),
    (Unusable, HTTPStatus.SERVICE_UNAVAILABLE), (UpstreamFailed, HTTPStatus.BAD_GATEWAY),
)  # fmt: skip


def page(request: Request, template: str, status: int = 200, **values: Any) -> HTMLResponse:
    dashboard, login = dashboard_of(request), login_of(request)
    common = {
        "path": request.url.path, "navigation": _NAVIGATION, "login": login,
        "may_answer": login.may_answer and not dashboard.read_only, "waits": dashboard.waiting(),
        "paused": _paused(dashboard),
    }  # fmt: skip
    names = cache(partial(tokens.names, dashboard.paths))
    lazily = {
        "first_steps": partial(first_run.steps, dashboard),
        "token_name": lambda id_: names().get(id_, id_),
    }
    with _tools(dashboard) as is_tool:
        text = _templates().get_template(template).render(common | lazily | values | {"is_tool": is_tool})
    return HTMLResponse(text, status)


@contextmanager
def _tools(dashboard: Dashboard) -> Iterator[Callable[[str, str], bool]]:
    """Whether a tool exists, for the links of one page; the catalog is opened once a page has any."""
    with ExitStack() as stack:

        @cache
        def catalog() -> Catalog | None:
            with suppress(McpctlError):  # pages of tools say what is wrong with the configuration
                return stack.enter_context(dashboard.catalog())
            return None

        yield lambda server, tool: (known := catalog()) is not None and rows.shown(known, server, tool) is not None


def _paused(dashboard: Dashboard) -> str:
    with suppress(McpctlError):
        return paused.told if (paused := pausing.current(dashboard.paths)) else ""
    return ""


def _error_page(request: Request, error: McpctlError, status: int) -> HTMLResponse:
    """The page of a failure; without the names of the pages for a request that is not logged in."""
    login, path = getattr(request.state, "login", None), request.url.path
    dashboard = dashboard_of(request) if login and "app" in request.scope else None
    values = {
        "path": "", "navigation": _NAVIGATION if login else (), "login": login, "may_answer": True, "error": error,
        "waits": dashboard.waiting() if dashboard else Waiting(), "paused": "",
        "lists": [(name, target) for target, name in _NAVIGATION[1:] if path.startswith(f"{target}/")] if login else (),
        "missing": path.removeprefix("/tools/") if login and path.startswith("/tools/") else "",
    }  # fmt: skip
    return HTMLResponse(_templates().get_template("error.html").render(values), status)


def error_answer(request: Request, error: McpctlError, status: int | None = None) -> Response:
    if error.code == "changed_since":
        status = HTTPStatus.CONFLICT
    if status is None:
        status = next((code for kind, code in _STATUSES if isinstance(error, kind)), HTTPStatus.INTERNAL_SERVER_ERROR)
    return JSONResponse(error.body, status) if _is_api(request) else _error_page(request, error, status)


def one_line(status: int, text: str) -> Response:
    """The answer for strangers: a line from which they learn nothing."""
    return PlainTextResponse(f"{text}\n", status)


def of_mcpctl(request: Request, error: Exception) -> Response:
    assert isinstance(error, McpctlError)
    return error_answer(request, error)


def of_http(request: Request, error: Exception) -> Response:
    """The answer where there is no such page, or it does not take this method."""
    assert isinstance(error, HTTPException)
    if error.status_code == HTTPStatus.NOT_FOUND:
        hint = "GET /api/v1/openapi.json has all addresses" if _is_api(request) else "the pages are named at the top"
        return error_answer(request, NotFound("there is nothing at this address", hint))
    phrase = HTTPStatus(error.status_code).phrase.lower()
    described = McpctlError(phrase, "GET /api/v1/openapi.json describes all requests", phrase.replace(" ", "_"))
    return error_answer(request, described, error.status_code)


def of_bug(request: Request, error: Exception) -> Response:
    """The answer for an unforeseen failure, which only the terminal shows."""
    warn(f"internal error: {error!r}")
    if environ.get("MCPCTL_DEBUG"):
        for line in "".join(traceback.format_exception(error)).splitlines():
            warn(line)
    hint = "the terminal that started the dashboard says more"
    return error_answer(request, McpctlError("internal error", hint, "internal"))


def _is_api(request: Request) -> bool:
    return request.url.path.startswith("/api/")


@cache
def _templates() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("mcpctl.dashboard"), autoescape=True, undefined=jinja2.StrictUndefined,
        finalize=_visible, trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters.update(
        moment=_moment, local=_local, cut=_cut, answered=text.answered, from_json=from_json, name=_name,
        labelled=_labelled, age=_age, shell=shlex.quote,
        duration=lambda ms: "-" if ms is None else duration(ms),
        short=lambda id_: (id_ or "-")[:_SHORTEST],
        number=lambda value: "-" if value is None else f"{value:,}",
        words=lambda value: str(value).replace("_", " ").replace("-", " "),
        segment=partial(quote, safe=""),  # whatever slashes and dots it has
    )  # fmt: skip
    environment.globals.update(badges=badges.badges, hints_of=badges.hints_of, outcomes=_OUTCOMES)
    return environment


def _visible(value: Any) -> Any:
    """The value of an expression in a template, without directions, controls and unseen characters of records."""
    if isinstance(value, Markup) or not isinstance(value, str):
        return value
    return "\n".join(map(escaped, value.split("\n"))) if "\n" in value else escaped(value)


def _moment(timestamp: str | None, *, is_whole: bool = False) -> Markup:
    """A time of records as the local time; with the day if that is not today, or where it `is_whole`."""
    then = _here(timestamp)
    if timestamp is None or then is None:
        return Markup('<span class="none">{}</span>').format(_visible(timestamp or "-"))
    whole = f"{then:%Y-%m-%d %H:%M:%S %Z}"
    return Markup('<time datetime="{}" title="{}">{}</time>').format(
        timestamp, whole, whole if is_whole else _local(timestamp)
    )


def _age(timestamp: str | None) -> Markup:
    """A time of records as how long ago it was, in hours or days: less would make a page another every minute."""
    then = _here(timestamp)
    if then is None:
        return _moment(timestamp)
    hours = int((datetime.now().astimezone() - then).total_seconds() // 3600)
    text = "in the last hour" if hours < 1 else f"{hours} h ago" if hours < 48 else f"{hours // 24} days ago"
    return Markup('<time datetime="{}" title="{}">{}</time>').format(timestamp, f"{then:%Y-%m-%d %H:%M:%S %Z}", text)


def _local(timestamp: str | None) -> str:
    then = _here(timestamp)
    if then is None:
        return timestamp or "-"
    today = datetime.now().astimezone().date()
    if then.date() == today:
        return f"{then:%H:%M:%S}"
    return f"{then:%b} {then.day} {then:%H:%M:%S}" if then.year == today.year else f"{then:%Y-%m-%d %H:%M:%S}"


def _here(timestamp: str | None) -> datetime | None:
    try:
        return datetime.fromisoformat(timestamp).astimezone() if timestamp else None
    except (ValueError, OverflowError):
        return None


def _name(text: str) -> Markup:
    """A name that a narrow column breaks between its words, if it must."""
    return Markup(re.sub("(?<=[:_./-])(?=[A-Za-z])", "<wbr>", str(Markup.escape(_visible(text)))))


_CELL = re.compile(r"<(tr|td|th)\b([^>]*)>")
_HEADING = re.compile(r"<(t[dh])\b[^>]*>(.*?)</\1>")


def _labelled(table: Markup) -> Markup:
    """A table whose cells repeat their headings, which stand beside them where rows are stacked."""
    head, end, body = str(table).partition("</thead>")
    labels = ["" if "unseen" in text else re.sub("<[^>]*>", "", text) for _, text in _HEADING.findall(head)]
    place = 0

    def labelled(match: re.Match[str]) -> str:
        nonlocal place
        tag, attributes = match.groups()
        place = 0 if tag == "tr" else place + 1
        label = labels[place - 1] if tag == "td" and 0 < place <= len(labels) else ""
        return f'<{tag}{attributes} data-label="{label}">' if label else match[0]

    return Markup(head + end + _CELL.sub(labelled, body))


def from_json(recorded: str | bytes | None) -> Any:
    """The value of recorded JSON; None where it cannot be read."""
    try:
        return json.loads(recorded or "null")
    except (ValueError, RecursionError):
        return None


def _cut(value: Any, longest: int = _LONGEST) -> str:
    text = "" if value is None else str(value)
    return text if len(text) <= longest else text[: longest - 1] + "…"


class Excerpt(NamedTuple):
    text: str
    size: int

    @property
    def is_cut(self) -> bool:
        return self.size > len(self.text)


def indented(recorded: str | None) -> Excerpt | None:
    if recorded is None or recorded == "null":
        return None
    try:
        # Decoded and encoded, so that escapes become the letters that they stand for.
        text = msgspec.json.format(msgspec.json.encode(msgspec.json.decode(str(recorded))), indent=2).decode()
    except (ValueError, RecursionError):
        text = recorded
    return Excerpt(text[:MOST_SHOWN], len(text))


def texts(recorded: str | None) -> list[str]:
    """The texts of a tool's result; none where they are together too long."""
    try:
        found = [text.decode("utf-8", "replace") for text in readable.of_result((recorded or "null").encode()).texts]
    except ValueError:
        return []
    return found if 0 < sum(map(len, found)) <= MOST_SHOWN else []
