"""The first page: who is connected, what waits for a person, and how the last days were."""

import datetime
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from mcpctl import servers as server_rows
from mcpctl.base.errors import McpctlError
from mcpctl.base.models import Row, Tool
from mcpctl.dashboard import charts
from mcpctl.dashboard.board import Board, board_of
from mcpctl.dashboard.links import Asked
from mcpctl.dashboard.rendering import page
from mcpctl.policy import answering
from mcpctl.store.filters import CallFilter
from mcpctl.store.records import Records

_NEWEST = 10
_MOST_ACTIVE = 20
_FIRST = 5
"""Approvals, held tools and servers that are named."""
_DAYS = 14


def overview_page(request: Request) -> Response:
    """What a person looks at first."""
    board, shown = board_of(request), charts.Days.until_today(_DAYS)
    with board.records() as records:
        sessions, active = _sessions(records)
        summary = board.summaries.totals(records, "day", wanted=CallFilter(since=shown.begin))
        saving = board.saving(records, CallFilter(since=shown.begin))
        loosened = records.loosened(shown.begin, _FIRST)
    days = _linked(summary.rows)
    waiting = answering.rows(board.paths, pending=True)
    held, problem = _held(board)
    down = _down(board)
    return page(
        request, "overview.html", asked=Asked(request.url.path, {}),
        sessions=sessions, active=active,
        waiting=list(waiting.rows(_FIRST, 0)), waiting_count=waiting.count(), held=held[:_FIRST],
        held_count=len(held), problem=problem, down=down[:_FIRST], down_count=len(down), days=days,
        totals=_summed(days), last_days=_DAYS, saving=saving, loosened=loosened,
        as_of=summary.counted_at, calls=charts.calls(summary.rows, shown),
        times=charts.times(summary.rows, shown),
    )  # fmt: skip


def _sessions(records: Records) -> tuple[Sequence[Row], int]:
    """The active sessions and the newest ones, and how many are active."""
    active = records.sessions(CallFilter(), "active")
    every = [*active.rows(_MOST_ACTIVE, 0), *records.sessions().rows(_NEWEST, 0)]
    return list({row["id"]: row for row in every}.values()), active.count()


def _held(board: Board) -> tuple[Sequence[Tool], str]:
    """The tools that nobody can call until a person approves them, or why that cannot be told."""
    try:
        with board.catalog() as catalog:
            if not catalog.config.policy.enforces:
                return [], ""
            catalog.check_together()
            return [tool for tool in catalog.visible(with_held=True) if tool.held], ""
    except McpctlError as error:
        return [], error.message


def _down(board: Board) -> Sequence[Row]:
    """The servers in use that cannot be used, or did not work when they were last tried."""
    with suppress(McpctlError):  # what is wrong with the configuration is told where held tools are
        return [row for row in server_rows.ls(board.paths) if row["enabled"] is not False and row["problem"]]
    return []


def _linked(days: Sequence[Row]) -> Sequence[Row]:
    """The days on which there were calls, the newest first, each with the one that follows it."""
    return [{**row, "until": _day_after(row["day"])} for row in reversed(days)]


def _day_after(day: str) -> str:
    return str(datetime.date.fromisoformat(day) + datetime.timedelta(days=1))


def _summed(days: Sequence[Row]) -> Mapping[str, Any]:
    names = ("calls", "failed", "denied", "input_tokens", "output_tokens", "total_tokens")
    return {name: sum(row[name] or 0 for row in days) for name in names}


PAGES: list[BaseRoute] = [Route("/", overview_page)]
