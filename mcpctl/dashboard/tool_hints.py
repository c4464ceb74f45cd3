"""The hints of one tool, overridden by a person in their own toolset: shown first, then written as shown."""

import hashlib
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, NamedTuple
from urllib.parse import urlencode

import msgspec
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from mcpctl.base.errors import Refused, WrongUsage
from mcpctl.base.models import Row
from mcpctl.catalog import loosening, rows, tool_notes
from mcpctl.catalog.held import changed_since
from mcpctl.catalog.rows import HINT_FIELDS
from mcpctl.dashboard import badges
from mcpctl.dashboard.dashboard import Dashboard, body_of, dashboard_of
from mcpctl.dashboard.guard import form_of, require_answering
from mcpctl.dashboard.rendering import page
from mcpctl.dashboard.rest import Operation, Parameters, answer
from mcpctl.output.text import MEANINGS
from mcpctl.toolsets.toolset_files import ToolsetFile

_CHANNEL = "dashboard"
_TITLES = {name.replace("-", "_"): badge.text for name, badge in badges.MARKS.items()}
_CHOICES = {"": None, "yes": True, "no": False}  # of the form; the first leaves it to the server


class HintAnswer(msgspec.Struct, forbid_unknown_fields=True):
    read_only: bool | msgspec.UnsetType | None = msgspec.UNSET
    destructive: bool | msgspec.UnsetType | None = msgspec.UNSET
    idempotent: bool | msgspec.UnsetType | None = msgspec.UNSET
    open_world: bool | msgspec.UnsetType | None = msgspec.UNSET
    shown: str | None = None


class Override(NamedTuple):
    """A change of a toolset's file, written or only shown."""

    toolset: str
    path: str
    diff: Sequence[str]
    loosened: Sequence[str]  # the keys that are then called without a question
    shown: str  # the hash of all this, with which it is written
    written: bool


class _NotSeen(Exception):
    """Nobody has seen this change yet."""


def override_hints(request: Request, query: Parameters) -> Response:
    """Show the change of a tool's hints, or write the one that was shown."""
    require_answering(request)
    try:
        given = msgspec.json.decode(body_of(request), type=HintAnswer)
    except ValueError as error:
        hint = f'send some of {", ".join(HINT_FIELDS)} as true, false or null (as its server says); then also "shown"'
        raise WrongUsage(f"the body is not an override: {error}", hint) from None
    wanted = {name: value for name in HINT_FIELDS if (value := getattr(given, name)) is not msgspec.UNSET}
    done = _override(dashboard_of(request), request.path_params["key"], wanted, given.shown)
    if given.shown is not None and not done.written and done.diff:
        raise changed_since(f"the toolset {done.toolset}")
    return answer(done._asdict())


def _override(dashboard: Dashboard, key: str, wanted: Mapping[str, bool | None], shown: str | None) -> Override:
    """Change the hints of a tool if exactly that change was shown; else only find out what it would be."""
    paths, seen = dashboard.paths, [Override("", "", (), (), "", False)]
    choice = tool_notes.ToolsetChoice(paths, None, None)
    with choice.opened() as (_, place, _):
        if not place.own:
            hint = "equip a toolset of your own, or change that file with: mcpctl annotate set"
            raise Refused(f"the toolset in force is not yours alone: {place.path}", hint, "not_own_toolset")

    def permit(place: ToolsetFile, before: str, after: str) -> None:
        loosened = loosening.by_toolset(paths, place, before, after)
        hashed = hashlib.sha256(msgspec.json.encode([place.reference, key, before, after, loosened])).hexdigest()
        seen[0] = Override(place.reference, str(place.path), (), loosened, hashed, hashed == shown)
        if hashed != shown:
            raise _NotSeen
        if loosened:
            loosening.record(paths, loosened, place.reference, after, _CHANNEL, before)

    def change(*, dry_run: bool) -> Sequence[str]:
        hints = {HINT_FIELDS[name]: value for name, value in wanted.items() if value is not None}
        inherited = [HINT_FIELDS[name] for name, value in wanted.items() if value is None]
        return tool_notes.override(choice, key, hints, None, inherited, permit, dry_run=dry_run).diff

    try:
        diff = change(dry_run=False)
    except _NotSeen:
        diff = change(dry_run=True)
    return seen[0]._replace(toolset=place.reference, path=str(place.path), diff=diff)


def hints_page(request: Request) -> Response:
    return _page(request, {})


def _page(request: Request, chosen: Mapping[str, str], change: Override | None = None, status: int = 200) -> Response:
    dashboard = dashboard_of(request)
    with dashboard.catalog() as catalog:
        tool = rows.row(rows.resolve(catalog, request.path_params["key"]), catalog, None, with_signature=False)
        toolset = catalog.toolset
    return page(
        request, "hints.html", status, tool=tool, toolset=toolset, change=change, chosen={**_in_force(tool), **chosen},
        fields=[(field, _TITLES[field], MEANINGS[field]) for field in HINT_FIELDS], risk=badges.RISKS[tool["risk"]],
        written=bool(request.query_params.get("written")) and change is None, is_late=status != 200,
    )  # fmt: skip


def _in_force(tool: Row) -> dict[str, str]:
    """The choices before anybody has chosen: the overrides that there are."""

    def said(hint: Mapping[str, Any]) -> str:
        return ("yes" if hint["effective"] else "no") if hint["source"] == "override" else ""

    return {field: said(tool[field]) for field in HINT_FIELDS}


def hints_form(request: Request) -> Response:
    """Show what the choices change, then write exactly that."""
    require_answering(request)
    dashboard, key, form = dashboard_of(request), request.path_params["key"], form_of(request)
    chosen = {field: form[field] for field in HINT_FIELDS if form.get(field) in _CHOICES}
    shown = form.get("shown")
    done = _override(dashboard, key, {field: _CHOICES[value] for field, value in chosen.items()}, shown)
    if done.written:
        return RedirectResponse(f"{request.url.path}?{urlencode({'written': 1})}", HTTPStatus.SEE_OTHER)
    return _page(request, chosen, done, 409 if shown and done.diff else 200)


OPERATIONS = (Operation("/hints/{key:path}", override_hints, "HintOverride", method="POST", body="HintAnswer"),)
PAGES = {"/hints/{key:path}": hints_page}
FORMS = {"/hints/{key:path}": hints_form}
