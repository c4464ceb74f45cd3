"""Calls and searches: a list with its filters, and one of them whole, as REST answers and as pages."""

import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from http import HTTPStatus
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from mcpctl.base import hints
from mcpctl.base.errors import McpctlError, WrongUsage
from mcpctl.base.fields import CALL_FIELDS, CALL_PAYLOADS, CALL_SORTS
from mcpctl.base.models import Found, Row
from mcpctl.dashboard import call_filters, rest_names
from mcpctl.dashboard.dashboard import Dashboard, dashboard_of
from mcpctl.dashboard.page_query import ROWS, PageQuery
from mcpctl.dashboard.rendering import from_json, indented, page, texts
from mcpctl.dashboard.rest import (
    OF_CALLS,
    OF_DISCOVERIES,
    OF_SESSIONS,
    WINDOW,
    Operation,
    Parameters,
    answer,
    listing,
)
from mcpctl.store.filters import CallFilter
from mcpctl.store.recordable import obstacle
from mcpctl.store.records import Records

LISTED = (*(name for name in CALL_FIELDS if name not in CALL_PAYLOADS), "error_line", "arguments_line")
_AT_ONCE = 10_000  # calls in which a text is looked for before the time is looked at again
_MOMENT_S = 0.15


def tool_calls(request: Request, query: Parameters) -> Response:
    """The calls, of one session or of all, newest first."""
    shown = [name for name in rest_names.CALL if query.flag("payloads") is not False or name.field not in CALL_PAYLOADS]
    needed = {name.field for name in query.chosen(shown)}
    fields = [field for field in CALL_FIELDS if field in needed]
    with dashboard_of(request).records() as records:
        of = (records.session_id(request.path_params["id"]),) if "id" in request.path_params else ()
        return listing(query, "tool_calls", _listed(records, query, fields, *of), shown)


def _listed(records: Records, query: Parameters, fields: Sequence[str], *sessions: str) -> Found:
    """The calls that match and come after `before`; the count includes those before it."""
    wanted = records.resolved(query.calls())
    wanted = replace(wanted, sessions=sessions or wanted.sessions)
    sort = query.choice("sort", CALL_SORTS)
    if sort and query.one("before"):
        raise WrongUsage("before goes on with a list in the order of time, and sort is another", "use offset")
    return replace(records.calls(wanted), rows=records.calls(_after(records, query, wanted), fields, sort).rows)


def _after(records: Records, query: Parameters, wanted: CallFilter) -> CallFilter:
    before = query.one("before")
    return replace(wanted, before=before and records.call_id(before))


def calls_page(request: Request) -> Response:
    if address := call_filters.address_of(request):
        return RedirectResponse(address, HTTPStatus.SEE_OTHER)
    dashboard, query = dashboard_of(request), PageQuery.of(request)
    with dashboard.records() as records:
        if session := query.get("sessionId"):
            query.values["sessionId"] = records.session_id(session)
        wanted = records.resolved(query.calls())
        total: int | None = None
        if dashboard.summaries.is_quick(records, wanted):
            listed = _listed(records, query, LISTED)
            looked = FoundCalls(list(listed.rows(ROWS + 1, query.offset)))
            total = listed.count()
        else:
            looked = _look(records, _after(records, query, wanted))
            if looked.last is None and query.is_first and len(looked.rows) <= ROWS:
                total = len(looked.rows)
        rows, last = looked.rows[:ROWS], looked.last
        if len(looked.rows) > ROWS:
            last = rows[-1]
        bar = call_filters.bar(dashboard, records, query, wanted, total)
        followed = _followed(records, wanted) if total else 0
        return page(
            request, "calls.html", query=query, calls=rows, total=total, followed=followed, last=last, bar=bar,
            most=ROWS, older=query.older(last["id"]) if last else "",
        )  # fmt: skip


def _followed(records: Records, wanted: CallFilter) -> int:
    """How many of them are rounds with a later one: a call in several rounds has a row for each, and counts once."""
    if wanted.statuses and "input_required" not in wanted.statuses:
        return 0
    asking = replace(wanted, statuses=("input_required",))
    rows = records.calls(asking).count()
    return rows - int(records.totals(criteria=asking)[0]["calls"]) if rows else 0


class FoundCalls(NamedTuple):
    """The first calls that match, and the last one that was looked at where there are older ones."""

    rows: Sequence[Row]
    last: Row | None = None


