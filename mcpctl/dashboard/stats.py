"""Totals as REST answers and as a page: calls, failures, times and tokens, by day, tool, server and client."""

from collections.abc import Mapping

from starlette.requests import Request
from starlette.responses import Response

from mcpctl.base.errors import WrongUsage
from mcpctl.base.models import Found
from mcpctl.dashboard import charts, rest_names
from mcpctl.dashboard.dashboard import dashboard_of
from mcpctl.dashboard.page_query import PageQuery
from mcpctl.dashboard.rendering import page
from mcpctl.dashboard.rest import OF_CALLS, WINDOW, Operation, Parameters, listing
from mcpctl.store import filters
from mcpctl.store.filters import CallFilter

_MOST = 50  # rows of each table: those with the most calls, or the most of what they are sorted by
_DAYS = {"7d": 7, "30d": 30}
_SINCE = {"7d": "7 days", "30d": "30 days", "all": "All"}
_SORTS = {"calls": "Calls", "failed": "Failures", "p95_ms": "p95", "total_tokens": "Tokens"}
_GROUPS: Mapping[str, tuple[str, ...]] = {
    "all": (), "day": ("day",), "tool": ("server", "tool"), "server": ("server",), "client": ("client_name",),
}  # fmt: skip
_KINDS = ("call", "read")
_SORTED = ("tool", "server", "client")
_WINDOW = "30d"  # shown first


def stats(request: Request, query: Parameters) -> Response:
    """Calls, failures, times and tokens, a row for each group."""
    by, of_reads = query.several("by", (*filters.GROUPS, filters.ERROR)), query.choice("kind", _KINDS) == "read"
    groups, sort, wanted = filters.grouping(by), query.choice("sort", filters.sorts(by)), query.calls()
    if of_reads and (filters.ERROR in by or not filters.is_of_reads(wanted)):
        raise WrongUsage("reads have no tool, hint, arg, error, code or redacted", "leave them out, or kind=read")
    with dashboard_of(request).records() as records:
        if by == (filters.ERROR,):
            return listing(query, "stats", records.errors(records.resolved(wanted), sort), rest_names.ERROR_GROUP)
        rows = records.totals(*groups, criteria=records.resolved(wanted), sort=sort, of_reads=of_reads)
    return listing(query, "stats", Found.of(rows), rest_names.total(groups))


def stats_page(request: Request) -> Response:
    dashboard, query = dashboard_of(request), PageQuery.of(request, ("since", "sort"))
    since, sort = query.one_of("since", _SINCE, _WINDOW), query.one_of("sort", _SORTS, "calls")
    shown = charts.Days.until_today(_DAYS.get(since, charts.FEWEST_DAYS))
    wanted = CallFilter(since=shown.begin if since in _DAYS else None)
    with dashboard.records() as records:
        found = {name: dashboard.summaries.totals(records, *groups, wanted=wanted) for name, groups in _GROUPS.items()}
    counted = {name: summary.rows for name, summary in found.items()}
    counted |= {name: sorted(counted[name], key=lambda row: -(row[sort] or 0)) for name in _SORTED}
    days = counted["day"]
    return page(
        request, "stats.html", days=days, counted=counted, totals=counted["all"][0],
        calls=charts.calls(days, shown), times=charts.times(days, shown), percent=charts.percent,
        largest=charts.largest, most=_MOST,
        as_of=min((each.counted_at for each in found.values() if each.counted_at), default=None),
        filters=[query.orders("Since", "since", _SINCE, _WINDOW), query.orders("Order", "sort", _SORTS, "calls")],
    )  # fmt: skip


OPERATIONS = (Operation("/stats", stats, "StatList", (*WINDOW, "by", "sort", "kind", *OF_CALLS)),)
PAGES = {"/stats": stats_page}
