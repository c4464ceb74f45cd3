"""Calls that wait for consent, and the answers to them, in REST and on a page."""

import time
from collections.abc import Sequence
from http import HTTPStatus
from typing import Literal
from urllib.parse import urlencode

import msgspec
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from mcpctl.base import fields
from mcpctl.base.errors import NotFound, Refused, WrongUsage
from mcpctl.base.models import Found, Row
from mcpctl.config import config
from mcpctl.dashboard import rest_names
from mcpctl.dashboard.dashboard import Dashboard, body_of, dashboard_of, login_of
from mcpctl.dashboard.guard import form_of, require_answering
from mcpctl.dashboard.page_query import PageQuery
from mcpctl.dashboard.rendering import page
from mcpctl.dashboard.rest import BASE, WINDOW, Operation, Parameters, answer, listing
from mcpctl.policy import answering
from mcpctl.policy.approvals import ALWAYS, DENIED, ONCE, PENDING, SESSION, CallApproval
from mcpctl.policy.question import PAGE, became, question_of
from mcpctl.policy.shown_arguments import Room

_CHANNEL = "dashboard"
_DENY = "deny"
_AT_ONCE = 20  # questions on the page
_DONE = {
    ONCE: "is allowed once: have it called again within ten minutes",
    SESSION: "is allowed for its session: have it called again",
    ALWAYS: "is allowed always, as long as its definition stays as it is: have it called again",
    _DENY: "is denied: if the same call is made again, you are asked again",
}
_AGAIN = "if the tool is called again, you are asked again"
_WHERE = {"terminal": "in a terminal", "client": "in its client", _CHANNEL: "here"}
_BECAME = {
    "allowed": "allowed, and waits to be called again",
    "used": "allowed, and called",
    "denied": "denied",
    "expired": "expired: nobody answered, or called again, in time",
}


def approvals(request: Request, query: Parameters) -> Response:
    """The calls that needed consent, the newest first."""
    found = answering.rows(dashboard_of(request).paths, pending=bool(query.flag("pending")))
    return listing(query, "approvals", found, rest_names.APPROVAL)


def approval(request: Request, query: Parameters) -> Response:
    """One call that needed consent."""
    return answer(answering.row(answering.found(dashboard_of(request).paths, request.path_params["id"])))


class ApprovalAnswer(msgspec.Struct, forbid_unknown_fields=True):
    decision: Literal["allow", "deny"]
    scope: fields.Scope = "once"


def decide(request: Request, query: Parameters) -> Response:
    """Allow the call, or deny it; the answer is the approval as it is then."""
    require_answering(request)
    paths, ref = dashboard_of(request).paths, request.path_params["id"]
    if answering.found(paths, ref).id != ref:
        raise WrongUsage("name the approval by its whole id", f"less of it may be another by now: GET {BASE}/approvals")
    try:
        given = msgspec.json.decode(body_of(request), type=ApprovalAnswer)
    except ValueError as error:
        hint = 'send {"decision": "allow" or "deny", "scope": "once", "session" or "always"}'
        raise WrongUsage(f"the body is not a decision: {error}", hint) from None
    scope = given.scope if given.decision == "allow" else None
    return answer(answering.row(answering.answer(paths, ref, scope, _CHANNEL, login=login_of(request).id)))


def approvals_page(request: Request) -> Response:
    return _page(request, _answered(request))


def _page(request: Request, notice: str, status: int = 200) -> Response:
    dashboard = dashboard_of(request)
    waiting, number = answering.waiting(dashboard.paths, _AT_ONCE)
    later = [row for row in answering.rows(dashboard.paths, pending=False).rows(None, 0) if row["state"] != PENDING]
    # It may be the answer to a form, at an address of its own.
    query = PageQuery("/approvals", {"offset": request.query_params.get("offset") or "0"})
    return page(
        request, "approvals.html", status, pending=_asked(dashboard, waiting, PAGE), number=number,
        later=query.window(Found.of(later)), became=_BECAME, notice=notice, is_error=status != 200,
        standing=list(answering.standing(dashboard.paths).rows(None, 0)),
    )  # fmt: skip


