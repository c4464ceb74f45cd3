"""Totals as REST answers and as a page: calls, failures, times and tokens, by day, tool, server and client."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from mcpctl.base import tool_keys
from mcpctl.base.errors import WrongUsage
from mcpctl.base.models import Found, Row
from mcpctl.dashboard import charts, rest_names
from mcpctl.dashboard.dashboard import Dashboard, dashboard_of
from mcpctl.dashboard.page_query import PageQuery
from mcpctl.dashboard.rendering import page
from mcpctl.dashboard.rest import OF_CALLS, WINDOW, Operation, Parameters, listing
from mcpctl.policy import tokens
from mcpctl.store import filters
from mcpctl.store.filters import CallFilter
from mcpctl.store.records import Records

_MOST = 50  # rows of each table: those with the most calls, or the most of what they are sorted by
_DAYS = {"today": 1, "yesterday": 2, "7d": 7, "30d": 30}
_SINCE = {"today": "Today", "yesterday": "Since yesterday", "7d": "7 days", "30d": "30 days", "all": "All"}
_SORTS = {"calls": "Calls", "errors": "Failures", "p95_ms": "p95", "total_tokens": "Tokens"}
_TABLES: Mapping[str, tuple[str, ...]] = {"tool": ("server", "tool"), "server": ("server",), "client": ("client_name",)}
_KINDS = ("call", "read")
_WINDOW = "30d"  # shown first


def stats(request: Request, query: Parameters) -> Response:
    """Calls, failures, times and tokens, a row for each group."""
    by, of_reads = query.several("by", (*filters.GROUPS, filters.ERROR)), query.choice("kind", _KINDS) == "read"
    groups, sort, wanted = filters.grouping(by), query.choice("sort", filters.sorts(by)), query.calls()
    if of_reads and (filters.ERROR in by or not filters.is_of_reads(wanted)):
        raise WrongUsage(
            "reads have no tool, hint, arg, error, code, http_status or redacted", "leave them out, or kind=read"
        )
    with dashboard_of(request).records() as records:
        if by == (filters.ERROR,):
            return listing(query, "stats", records.errors(records.resolved(wanted), sort), rest_names.ERROR_GROUP)
        rows = records.totals(*groups, criteria=records.resolved(wanted), sort=sort, of_reads=of_reads)
    if "token" in groups:
        names = tokens.names(dashboard_of(request).paths)
        rows = [{**row, "token": names.get(row["token"], row["token"])} for row in rows]
    return listing(query, "stats", Found.of(rows), rest_names.total(groups))


def stats_page(request: Request) -> Response:
    dashboard, query = dashboard_of(request), PageQuery.of(request, ("since", "sort"))
    since, sort = query.one_of("since", _SINCE, _WINDOW), query.one_of("sort", _SORTS, "calls")
    shown = charts.Span.until_today(_DAYS.get(since, charts.FEWEST_DAYS))
    wanted = CallFilter(since=shown.begin if since in _DAYS else None)
    with dashboard.records() as records:
        found, as_of = dashboard.summaries.in_a_moment(
            records, ("stats", wanted), partial(_counted, dashboard, wanted, shown.unit)
        )
    orders = [query.orders("Since", "since", _SINCE, _WINDOW), query.orders("Order", "sort", _SORTS, "calls")]
    if found is None:
        return page(request, "stats.html", filters=orders, is_counting=True)
    of = {"since": str(shown.first)} if since in _DAYS else {}
    tables = {name: _linked(sorted(found[name], key=lambda row: -(row[sort] or 0)), of) for name in _TABLES}
    times = [{**row, "of": shown.within(row[shown.unit])} for row in found["time"]]
    return page(
        request, "stats.html", shown=shown, tables=tables, totals=found["all"][0], errors=found["errors"],
        calls=charts.calls(times, shown), times=charts.times(times, shown), percent=charts.percent,
        largest=charts.largest, most=_MOST, of=of, saving=found["saving"], rows=times, filters=orders,
        as_of=as_of or found["as_of"], is_counting=False,
    )  # fmt: skip


def _counted(dashboard: Dashboard, wanted: CallFilter, unit: str, records: Records) -> Mapping[str, Any]:
    groups: Mapping[str, tuple[str, ...]] = {"all": (), "time": (unit,), **_TABLES}
    found = {name: dashboard.summaries.totals(records, *by, wanted=wanted) for name, by in groups.items()}
    found["errors"] = dashboard.summaries.errors(records, wanted, _MOST + 1)
    counted_at = [summary.counted_at for summary in found.values() if summary.counted_at]
    rows = {name: summary.rows for name, summary in found.items()}
    return {**rows, "saving": dashboard.saving(records, wanted), "as_of": min(counted_at, default=None)}


def _linked(rows: Sequence[Row], of: Mapping[str, str]) -> Sequence[Row]:
    """The rows, each with the parameters of its calls; there are none for the calls without a client."""
    return [{**row, "of": {**of, **named} if (named := _named(row)) else None} for row in rows]


def _named(row: Row) -> Mapping[str, str]:
    if "tool" in row:
        return {"tool": tool_keys.join(row["server"], row["tool"])}
    return {name: row[field] for name, field in (("server", "server"), ("client", "client_name")) if row.get(field)}


OPERATIONS = (Operation("/stats", stats, "StatList", (*WINDOW, "by", "sort", "kind", *OF_CALLS)),)
PAGES = {"/stats": stats_page}
