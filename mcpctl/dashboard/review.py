"""All that is held until a person has looked at it, and its approval, in REST and on a page."""

from contextlib import suppress
from http import HTTPStatus
from urllib.parse import urlencode

import msgspec
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from mcpctl.base.errors import McpctlError, WrongUsage
from mcpctl.base.feature_names import is_feature, split
from mcpctl.base.models import Found, Row
from mcpctl.catalog import drift, held, rows
from mcpctl.catalog.held import HeldThing
from mcpctl.dashboard import rest_names
from mcpctl.dashboard.dashboard import Dashboard, body_of, dashboard_of
from mcpctl.dashboard.guard import form_of, require_answering
from mcpctl.dashboard.page_query import PageQuery
from mcpctl.dashboard.rendering import MOST_SHOWN, Excerpt, indented, page
from mcpctl.dashboard.rest import WINDOW, Operation, Parameters, answer, listing
from mcpctl.output import findings
from mcpctl.policy.policy_file import PolicyFile
from mcpctl.policy.words import HELD

_UNDECLARED = 20  # tools without hints that are named
_OUTCOMES = {  # of a call, by `explained.DECISIONS`
    "allow": "called without a question", "ask": "called after your yes", "deny": "refused", "held": "held",
    "refused": "refused",
}  # fmt: skip


def waiting(request: Request, query: Parameters) -> Response:
    """How many calls wait for a yes, and how much waits for a review."""
    found = dashboard_of(request).waiting()
    return answer({**found._asdict(), "total": found.total})


def review(request: Request, query: Parameters) -> Response:
    """All that is held until a person has looked at it, the worst first."""
    return listing(query, "review", Found.of([_row(each) for each in _held(dashboard_of(request))]), rest_names.HELD)


class ReviewAnswer(msgspec.Struct, forbid_unknown_fields=True):
    shown: str


def approve_held(request: Request, query: Parameters) -> Response:
    """Approve one of them, if it still is what was shown."""
    require_answering(request)
    try:
        given = msgspec.json.decode(body_of(request), type=ReviewAnswer)
    except ValueError as error:
        raise WrongUsage(f"the body is not an answer: {error}", 'send {"shown": "the shown of its row"}') from None
    key = request.path_params["key"]
    _approve(dashboard_of(request), key, given.shown)
    return answer({"approved": key})


def _held(dashboard: Dashboard) -> list[HeldThing]:
    with dashboard.catalog() as catalog:
        if not held.keys(catalog):
            return []
        is_made = PolicyFile.is_made(dashboard.paths)
        with (PolicyFile.as_it_lies if is_made else PolicyFile.connect)(dashboard.paths) as file:
            return held.listed(catalog, file)


def _approve(dashboard: Dashboard, key: str, shown: str) -> None:
    with dashboard.catalog() as catalog, PolicyFile.connect(dashboard.paths) as file:
        held.approve(catalog, file, key, shown)


def _row(each: HeldThing) -> Row:
    found = [{"rule": one.rule, "place": one.place, "message": one.message, "why": one.why} for one in each.findings]
    changes = [
        {"rule": one.rule, "message": one.message, "why": drift.RULES[one.rule].why, "old": one.old, "new": one.new}
        for one in each.changes
    ]  # fmt: skip
    return {
        "key": each.key, "kind": _kind(each), "held": each.why, "findings": found, "changes": changes,
        "was": each.was or None, "decision": each.decision or None, "decided_by": each.decided_by or None,
        "shown": each.shown,
    }  # fmt: skip


def _kind(each: HeldThing) -> str:
    if not each.tool.name:
        return "instructions"
    return split(each.tool.name)[0].removesuffix("s") if is_feature(each.tool.name) else "tool"


def review_page(request: Request) -> Response:
    key, notice = request.query_params.get("approved", ""), ""
    with suppress(McpctlError), dashboard_of(request).catalog() as catalog:
        if key.partition(":")[0] in catalog.config.servers and key not in held.keys(catalog):
            notice = f"{key} is not held any more."
    return _page(request, notice)


def _page(request: Request, notice: str = "", status: int = 200) -> Response:
    dashboard, query = dashboard_of(request), PageQuery.of(request, ("key",))
    held_now = _held(dashboard)
    every = [_shown(each) for each in held_now if query.get("key") in ("", each.key)]
    with dashboard.catalog() as catalog:
        tools = rows.listed(catalog, rows.ToolFilter(), rows.Order(), None, with_signature=False).rows(None, 0)
        undeclared = [tool for tool in tools if tool["risk"] == "not-declared"]
        policy = catalog.config.policy
    return page(
        request, "review.html", status, window=query.window(Found.of(every)), of=len(held_now), notice=notice,
        is_error=status != 200, reasons=HELD, outcomes=_OUTCOMES, compared=findings.compared, policy=policy,
        undeclared=undeclared[:_UNDECLARED], undeclared_count=len(undeclared),
    )  # fmt: skip


def _shown(each: HeldThing) -> Row:
    text = each.tool.description
    as_sent = indented(each.tool.text) if each.tool.name else Excerpt(text[:MOST_SHOWN], len(text))
    return {**_row(each), "is_loosened": each.is_loosened, "tool": each.tool, "as_sent": as_sent}


def approve_form(request: Request) -> Response:
    """Approve what was shown; where it is another by now, the page shows that, and nothing is approved."""
    require_answering(request)
    form = form_of(request)
    key = form.get("key", "")
    try:
        _approve(dashboard_of(request), key, form.get("shown", ""))
    except McpctlError as error:
        if error.code not in ("changed_since", "not_held"):
            raise
        message = f"{error.message}; nothing was approved: {error.hint}."
        return _page(request, message, 409 if error.code == "changed_since" else 404)
    return RedirectResponse(f"/review?{urlencode({'approved': key})}", HTTPStatus.SEE_OTHER)


OPERATIONS = (
    Operation("/waiting", waiting, "Waiting"),
    Operation("/review", review, "ReviewList", WINDOW),
    Operation("/review/{key:path}", approve_held, "Reviewed", method="POST", body="ReviewAnswer"),
)
PAGES = {"/review": review_page}
FORMS = {"/review": approve_form}