def _asked(dashboard: Dashboard, approvals: Sequence[CallApproval], room: Room | None) -> Sequence[Row]:
    """Each call that waits, as a row with its question, and the answers that can be given: only one to this call where
    not all of it is shown."""
    loaded = config.load(dashboard.paths.config)
    asked = [(answering.row(approval), question_of(approval, room=room)) for approval in approvals]
    return [
        {**row, "question": question, "offered": [ONCE] if question.is_cut else answering.scopes(loaded, row)}
        for row, question in asked
    ]


def approval_page(request: Request) -> Response:
    """One call with all of its arguments, as long as they are kept."""
    dashboard = dashboard_of(request)
    found = answering.found(dashboard.paths, request.path_params["id"])
    (row,) = _asked(dashboard, [found], None)
    return page(request, "approval.html", approval=row, became=became(found, time.time()))


def _answered(request: Request) -> str:
    """The answer that led here, as it is on record, whatever the address says."""
    id_ = request.query_params.get("answered")
    row = _row(dashboard_of(request), id_) if id_ else None
    if row is None or row["state"] == PENDING:
        return ""
    did = _DENY if row["state"] == DENIED else row["scope"]
    return f"{row['key']} {_DONE[did]}." if did in _DONE else ""


def _row(dashboard: Dashboard, id_: str) -> Row | None:
    """The approval with exactly this id."""
    rows = answering.rows(dashboard.paths, pending=False).rows(None, 0)
    return next((row for row in rows if row["id"] == id_), None)


def answer_form(request: Request) -> Response:
    """Say yes or no to a call; then the page shows the outcome, also where somebody else was quicker."""
    require_answering(request)
    dashboard, id_ = dashboard_of(request), request.path_params["id"]
    chosen = form_of(request).get("answer", "")
    if chosen not in _DONE:
        raise WrongUsage("this form has no answer", f"answers: {', '.join(_DONE)}")
    if (row := _row(dashboard, id_)) is None:
        return _page(request, f"It is not kept any more: {_AGAIN}.", 404)
    try:
        # Only an open question is answered here: an earlier answer is taken back in a terminal.
        if row["state"] == PENDING:
            answering.answer(
                dashboard.paths, id_, None if chosen == _DENY else chosen, _CHANNEL, login=login_of(request).id
            )
            return RedirectResponse(f"/approvals?{urlencode({'answered': id_})}", HTTPStatus.SEE_OTHER)
    except NotFound:
        row = _row(dashboard, id_)
    except Refused as error:
        message = f"{error.message[:1].upper()}{error.message[1:]}: {error.hint}."
        return _page(request, message, 403)
    return _page(request, _too_late(row), 409)


def take_back(request: Request) -> Response:
    require_answering(request)
    try:
        rows = answering.revoke(
            dashboard_of(request).paths, request.path_params["id"], _CHANNEL, login=login_of(request).id
        )
    except NotFound:
        return _page(request, "It was taken back already.", 404)
    return _page(request, f"{rows[0]['key']} is asked about again.")


def _too_late(row: Row | None) -> str:
    if row is None or row["state"] == "expired":
        return f"Nobody answered in time, so it has expired: {_AGAIN}."
    where = _WHERE.get(row["channel"] or "", "elsewhere")
    return f"This was answered already, {where}: {row['key']} is {_BECAME[row['state']]}. Nothing was changed."


OPERATIONS = (
    Operation("/approvals", approvals, "ApprovalList", (*WINDOW, "pending")),
    Operation("/approvals/{id}", approval, "Approval"),
    Operation("/approvals/{id}", decide, "Approval", method="POST", body="ApprovalAnswer"),
)
PAGES = {"/approvals": approvals_page, "/approvals/{id}": approval_page}
FORMS = {"/approvals/{id}": answer_form, "/approvals/standing/{id}": take_back}
