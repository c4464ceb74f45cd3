"""Pages of the templates: every text in them is escaped, and shows what a person would not see."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import jinja2
from markupsafe import Markup
from starlette.responses import HTMLResponse

from mcpctl.base.errors import McpctlError
from mcpctl.base.texts import escaped
from mcpctl.catalog import rows
from mcpctl.dashboard import badges
from mcpctl.dashboard.board import board_of, login_of
from mcpctl.output import text
from mcpctl.policy import answering
from mcpctl.store.filters import FAILED

if TYPE_CHECKING:
    from starlette.requests import Request

    from mcpctl.catalog.cache import Catalog
    from mcpctl.dashboard.board import Board

_SHORTEST = 8
"""Characters of an id that a row gets, as lists on a terminal have it."""
LONGEST = 300
"""Characters of a text that a row of a table gets; a page of one thing shows it whole."""
_BROKEN = tuple(status for status in FAILED if status != "denied")
"""The statuses of calls that pages count as failed."""
_NAVIGATION = (
    ("/", "Overview"), ("/sessions", "Sessions"), ("/tool-calls", "Calls"), ("/tools", "Tools"),
    ("/servers", "Servers"), ("/approvals", "Approvals"), ("/stats", "Statistics"),
)  # fmt: skip


def page(request: "Request", template: str, status: int = 200, **shown: Any) -> HTMLResponse:
    """A page of a template with what it is to show."""
    board, login = board_of(request), login_of(request)
    may_answer = login.may_answer and not board.read_only
    common = {
        "path": request.url.path, "navigation": _NAVIGATION, "login": login, "may_answer": may_answer,
        "waits": _waits(board),
    }  # fmt: skip
    with _tools(board) as is_tool:
        text = _templates().get_template(template).render(common | shown | {"is_tool": is_tool})
    return HTMLResponse(text, status)


@contextmanager
def _tools(board: "Board") -> Iterator[Callable[[str, str], bool]]:
    """Tells whether there is such a tool, for the links of one page; asked of the catalog once a page has any."""
    with ExitStack() as stack:

        @cache
        def catalog() -> "Catalog | None":
            with suppress(McpctlError):  # what is wrong with the configuration is told where tools are shown
                return stack.enter_context(board.catalog())
            return None

        yield lambda server, tool: (known := catalog()) is not None and rows.shown(known, server, tool) is not None


def _waits(board: "Board") -> int:
    """How many calls wait for a yes, for every page."""
    with suppress(McpctlError):  # what is wrong with the file, the page of approvals says
        return answering.rows(board.paths, pending=True).count()
    return 0


def error_page(request: "Request", error: McpctlError, status: int) -> HTMLResponse:
    """The page that says what failed; without the names of the pages to whoever is not logged in."""
    login = getattr(request.state, "login", None)
    shown = {
        "path": "", "navigation": _NAVIGATION if login else (), "login": login, "may_answer": True, "error": error,
        "waits": 0,
    }  # fmt: skip
    return HTMLResponse(_templates().get_template("error.html").render(shown), status)


@cache
def _templates() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("mcpctl.dashboard"), autoescape=True, undefined=jinja2.StrictUndefined,
        finalize=_visible, trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters.update(
        moment=moment, local=local, short=_short, cut=_cut, duration=duration, number=number,
        answered=text.answered, words=_words, from_json=from_json, segment=_segment, name=_name,
    )  # fmt: skip
    environment.globals.update(badges=badges.badges, known=badges.known, broken=",".join(_BROKEN))
    return environment


def _visible(value: Any) -> Any:
    """What an expression of a template writes: no direction, no control and nothing unseen comes from a record."""
    return value if isinstance(value, Markup) or not isinstance(value, str) else _lines(value)


def _lines(text: str) -> str:
    return "\n".join(map(escaped, text.split("\n"))) if "\n" in text else escaped(text)


def moment(timestamp: str | None, *, is_whole: bool = False) -> Markup:
    """A time of records as the time here; that of a day which is not today, or that `is_whole`, with the day."""
    then = _here(timestamp)
    if timestamp is None or then is None:
        return Markup('<span class="none">{}</span>').format(_visible(timestamp or "-"))
    whole = f"{then:%Y-%m-%d %H:%M:%S %Z}"
    return Markup('<time datetime="{}" title="{}">{}</time>').format(
        timestamp, whole, whole if is_whole else local(timestamp)
    )


def local(timestamp: str | None) -> str:
    """A time of records as the time here, in words alone."""
    then = _here(timestamp)
    if then is None:
        return timestamp or "-"
    is_today = then.date() == datetime.now().astimezone().date()
    return then.strftime("%H:%M:%S" if is_today else "%Y-%m-%d %H:%M:%S")


def _here(timestamp: str | None) -> datetime | None:
    try:
        return datetime.fromisoformat(timestamp).astimezone() if timestamp else None
    except (ValueError, OverflowError):
        return None


def duration(milliseconds: int | None) -> str:
    """Milliseconds as people read them."""
    if milliseconds is None:
        return "-"
    return f"{milliseconds} ms" if milliseconds < 10_000 else f"{milliseconds / 1000:,.1f} s"


def number(value: int | None) -> str:
    """A number with its thousands set apart."""
    return "-" if value is None else f"{value:,}"


def _name(text: str) -> Markup:
    """A name that a narrow column breaks between its words, if it must."""
    return Markup(re.sub("(?<=[:_./-])(?=[A-Za-z])", "<wbr>", str(Markup.escape(_visible(text)))))


def _words(value: Any) -> str:
    return str(value).replace("_", " ").replace("-", " ")


def from_json(recorded: str | bytes | None) -> Any:
    """What recorded JSON says; None where it cannot be read."""
    try:
        return json.loads(recorded or "null")
    except (ValueError, RecursionError):
        return None


def _segment(text: str) -> str:
    """A text as one segment of an address, whatever slashes and dots it has."""
    return quote(text, safe="")


def _short(id_: str | None) -> str:
    return (id_ or "-")[:_SHORTEST]


def _cut(value: Any, longest: int = LONGEST) -> str:
    text = "" if value is None else str(value)
    return text if len(text) <= longest else text[: longest - 1] + "…"
