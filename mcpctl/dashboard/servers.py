"""Servers as REST answers and as pages: all configured ones, and one with its tools and its last lines of stderr."""

from collections import Counter
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from mcpctl import servers as server_rows
from mcpctl.base import hints
from mcpctl.base.errors import McpctlError
from mcpctl.base.models import Found, Row
from mcpctl.base.paths import Paths
from mcpctl.catalog import rows
from mcpctl.dashboard.dashboard import Dashboard, dashboard_of
from mcpctl.dashboard.page_query import PageQuery
from mcpctl.dashboard.rendering import page
from mcpctl.dashboard.rest import WINDOW, Operation, Parameters, listing
from mcpctl.dashboard.rest_names import SERVER
from mcpctl.store import server_logs
from mcpctl.store.records import recorded_usage
from mcpctl.toolsets.toolset_files import NONE

_LINES = 50


def servers(request: Request, query: Parameters) -> Response:
    """The configured servers, their secrets masked."""
    entries = server_rows.ls(dashboard_of(request).paths, query.one("project"))
    return listing(query, "servers", Found.of(entries), SERVER)


def servers_page(request: Request) -> Response:
    dashboard = dashboard_of(request)
    entries = server_rows.ls(dashboard.paths)
    by_server: dict[str, Counter[str]] = {}
    for tool in _tools(dashboard):
        counted = by_server.setdefault(tool["server"], Counter())
        counted.update([tool["risk"], *(["held"] if tool["held"] else [])])
    shown = [{**entry, "risks": _risks(by_server.get(entry["name"], Counter()))} for entry in entries]
    return page(request, "servers.html", servers=shown)


def _risks(counted: Counter[str]) -> list[tuple[str, int]]:
    return [(risk, counted[risk]) for risk in (*hints.RISKS, "held") if counted[risk]]


def _tools(dashboard: Dashboard, *servers: str) -> list[Row]:
    with dashboard.catalog(NONE) as catalog:
        wanted = rows.ToolFilter(servers=[name for name in servers if name in catalog.config.servers])
        if servers and not wanted.servers:
            return []  # its entry cannot be used
        usage = recorded_usage(dashboard.paths)
        return list(rows.listed(catalog, wanted, rows.Order(), usage, with_signature=False).rows(None, 0))


def server_page(request: Request) -> Response:
    dashboard, name = dashboard_of(request), request.path_params["name"]
    entry = server_rows.show(dashboard.paths, name)
    tools = _tools(dashboard, name)
    lines, log_problem = _log(dashboard.paths, name)
    return page(
        request, "server.html", server=entry, lines=lines, log_problem=log_problem,
        tools=PageQuery.of(request, ()).window(Found.of(tools)), risks=_risks(Counter(row["risk"] for row in tools)),
    )  # fmt: skip


def _log(paths: Paths, name: str) -> tuple[list[dict[str, Any]], str]:
    try:
        return [dict(line) for line in server_logs.read(paths, name, _LINES)], ""
    except McpctlError as error:
        return [], error.message


OPERATIONS = (Operation("/servers", servers, "ServerList", (*WINDOW, "project")),)
PAGES = {"/servers": servers_page, "/servers/{name:path}": server_page}
