"""The first page: active sessions, things that wait for a person, and the last days."""

from collections.abc import Sequence
from contextlib import suppress
from datetime import date, timedelta

from starlette.requests import Request
from starlette.responses import Response

from mcpctl import servers as server_rows
from mcpctl.base.errors import McpctlError
from mcpctl.base.models import Row, Tool
from mcpctl.dashboard import charts
from mcpctl.dashboard.dashboard import Dashboard, dashboard_of
from mcpctl.dashboard.page_query import PageQuery
from mcpctl.dashboard.rendering import page
from mcpctl.policy import answering
from mcpctl.store.filters import CallFilter
from mcpctl.store.records import Records

_NEWEST = 10
_MOST_ACTIVE = 20
_FIRST = 5  # approvals, held tools and servers that are named
_DAYS = 14
_TOTALS = ("calls", "failed", "denied", "input_tokens", "output_tokens", "total_tokens")


def overview_page(request: Request) -> Response:
    dashboard, shown = dashboard_of(request), charts.Days.until_today(_DAYS)
    with dashboard.records() as records:
        sessions, active = _sessions(records)
        summary = dashboard.summaries.totals(records, "day", wanted=CallFilter(since=shown.begin))
        saving = dashboard.saving(records, CallFilter(since=shown.begin))
        loosened = records.loosened(shown.begin, _FIRST)
    days = [{**row, "until": str(date.fromisoformat(row["day"]) + timedelta(1))} for row in reversed(summary.rows)]
    waiting = answering.rows(dashboard.paths, pending=True)
    held, problem = _held(dashboard)
    down = _down(dashboard)
    return page(
        request, "overview.html", query=PageQuery(request.url.path, {}), sessions=sessions, active=active,
        waiting=list(waiting.rows(_FIRST, 0)), waiting_count=waiting.count(), held=held[:_FIRST],
        held_count=len(held), problem=problem, down=down[:_FIRST], down_count=len(down), days=days,
        totals={name: sum(row[name] or 0 for row in days) for name in _TOTALS},
        last_days=_DAYS, saving=saving, loosened=loosened, as_of=summary.counted_at,
        calls=charts.calls(summary.rows, shown), times=charts.times(summary.rows, shown),
    )  # fmt: skip


def _sessions(records: Records) -> tuple[Sequence[Row], int]:
    active = records.sessions(CallFilter(), "active")
    every = [*active.rows(_MOST_ACTIVE, 0), *records.sessions().rows(_NEWEST, 0)]
    return list({row["id"]: row for row in every}.values()), active.count()


def _held(dashboard: Dashboard) -> tuple[Sequence[Tool], str]:
    try:
        with dashboard.catalog() as catalog:
            if not catalog.config.policy.enforces:
                return [], ""
            catalog.check_together()
            return [tool for tool in catalog.visible(with_held=True) if tool.held], ""
    except McpctlError as error:
        return [], error.message


def _down(dashboard: Dashboard) -> Sequence[Row]:
    with suppress(McpctlError):  # the line of held tools says what is wrong with the configuration
        return [row for row in server_rows.ls(dashboard.paths) if row["enabled"] is not False and row["problem"]]
    return []


PAGES = {"/": overview_page}
