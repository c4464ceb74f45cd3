"""The page of totals: calls, failures, times and tokens, by day, tool, server and client."""

from collections.abc import Mapping

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from mcpctl.dashboard import charts, choices
from mcpctl.dashboard.board import Board, board_of
from mcpctl.dashboard.rendering import page
from mcpctl.dashboard.summaries import Summary
from mcpctl.models import Row
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


def stats(request: Request) -> Response:
    """What the calls on record come to."""
    board, since = board_of(request), choices.chosen_of(request, "since", _SINCE, _WINDOW)
    shown, wanted = _days(since)
    sort = choices.chosen_of(request, "sort", _SORTS, "calls")
    found: dict[str, Summary] = {}
    with board.records() as records:
        for name, groups in _GROUPS.items():
            # What one of them waits for is the time that the whole page has.
            patience = {} if not found else {"patience_s": 0.0}
            found[name] = board.summaries.totals(records, *groups, wanted=wanted, **patience)
    counted = {name: _sorted(name, summary, sort) for name, summary in found.items()}
    days = counted["day"]
    return page(
        request, "stats.html", is_counting=None in counted.values(), days=days, counted=counted,
        totals=counted["all"][0] if counted["all"] else None,
        calls=charts.calls(days or (), shown), times=charts.times(days or (), shown), percent=charts.percent,
        largest=charts.largest, most=MOST,
        as_of=min((each.counted_at for each in found.values() if each.counted_at), default=None),
        filters=[
            ("Since", choices.choices(request, "since", _SINCE, _WINDOW)),
            ("Order", choices.choices(request, "sort", _SORTS, "calls")),
        ],
    )  # fmt: skip


def prepare(board: Board) -> None:
    """Begin to count what the page shows first."""
    _, wanted = _days(_WINDOW)
    for groups in reversed(list(_GROUPS.values())):
        board.summaries.prepare(*groups, wanted=wanted)


def _days(since: str) -> tuple[charts.Days, CallFilter]:
    """The days that are drawn at least, and what is counted."""
    days = charts.Days.until_today(_DAYS.get(since, charts.FEWEST_DAYS))
    return days, CallFilter(since=days.begin if since in _DAYS else None)


def _sorted(name: str, summary: Summary, sort: str) -> list[Row] | None:
    """None while they are counted for the first time."""
    if summary.rows is None:
        return None
    by_size = name not in ("all", "day")
    return sorted(summary.rows, key=lambda row: -(row[sort] or 0)) if by_size else list(summary.rows)


ROUTES: list[BaseRoute] = [Route("/stats", stats)]
