"""The first page: what there is to do, how today goes, what fails, and the sessions."""

from collections.abc import Mapping, Sequence
from contextlib import suppress

from starlette.requests import Request
from starlette.responses import Response

from mcpctl import servers
from mcpctl.base.errors import McpctlError
from mcpctl.base.models import OUTCOMES, Row
from mcpctl.catalog import held, loosening
from mcpctl.dashboard import charts
from mcpctl.dashboard.calls import LISTED
from mcpctl.dashboard.dashboard import Dashboard, dashboard_of
from mcpctl.dashboard.page_query import PageQuery
from mcpctl.dashboard.rendering import page
from mcpctl.policy import answering
from mcpctl.store import arguments, filters
from mcpctl.store.filters import CallFilter
from mcpctl.store.records import Records

_NEWEST = 10
_MOST_ACTIVE = 20
_FIRST = 5  # approvals, held tools, servers and kinds of failures that are named
_FAILURES = 8
_LOOSENED_DAYS = 14
_FAILING_SINCE = "7d"


def overview_page(request: Request) -> Response:
    dashboard, shown = dashboard_of(request), charts.Span.until_today(charts.MOST_BY_HOUR)
    today = CallFilter(since=filters.moment("since", "today"))
    of_week = CallFilter(since=filters.moment("since", _FAILING_SINCE), statuses=OUTCOMES["error"])
    with dashboard.records() as records:
        sessions, active = _sessions(records)
        hours = dashboard.summaries.totals(records, shown.unit, wanted=CallFilter(since=shown.begin))
        of_today = dashboard.summaries.totals(records, wanted=today)
        failures = list(records.calls(CallFilter(statuses=OUTCOMES["error"]), LISTED).rows(_FAILURES, 0))
        failing = dashboard.summaries.errors(records, of_week, _FAILURES).rows
        loosened = records.loosened(filters.moment("since", f"{_LOOSENED_DAYS}d"))
    waiting = answering.rows(dashboard.paths, pending=True)
    to_review, problem = _held(dashboard)
    down = _down(dashboard)
    return page(
        request, "overview.html", query=PageQuery(request.url.path, {}), sessions=sessions, active=active,
        waiting=[_told(row) for row in waiting.rows(_FIRST, 0)], waiting_count=waiting.count(),
        held=list(to_review.items())[:_FIRST], held_count=len(to_review), problem=problem, down=down[:_FIRST],
        down_count=len(down), loosened=_still_loosened(dashboard, loosened), loosened_days=_LOOSENED_DAYS,
        today=of_today.rows[0], hours=hours.rows, within=shown.within, failures=failures, failing=failing,
        failing_since=_FAILING_SINCE, as_of=hours.counted_at or of_today.counted_at,
        calls=charts.calls(hours.rows, shown), times=charts.times(hours.rows, shown),
    )  # fmt: skip


def _still_loosened(dashboard: Dashboard, changes: Sequence[Row]) -> Sequence[Row]:
    kept = zip(changes, loosening.still(dashboard.paths, [row["key"] for row in changes]), strict=True)
    return [{**row, "key": keys} for row, keys in kept if keys][:_FIRST]


def _told(approval: Row) -> Row:
    return {**approval, "arguments_line": arguments.line(approval["arguments"])}


def _sessions(records: Records) -> tuple[Sequence[Row], int]:
    active = records.sessions(CallFilter(), "active")
    every = [*active.rows(_MOST_ACTIVE, 0), *records.sessions().rows(_NEWEST, 0)]
    return list({row["id"]: row for row in every}.values()), active.count()


def _held(dashboard: Dashboard) -> tuple[Mapping[str, str], str]:
    try:
        with dashboard.catalog() as catalog:
            return held.keys(catalog), ""
    except McpctlError as error:
        return {}, error.message


def _down(dashboard: Dashboard) -> Sequence[Row]:
    with suppress(McpctlError):  # the line of held tools says what is wrong with the configuration
        return [row for row in servers.ls(dashboard.paths) if row["enabled"] is not False and row["problem"]]
    return []


PAGES = {"/": overview_page}
