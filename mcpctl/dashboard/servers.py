"""Servers as REST answers and as pages: which are configured, and one with its tools and its last words."""

from collections import Counter
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from mcpctl import servers as server_rows
from mcpctl.base import hints
from mcpctl.base.errors import McpctlError
from mcpctl.base.models import Found, Row
from mcpctl.base.paths import Paths
from mcpctl.catalog import rows
from mcpctl.dashboard.board import Board, board_of
from mcpctl.dashboard.links import Asked
from mcpctl.dashboard.parameters import WINDOW, Parameters
from mcpctl.dashboard.rendering import page
from mcpctl.dashboard.rest_answers import Operation, listing
from mcpctl.dashboard.rest_names import SERVER
from mcpctl.store import server_logs
from mcpctl.store.records import recorded_usage
from mcpctl.toolsets.toolset_files import NONE

_LINES = 50
"""Lines of a server's stderr that its page shows."""


def servers(request: Request, asked: Parameters) -> Response:
    """The configured servers, their secrets masked."""
    entries = server_rows.ls(board_of(request).paths, asked.one("project"))
    return listing(asked, "servers", Found.of(entries), SERVER)


def servers_page(request: Request) -> Response:
    """The configured servers."""
    board = board_of(request)
    entries = server_rows.ls(board.paths)
    by_server: dict[str, Counter[str]] = {}
    for tool in _tools(board):
        counted = by_server.setdefault(tool["server"], Counter())
        counted.update([tool["risk"], *(["held"] if tool["held"] else [])])
    shown = [{**entry, "risks": _risks(by_server.get(entry["name"], Counter()))} for entry in entries]
    return page(request, "servers.html", servers=shown)


def _risks(counted: Counter[str]) -> list[tuple[str, int]]:
    return [(risk, counted[risk]) for risk in (*hints.RISKS, "held") if counted[risk]]


def _tools(board: Board, *servers: str) -> list[Row]:
    with board.catalog(NONE) as catalog:
        wanted = rows.Wanted(servers=[name for name in servers if name in catalog.config.servers])
        if servers and not wanted.servers:
            return []  # its entry cannot be used
        usage = recorded_usage(board.paths)
        return list(rows.listed(catalog, wanted, rows.Order(), usage, with_signature=False).rows(None, 0))


def server_page(request: Request) -> Response:
    """One server: its entry, its tools, and what it wrote last."""
    board, name = board_of(request), request.path_params["name"]
    entry = server_rows.show(board.paths, name)
    found = _tools(board, name)
    shown = Asked.of(request, ()).window(found)
    lines, log_problem = _log(board.paths, name)
    return page(
        request, "server.html", server=entry, permissions=_permissions(entry), lines=lines, log_problem=log_problem,
        tools=shown, risks=_risks(Counter(row["risk"] for row in found)),
    )  # fmt: skip


def _permissions(entry: Row) -> list[tuple[str, str]]:
    """What its entry says of its tools, by name, in words."""
    found = [] if entry["only"] is None else [("only", ", ".join(entry["only"]) or "none")]
    said = {True: "permitted", False: "not permitted"}
    return found + [(str(name), said.get(value, str(value))) for name, value in (entry["permissions"] or {}).items()]


def _log(paths: Paths, name: str) -> tuple[list[dict[str, Any]], str]:
    """The last lines that a server wrote, and why they cannot be read."""
    try:
        return [dict(line) for line in server_logs.read(paths, name, _LINES)], ""
    except McpctlError as error:
        return [], error.message


OPERATIONS = (Operation("/servers", servers, "ServerList", (*WINDOW, "project")),)
PAGES: list[BaseRoute] = [Route("/servers", servers_page), Route("/servers/{name:path}", server_page)]
