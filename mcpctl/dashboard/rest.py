"""The REST interface: what `--json` prints, in the names of `rest_names`, which mcpctl-records(5) has in a table."""

from collections.abc import Callable
from dataclasses import replace
from typing import Literal

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from mcpctl.dashboard import guard, rest_export, rest_names, rest_tools
from mcpctl.dashboard.board import board_of, body_of
from mcpctl.dashboard.rest_answers import Operation, answer, listing
from mcpctl.dashboard.rest_parameters import OF_CALLS, OF_DISCOVERIES, WINDOW, Parameters, called
from mcpctl.errors import WrongUsage
from mcpctl.models import CALL_PAYLOADS, TOTAL_FIELDS, Found
from mcpctl.policy import answering
from mcpctl.store import asking

BASE = "/api/v1"


def sessions(request: Request, asked: Parameters) -> Response:
    """The sessions, last activity newest first."""
    filters = asked.filters()
    statuses = asking.session_statuses(filters, called)
    wanted = asking.wanted(filters, called, of_sessions=True)
    with board_of(request).records() as records:
        return listing(asked, "sessions", records.sessions(wanted, *statuses), rest_names.SESSION)


def session(request: Request, asked: Parameters) -> Response:
    """One session with what was called in it and what was decided of that."""
    with board_of(request).records() as records:
        row = records.session(request.path_params["id"])
        more = {
            "tools": [rest_names.renamed(tool, rest_names.CALLED_TOOL) for tool in row["tools"]],
            "decisions": list(row["decisions"].rows(None, 0)),
        }
    return answer({**rest_names.renamed(row, rest_names.SESSION), **more})


def tool_calls(request: Request, asked: Parameters) -> Response:
    """The calls, of one session or of all, newest first."""
    shown = [name for name in rest_names.CALL if asked.flag("payloads") is not False or name.field not in CALL_PAYLOADS]
    chosen, before = asked.chosen(shown), asked.one("before")
    wanted = asking.wanted(asked.filters(), called)
    with board_of(request).records() as records:
        wanted = records.resolved(wanted)
        if "id" in request.path_params:
            wanted = replace(wanted, sessions=(records.session_id(request.path_params["id"]),))
        every = records.calls(wanted)
        page = replace(wanted, before=before and records.call_id(before))
        rows = records.calls(page, rest_names.fields(chosen)).rows
        return listing(asked, "tool_calls", replace(every, rows=rows), shown)


def tool_call(request: Request, asked: Parameters) -> Response:
    """One call whole, with what was decided of it."""
    with board_of(request).records() as records:
        row = records.call(records.call_id(request.path_params["id"]))
    return answer({**rest_names.renamed(row, rest_names.CALL), "decisions": row["decisions"]})


def discoveries(request: Request, asked: Parameters) -> Response:
    """The searches, newest first."""
    wanted = asking.wanted(asked.filters(), called)
    with board_of(request).records() as records:
        return listing(asked, "discoveries", records.discoveries(records.resolved(wanted)), rest_names.DISCOVERY)


def stats(request: Request, asked: Parameters) -> Response:
    """Calls, failures, times and tokens, a row for each group."""
    groups = asking.grouping(asked.several("by", asking.GROUPS))
    sort, wanted = asked.choice("sort", TOTAL_FIELDS), asking.wanted(asked.filters(), called)
    with board_of(request).records() as records:
        rows = records.totals(*groups, wanted=records.resolved(wanted), sort=sort)
    return listing(asked, "stats", Found.of(rows), rest_names.total(groups))


def approvals(request: Request, asked: Parameters) -> Response:
    """The calls that needed consent, the newest first."""
    found = answering.rows(board_of(request).paths, pending=bool(asked.flag("pending")))
    return listing(asked, "approvals", found, rest_names.APPROVAL)


def approval(request: Request, asked: Parameters) -> Response:
    """One of them."""
    return answer(answering.row(answering.found(board_of(request).paths, request.path_params["id"])))


class Decision(msgspec.Struct, forbid_unknown_fields=True):
    """What a person says of a call that waits."""

    decision: Literal["allow", "deny"]
    scope: Literal["once", "session", "always"] = "once"


def decide(request: Request, asked: Parameters) -> Response:
    """Allow the call, or deny it; the approval as it is then."""
    guard.require_answering(request)
    ref = request.path_params["id"]
    if answering.found(board_of(request).paths, ref).id != ref:
        raise WrongUsage("name the approval by its whole id", f"less of it may be another by now: GET {BASE}/approvals")
    try:
        said = msgspec.json.decode(body_of(request), type=Decision)
    except ValueError as error:
        hint = 'send {"decision": "allow" or "deny", "scope": "once", "session" or "always"}'
        raise WrongUsage(f"the body is not a decision: {error}", hint) from None
    scope = said.scope if said.decision == "allow" else None
    return answer(answering.row(answering.answer(board_of(request).paths, ref, scope, "dashboard")))


def openapi(request: Request, asked: Parameters) -> Response:
    """What can be asked, and what is answered."""
    from mcpctl.dashboard.openapi import document  # pydantic takes longer to load than all the rest

    return answer(document())


_OF_SESSIONS = tuple(name for name in OF_CALLS if name != "session_id")
_OF_PAGE = (*WINDOW, "before", "payloads")
OPERATIONS = (
    Operation("/sessions", sessions, "SessionList", (*WINDOW, *_OF_SESSIONS)),
    Operation("/sessions/{id}", session, "SessionShown"),
    Operation("/sessions/{id}/tool-calls", tool_calls, "ToolCallList", (*_OF_PAGE, *_OF_SESSIONS)),
    Operation("/tool-calls", tool_calls, "ToolCallList", (*_OF_PAGE, *OF_CALLS)),
    Operation("/tool-calls/{id}", tool_call, "ToolCallShown"),
    Operation("/discoveries", discoveries, "DiscoveryList", (*WINDOW, *OF_DISCOVERIES)),
    Operation("/stats", stats, "StatList", (*WINDOW, "by", "sort", *OF_CALLS)),
    *rest_export.OPERATIONS,
    *rest_tools.OPERATIONS,
    Operation("/approvals", approvals, "ApprovalList", (*WINDOW, "pending")),
    Operation("/approvals/{id}", approval, "Approval"),
    Operation("/approvals/{id}", decide, "Approval", method="POST"),
    Operation("/openapi.json", openapi, ""),
)


def _endpoint(operation: Operation) -> Callable[[Request], Response]:
    # A function, which Starlette runs in a thread.
    def run(request: Request) -> Response:
        return operation.run(request)

    return run


ROUTES: list[BaseRoute] = [
    Route(f"{BASE}{each.path}", _endpoint(each), methods=[each.method], name=each.answer.__name__)
    for each in OPERATIONS
]
