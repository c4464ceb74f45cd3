"""Servers as REST answers and as pages: all configured ones, and one with its tools and its last lines of stderr."""

from collections import Counter
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from mcpctl import servers as server_rows
from mcpctl.base import hints
from mcpctl.base.errors import McpctlError
from mcpctl.base.models import OUTCOMES, Found, Row
from mcpctl.base.paths import Paths
from mcpctl.catalog import rows
from mcpctl.config.server_settings import STDIO
from mcpctl.dashboard.dashboard import Dashboard, dashboard_of
from mcpctl.dashboard.page_query import PageQuery
from mcpctl.dashboard.rendering import page
from mcpctl.dashboard.rest import WINDOW, Operation, Parameters, listing
from mcpctl.dashboard.rest_names import HEALTH_FIELDS, SERVER
from mcpctl.oauth.token_store import EXPIRED, NEEDED
from mcpctl.store import server_logs
from mcpctl.store.filters import CallFilter, moment
from mcpctl.toolsets.toolset_files import NONE

_LINES = 50
_READS = 10
_RECENT = "24h"
_ERRORS = ",".join(OUTCOMES["error"])
_FILTERS = {"use": {"down": "Do not work", "up": "Others"}}


def servers(request: Request, query: Parameters) -> Response:
    """The configured servers, their secrets masked, with the calls of the last 24 hours."""
    dashboard = dashboard_of(request)
    entries, healthy = server_rows.ls(dashboard.paths, query.one("project")), _health(dashboard)
    rows = [{**entry, "health": _of_day(healthy.get(entry["name"]))} for entry in entries]
    return listing(query, "servers", Found.of(rows), SERVER)


def _of_day(health: Row | None) -> Row:
    known = health or dict.fromkeys(HEALTH_FIELDS, 0) | {"p95_ms": None, "last_done": None}
    return {name: known[name] for name in HEALTH_FIELDS}


def servers_page(request: Request) -> Response:
    """All of them, those that do not work first."""
    dashboard, query = dashboard_of(request), PageQuery.of(request, ("use",))
    by_server: dict[str, Counter[str]] = {}
    for tool in _tools(dashboard):
        counted = by_server.setdefault(tool["server"], Counter())
        counted.update([tool["risk"], *(["held"] if tool["held"] else [])])
    healthy = _health(dashboard)
    shown = [
        {**entry, **_shown(entry, healthy), **_tools_of(by_server.get(entry["name"], Counter()))}
        for entry in server_rows.ls(dashboard.paths)
    ]
    shown.sort(key=lambda server: not server["is_down"])
    return page(
        request, "servers.html", servers=query.fitting(_FILTERS, shown, _fits), of=len(shown), errors=_ERRORS,
        filters=[("State", choices) for _, choices in query.counted(_FILTERS, shown, _fits)]
        if any(server["is_down"] for server in shown) else [],
    )  # fmt: skip


def _fits(server: Row, name: str, value: str) -> bool:
    return bool(server["is_down"]) == (value == "down")


def _health(dashboard: Dashboard) -> Mapping[str, Row]:
    with dashboard.records() as records:
        return records.health(moment("since", _RECENT) or "")


def _shown(entry: Row, healthy: Mapping[str, Row]) -> Row:
    """The state of a server in a word and a class, its program in few words, and how its calls went."""
    is_remote = entry["transport"] not in (None, STDIO)
    words = [PurePath(entry["command"]).name, *map(_shortened, entry["args"] or ())] if entry["command"] else []
    if entry["enabled"] is None:
        state = "cannot be used", "failed"
    elif not entry["enabled"]:
        state = "off", "none"
    elif entry["failed_at"] and entry["login"] in (EXPIRED, NEEDED):
        state = "needs a login", "pending"
    elif entry["failed_at"]:
        state = "does not answer" if is_remote else "does not start", "failed"
    else:
        state = ("not listed yet", "none") if entry["listed_at"] is None else ("works", "ok")
    first_line = "".join((entry["problem"] or "").splitlines()[:1])
    return {
        "state": state[0], "kind": state[1], "is_down": state[1] in ("failed", "pending"),
        "why": first_line.removeprefix("did not start: "), "in_short": " ".join(words) or entry["runs"],
        "health": healthy.get(entry["name"]),
    }  # fmt: skip


def _shortened(word: str) -> str:
    """A word of a command line, with the last part of a path alone."""
    return f"…/{PurePath(word).name}" if word.startswith("/") and word.count("/") > 1 else word


def _tools_of(counted: Counter[str]) -> Row:
    """How many tools that are permitted, as the list of tools has them, and what they may do."""
    return {"permitted": sum(counted[risk] for risk in hints.RISKS), "risks": _risks(counted)}


def _risks(counted: Counter[str]) -> list[tuple[str, int]]:
    return [(risk, counted[risk]) for risk in (*hints.RISKS, "held") if counted[risk]]


def _tools(dashboard: Dashboard, *servers: str) -> list[Row]:
    with dashboard.catalog(NONE) as catalog:
        wanted = rows.ToolFilter(servers=[name for name in servers if name in catalog.config.servers])
        if servers and not wanted.servers:
            return []  # its entry cannot be used
        usage = dashboard.usage()
        return list(rows.listed(catalog, wanted, rows.Order(), usage, with_signature=False).rows(None, 0))


def server_page(request: Request) -> Response:
    dashboard, name = dashboard_of(request), request.path_params["name"]
    entry = server_rows.show(dashboard.paths, name)
    with dashboard.records() as records:
        reads = records.reads(CallFilter(servers=(name,)))
        newest, read = list(reads.rows(_READS, 0)), reads.count()
    tools = _tools(dashboard, name)
    lines, log_problem = _log(dashboard.paths, name)
    return page(
        request, "server.html", server={**entry, **_shown(entry, _health(dashboard))}, errors=_ERRORS, reads=newest,
        read=read, lines=lines, log_problem=log_problem,
        tools=PageQuery.of(request, ()).window(Found.of(tools)), risks=_risks(Counter(row["risk"] for row in tools)),
    )  # fmt: skip


def _log(paths: Paths, name: str) -> tuple[list[dict[str, Any]], str]:
    try:
        return [dict(line) for line in server_logs.read(paths, name, _LINES)], ""
    except McpctlError as error:
        return [], error.message


def reads_page(request: Request) -> Response:
    """The prompts that were got and the resources that were read, the newest first."""
    query = PageQuery.of(request, ("server", "client", "sessionId"))
    with dashboard_of(request).records() as records:
        shown = query.window(records.reads(records.resolved(query.calls())))
    return page(request, "reads.html", query=query, reads=shown)


OPERATIONS = (Operation("/servers", servers, "ServerList", (*WINDOW, "project")),)
PAGES = {"/servers": servers_page, "/servers/{name:path}": server_page, "/reads": reads_page}