def _look(records: Records, wanted: CallFilter) -> FoundCalls:
    """The newest calls with a text, which is looked for in some after others, and only for a moment."""
    end, rest, found = time.monotonic() + _MOMENT_S, wanted, list[Row]()
    while True:
        all_of_them = records.calls(replace(rest, grep=None, arguments=()), ("id", "started_at"))
        last = next(iter(all_of_them.rows(1, _AT_ONCE)), None)
        some = replace(rest, since=last["started_at"]) if last else rest
        found += records.calls(some, LISTED).rows(ROWS + 1 - len(found), 0)
        if last is None or len(found) > ROWS or time.monotonic() > end:
            return FoundCalls(found, last)
        rest = replace(rest, until=last["started_at"])


def tool_call(request: Request, query: Parameters) -> Response:
    """One call whole, with the decisions about it."""
    with dashboard_of(request).records() as records:
        row = records.call(records.call_id(request.path_params["id"]))
    return answer({**rest_names.renamed(row, rest_names.CALL), "decisions": row["decisions"]})


def call_page(request: Request) -> Response:
    dashboard = dashboard_of(request)
    with dashboard.records() as records:
        row = records.call(request.path_params["id"])
        query = PageQuery(request.url.path, {"sessionId": row["session_id"]})
        if "tool" not in row:
            return page(request, "search.html", query=query, search=search(row))
        # A later round is in the same session; a replay, which also names its call, is in a session of its own.
        rounds = records.calls(CallFilter(sessions=(row["session_id"],), parents=(row["id"],)), LISTED)
        then, now = from_json(row["annotations"]), _hints_now(dashboard, row)
        return page(
            request, "call.html", query=query, call=row, rounds=list(rounds.rows(ROWS, 0)),
            payloads={name: indented(row[name]) for name in CALL_PAYLOADS},
            texts=texts(row["response"]), then=then, now=now, is_changed=_values(then) != _values(now),
            replay=_replay(row["id"], now), obstacle=obstacle(row), http=from_json(row["http"]),
        )  # fmt: skip


def _replay(call: str, now: Mapping[str, Any] | str) -> str:
    """The command that calls it again; a tool that is not read-only runs only with --execute."""
    only_reads = not isinstance(now, str) and _values(now).get("readOnlyHint")
    return f"mcpctl calls replay {shlex.quote(call)}" + ("" if only_reads else " --execute")


def _hints_now(dashboard: Dashboard, call: Row) -> Mapping[str, Any] | str:
    """The hints of the call's tool as its server last listed it, with the toolset in force; or why they are unknown."""
    try:
        with dashboard.catalog(project=call["project"]) as catalog:
            tool = catalog.find(call["server"], call["tool"])
            return from_json(hints.snapshot(tool)) or {} if tool else "its server does not list this tool any more"
    except McpctlError as error:
        return error.message


def _values(known: Any) -> Mapping[str, bool]:
    return {name: hint.value for name, hint in hints.recorded(known).items()}


def discoveries(request: Request, query: Parameters) -> Response:
    """The searches, newest first."""
    wanted = query.calls()
    with dashboard_of(request).records() as records:
        return listing(query, "discoveries", records.discoveries(records.resolved(wanted)), rest_names.DISCOVERY)


def search(row: Row) -> Row:
    """A search with its queries and the tools that it found, as far as they can be read."""
    query, results = from_json(row["query"]), from_json(row["results"])
    queries = query if isinstance(query, list) else [] if query is None else [query]
    hits = [hit for hit in results if isinstance(hit, dict)] if isinstance(results, list) else []
    hits = [hit for hit in hits if isinstance(hit.get("key"), str)]
    return {**row, "queries": list(map(str, queries)), "hits": hits}


_OF_PAGE = (*WINDOW, "before", "sort", "payloads")
OPERATIONS = (
    Operation("/sessions/{id}/tool-calls", tool_calls, "ToolCallList", (*_OF_PAGE, *OF_SESSIONS)),
    Operation("/tool-calls", tool_calls, "ToolCallList", (*_OF_PAGE, *OF_CALLS)),
    Operation("/tool-calls/{id}", tool_call, "ToolCallShown"),
    Operation("/discoveries", discoveries, "DiscoveryList", (*WINDOW, *OF_DISCOVERIES)),
)
PAGES = {"/tool-calls": calls_page, "/tool-calls/{id}": call_page}
