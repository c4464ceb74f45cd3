"""Calls that wait for consent, and what answers them, in REST and on a page."""

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple
from urllib.parse import urlencode

import msgspec
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from mcpctl.base.errors import NotFound, Refused, WrongUsage
from mcpctl.base.models import Row
from mcpctl.config import config
from mcpctl.dashboard import badges, rest_names
from mcpctl.dashboard.board import Board, board_of, body_of
from mcpctl.dashboard.guard import form_of, require_answering
from mcpctl.dashboard.links import Asked
from mcpctl.dashboard.parameters import WINDOW, Parameters
from mcpctl.dashboard.rendering import page
from mcpctl.dashboard.rest_answers import BASE, Operation, answer, listing
from mcpctl.policy import answering
from mcpctl.policy.approvals import ALWAYS, DENIED, ONCE, PENDING, SESSION
from mcpctl.policy.consent import hidden_words

CHANNEL = "dashboard"
_DENY = "deny"
_SEE_OTHER = 303


class _Said(NamedTuple):
    """What is said on top of the page, after an answer."""

    text: str
    is_error: bool = False


_DONE = {
    ONCE: "is allowed once: have it called again within ten minutes",
    SESSION: "is allowed for its session: have it called again",
    ALWAYS: "is allowed always, as long as its definition stays as it is: have it called again",
    _DENY: "is denied: if the same call is made again, you are asked anew",
}
_ANEW = "if the tool is called again, you are asked anew"
_WHERE = {"terminal": "in a terminal", "client": "in its client", CHANNEL: "here"}
_BECAME = {
    "allowed": "allowed, and waits to be called again",
    "used": "allowed, and called",
    "denied": "denied",
    "expired": "expired: nobody answered, or called again, in time",
}


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
    require_answering(request)
    ref = request.path_params["id"]
    if answering.found(board_of(request).paths, ref).id != ref:
        raise WrongUsage("name the approval by its whole id", f"less of it may be another by now: GET {BASE}/approvals")
    try:
        said = msgspec.json.decode(body_of(request), type=Decision)
    except ValueError as error:
        hint = 'send {"decision": "allow" or "deny", "scope": "once", "session" or "always"}'
        raise WrongUsage(f"the body is not a decision: {error}", hint) from None
    scope = said.scope if said.decision == "allow" else None
    return answer(answering.row(answering.answer(board_of(request).paths, ref, scope, CHANNEL)))


def approvals_page(request: Request) -> Response:
    """The calls that wait for consent, and what became of others."""
    return _page(request, _of_answer(request))


def _page(request: Request, said: _Said | None, status: int = 200) -> Response:
    board = board_of(request)
    pending = list(answering.rows(board.paths, pending=True, whole=True).rows(None, 0))
    later = [row for row in answering.rows(board.paths, pending=False).rows(None, 0) if row["state"] != PENDING]
    # It may be the answer to a form, at an address of its own.
    shown = Asked("/approvals", {"offset": request.query_params.get("offset") or "0"})
    loaded = config.load(board.paths.config)
    offered = {row["id"]: answering.scopes(loaded, row) for row in pending}
    return page(
        request, "approvals.html", status, pending=pending, later=shown.window(later),
        clients=_clients(board, pending), risks=badges.RISKS, became=_BECAME, said=said,
        offered=offered, standing=list(answering.standing(board.paths).rows(None, 0)), not_shown=hidden_words,
    )  # fmt: skip


def _clients(board: Board, pending: Sequence[Row]) -> Mapping[str, str]:
    """The client of each session that is known."""
    ids = {row["session_id"] for row in pending if row["session_id"]}
    if not ids or not board.paths.sessions.exists():
        return {}
    with board.records() as records:
        return {id_: client for id_ in ids if (client := records.client_of(id_))}


def _of_answer(request: Request) -> _Said | None:
    """What the answer was that led here: as it is on record, whatever the address says."""
    if not (id_ := request.query_params.get("answered")):
        return None
    row = _found(board_of(request), id_)
    if row is None or row["state"] == PENDING:
        return None
    did = _DENY if row["state"] == DENIED else row["scope"]
    return _Said(f"{row['key']} {_DONE[did]}.") if did in _DONE else None


def _found(board: Board, id_: str) -> Row | None:
    """The approval with exactly this id."""
    return next((row for row in answering.rows(board.paths, pending=False).rows(None, 0) if row["id"] == id_), None)


def answer_form(request: Request) -> Response:
    """Say yes or no to a call; then the page says what was done, also where somebody else was quicker."""
    require_answering(request)
    board, id_ = board_of(request), request.path_params["id"]
    chosen = form_of(request).get("answer", "")
    if chosen not in _DONE:
        raise WrongUsage("this form has no answer", f"answers: {', '.join(_DONE)}")
    if (row := _found(board, id_)) is None:
        return _page(request, _Said(f"It is not kept any more: {_ANEW}.", is_error=True), 404)
    try:
        # To answer is to answer a question that is open: to take back what was said before is done in a terminal.
        if row["state"] == PENDING:
            answering.answer(board.paths, id_, None if chosen == _DENY else chosen, channel=CHANNEL)
            return RedirectResponse(f"/approvals?{urlencode({'answered': id_})}", _SEE_OTHER)
    except NotFound:
        row = _found(board, id_)
    except Refused as error:
        return _page(
            request, _Said(f"{error.message[:1].upper()}{error.message[1:]}: {error.hint}.", is_error=True), 403
        )
    return _page(request, _Said(_too_late(row), is_error=True), 409)


def take_back(request: Request) -> Response:
    """Take back a yes that holds for more than one call; then the page has it no more."""
    require_answering(request)
    try:
        rows = answering.revoke(board_of(request).paths, request.path_params["id"], CHANNEL)
    except NotFound:
        return _page(request, _Said("It was taken back already.", is_error=True), 404)
    return _page(request, _Said(f"{rows[0]['key']} is asked about again."))


def _too_late(row: Row | None) -> str:
    if row is None or row["state"] == "expired":
        return f"Nobody answered in time, so it has expired: {_ANEW}."
    where = _WHERE.get(row["channel"] or "", "elsewhere")
    return f"This was answered already, {where}: {row['key']} is {_BECAME[row['state']]}. Nothing was changed."


OPERATIONS = (
    Operation("/approvals", approvals, "ApprovalList", (*WINDOW, "pending")),
    Operation("/approvals/{id}", approval, "Approval"),
    Operation("/approvals/{id}", decide, "Approval", method="POST"),
)
PAGES: list[BaseRoute] = [
    Route("/approvals", approvals_page),
    Route("/approvals/{id}", answer_form, methods=["POST"]),
    Route("/approvals/standing/{id}", take_back, methods=["POST"]),
]
