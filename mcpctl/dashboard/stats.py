"""Totals as REST answers and as a page: calls, failures, times and tokens, by day, tool, server and client."""

from collections.abc import Mapping, Sequence

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from mcpctl.base.fields import TOTAL_FIELDS
from mcpctl.base.models import Found, Row
from mcpctl.dashboard import charts, rest_names
from mcpctl.dashboard.board import board_of
from mcpctl.dashboard.links import Asked
from mcpctl.dashboard.parameters import OF_CALLS, WINDOW, Parameters
from mcpctl.dashboard.rendering import page
from mcpctl.dashboard.rest_answers import Operation, listing
from mcpctl.store import filters
from mcpctl.store.filters import CallFilter

MOST = 50
"""Rows of each table: those with the most calls, or the most of what they are sorted by."""
_DAYS = {"7d": 7, "30d": 30}
_SINCE = {"7d": "7 days", "30d": "30 days", "all": "All"}
_SORTS = {"calls": "Calls", "failed": "Failures", "p95_ms": "p95", "total_tokens": "Tokens"}
_GROUPS: Mapping[str, tuple[str, ...]] = {
    "all": (), "day": ("day",), "tool": ("server", "tool"), "server": ("server",), "client": ("client_name",),
}  # fmt: skip
_WINDOW = "30d"
"""What is shown first."""


def stats(request: Request, asked: Parameters) -> Response:
    """Calls, failures, times and tokens, a row for each group."""
    groups = filters.grouping(asked.several("by", filters.GROUPS))
    sort, wanted = asked.choice("sort", TOTAL_FIELDS), asked.calls()
    with board_of(request).records() as records:
        rows = records.totals(*groups, wanted=records.resolved(wanted), sort=sort)
    return listing(asked, "stats", Found.of(rows), rest_names.total(groups))


def stats_page(request: Request) -> Response:
    """What the calls on record come to."""
    board, asked = board_of(request), Asked.of(request, ("since", "sort"))
    since, sort = asked.one_of("since", _SINCE, _WINDOW), asked.one_of("sort", _SORTS, "calls")
    shown, wanted = _days(since)
    with board.records() as records:
        found = {name: board.summaries.totals(records, *groups, wanted=wanted) for name, groups in _GROUPS.items()}
    counted = {name: _sorted(name, summary.rows, sort) for name, summary in found.items()}
    days = counted["day"]
    return page(
        request, "stats.html", days=days, counted=counted, totals=counted["all"][0],
        calls=charts.calls(days, shown), times=charts.times(days, shown), percent=charts.percent,
        largest=charts.largest, most=MOST,
        as_of=min((each.counted_at for each in found.values() if each.counted_at), default=None),
        filters=[asked.orders("Since", "since", _SINCE, _WINDOW), asked.orders("Order", "sort", _SORTS, "calls")],
    )  # fmt: skip


def _days(since: str) -> tuple[charts.Days, CallFilter]:
    """The days that are drawn at least, and what is counted."""
    days = charts.Days.until_today(_DAYS.get(since, charts.FEWEST_DAYS))
    return days, CallFilter(since=days.begin if since in _DAYS else None)


def _sorted(name: str, rows: Sequence[Row], sort: str) -> Sequence[Row]:
    return rows if name in ("all", "day") else sorted(rows, key=lambda row: -(row[sort] or 0))


OPERATIONS = (Operation("/stats", stats, "StatList", (*WINDOW, "by", "sort", *OF_CALLS)),)
PAGES: list[BaseRoute] = [Route("/stats", stats_page)]
