"""The pages of tools: which there are, and one of them whole."""

import shlex
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from mcpctl import definitions, hints
from mcpctl.catalog import drift_check, explained, rows
from mcpctl.catalog.cache import Catalog
from mcpctl.catalog.drift import Change
from mcpctl.catalog.drift_rules import RULES
from mcpctl.catalog.rows import HINT_FIELDS
from mcpctl.catalog.signature import Parameter, parameters
from mcpctl.dashboard import badges, choices, json_text, rest_tools
from mcpctl.dashboard.board import Board, board_of
from mcpctl.dashboard.choices import Filter
from mcpctl.dashboard.rendering import page
from mcpctl.models import Row, Tool
from mcpctl.output import changes
from mcpctl.output.text import MEANINGS
from mcpctl.paths import Paths
from mcpctl.policy.decide import ALLOW
from mcpctl.policy.words import HELD
from mcpctl.policy_settings import ASK, DENY
from mcpctl.store import clock, pins
from mcpctl.store.policy_file import PolicyFile
from mcpctl.store.records import recorded_usage
from mcpctl.toolsets.toolset_files import NONE

MOST_PARAMETERS = 200
_HINT_WORDS = {name: badge.text for name, badge in badges.MARKS.items()}
_RISK_WORDS = {risk: risk.replace("-", " ").capitalize() for risk in hints.RISKS}
_USES = {"used": "Used", "unused": "Never used", "held": "Held"}
_SORTS = {"": "As listed", "key": "Key", "tool": "Name", "usage": "Calls", "last_used": "Last used"}


class Hint(NamedTuple):
    """One hint of a tool in words."""

    name: str
    value: str
    source: str
    meaning: str
    remark: str
    """Why it does not count for rules, where it does not."""


def tools(request: Request) -> Response:
    """The tools of all servers that may be found, in the toolset in force, or those that words find."""
    board, query = board_of(request), request.query_params.get("q", "").strip()
    toolset = NONE if request.query_params.get("toolset") == NONE else None
    sort = choices.chosen_of(request, "sort", _SORTS, "")
    with board.catalog(toolset) as catalog:
        order, used = rows.Order(sort or None), recorded_usage(board.paths)
        every = list(rows.listed(catalog, rows.Wanted(), order, used, with_signature=False).rows(None, 0))
        found_by = rest_tools.ranked(catalog, query, used, board.paths) if query else None
        having = order.of([*found_by.rows(None, 0)]) if found_by else every
        in_force, unlisted, servers = catalog.toolset, catalog.unlisted(), catalog.config.enabled
    asked = _filters(sorted({row["server"] for row in every}))
    orders = {**_SORTS, "": "Best first"} if query else _SORTS
    found = choices.window(request, choices.fitting(request, asked, having))
    return page(
        request, "tools.html",
        tools=found._replace(rows=[{**row, "hints": badges.known(row)} for row in found.rows]),
        filters=[*choices.shown(request, asked, having), ("Order", choices.choices(request, "sort", orders, ""))],
        marks={"Hint": badges.MARKS}, counts_default=request.query_params.get("hint") in ("destructive", "open-world"),
        of=len(every), unlisted=unlisted, servers=servers, query=query,
        kept=[each for each in request.query_params.items() if each[0] not in ("q", "offset")],
        toolset=in_force.name if in_force else None, all_tools=choices.address(request, toolset=NONE),
    )  # fmt: skip


def _filters(servers: Sequence[str]) -> list[Filter]:
    return [
        Filter("hint", "Hint", _HINT_WORDS, _has_hint),
        Filter("risk", "Risk", _RISK_WORDS, lambda row, risk: row["risk"] == risk),
        Filter("use", "Use", _USES, _is_used),
        Filter("server", "Server", {name: name for name in servers}, lambda row, name: row["server"] == name),
    ]


def _has_hint(row: Row, hint: str) -> bool:
    """By the hint in effect, as `tools ls` filters."""
    if hint == "undeclared":
        return bool(row["risk"] == "not-declared")
    return bool(row[hint.replace("-", "_")]["effective"])


def _is_used(row: Row, use: str) -> bool:
    return bool(row["held"]) if use == "held" else bool(row["usage"]) == (use == "used")


def tool(request: Request) -> Response:
    """One tool: what it says, what was decided of it, what it was used for."""
    board, key = board_of(request), request.path_params["key"]
    with board.catalog() as catalog:
        found = rows.resolve(catalog, key)
        row = rows.show(catalog, found.key, recorded_usage(board.paths))
        as_sent = msgspec.json.decode(found.text)
        policy = explained.explain(catalog, found.key, explained.standing(board.paths))
        about = catalog.toolset.about(found) if catalog.toolset else None
        pinned = _pinned(board.paths, catalog, found)
        suspicions = list(drift_check.suspicion(catalog)(found)) if row["held"] else []
    totals, as_of = _totals(board, found) if row["usage"] else (None, None)
    return page(
        request, "tool.html", tool=row, known=badges.known(row), risk=badges.RISKS[row["risk"]],
        hints=list(_hints(row, policy)), description=_text(as_sent, "description"),
        notes=about.notes if about else (), policy=policy, decision=_decision(policy), is_on=policy["mode"] != "off",
        pinned=pinned, compared=changes.compared, held=HELD.get(row["held"] or ""), argument=shlex.quote(found.key),
        inputs=_parameters(found.definition.get("inputSchema")),
        outputs=_parameters(found.definition.get("outputSchema")), as_sent=json_text.shown(found.text),
        totals=totals, as_of=as_of, suspicions=suspicions,
    )  # fmt: skip


_DOES = {
    ALLOW: "is passed on to its server",
    ASK: "waits for your consent",
    DENY: "is refused; models do not find it either",
    "held": "is refused until you have looked at the tool; models do not find it either",
    "refused": "is refused",
}


def _decision(policy: Row) -> str:
    if policy["enforced"]:
        return _DOES[policy["decision"]]
    return f"{_DOES[ALLOW]}, since the policy is only recorded; enforced, it would say {policy['decision']}"


def _text(definition: Row, name: str) -> str:
    text = definition.get(name)
    return text.strip() if isinstance(text, str) else ""


def _parameters(schema: Any) -> list[Parameter]:
    found = parameters(schema if isinstance(schema, dict) else {})
    return [parameter for parameter, _ in zip(found, range(MOST_PARAMETERS), strict=False)]


def _hints(row: Row, policy: Row) -> Iterator[Hint]:
    for field, name in HINT_FIELDS.items():
        hint, counted = row[field], policy["hints"][name]
        title, meaning = _HINT_WORDS[field.replace("_", "-")], MEANINGS[field][not hint["effective"]]
        value = "yes" if hint["effective"] else "no"
        if row["risk"] == "read-only" and name in hints.MEANINGLESS_IF_READ_ONLY:
            meaning = "says nothing of a tool that only reads"
        elif hint["source"] == "default":
            meaning = f"counts as: {meaning}"
        if hint["source"] == "default":
            yield Hint(title, "not declared", "nobody: as MCP has it", meaning, "")
            continue
        remark = ""
        if not counted["counts"]:
            remark = f"does not count for rules, which take it for {'yes' if counted['counted_value'] else 'no'}"
        yield Hint(title, value, _source(hint), meaning, remark)


def _source(hint: Row) -> str:
    if hint["source"] != "override":
        return "declared by its server"
    said = {None: "declares nothing", True: "says yes", False: "says no"}[hint["declared"]]
    return f"set in {hint['file']}; its server {said}"


class Pinned(NamedTuple):
    """How a tool was when it was pinned."""

    seen: str
    approved: str | None
    changes: Sequence[tuple[Change, str]]
    """What changed since, and why each matters."""


def _pinned(paths: Paths, catalog: Catalog, found: Tool) -> Pinned | None:
    """None where it was never pinned."""
    if not catalog.config.policy.is_on or not PolicyFile.is_made(paths):
        return None
    with PolicyFile.connect(paths) as file:
        fingerprint = catalog.config.fingerprints.get(found.server)
        of_tool = [
            pin for pin in pins.pinned(file, found.server)
            if pin.name == found.name and pin.of.fingerprint == fingerprint
        ]  # fmt: skip
        changed = drift_check.since_pinned(catalog, file, drift_check.Wanted([found.key]))
    if not of_tool:
        return None
    as_it_is = [pin for pin in of_tool if pin.pin == definitions.pin_of(found)] or of_tool
    approved = max((pin.approved for pin in as_it_is if pin.approved), default=None)
    told = [(change, RULES[change.rule].why) for change in changed]
    return Pinned(clock.iso(of_tool[0].seen), clock.iso(approved) if approved else None, told)


def _totals(board: Board, found: Tool) -> tuple[Row | None, str | None]:
    """What the calls of a tool come to, of the totals of all tools, which other pages show too; and when that was
    counted, if it is not as of now."""
    with board.records() as records:
        summary = board.summaries.totals(records, "server", "tool")
    key = found.server, found.name
    return next((row for row in summary.rows or () if (row["server"], row["tool"]) == key), None), summary.counted_at


ROUTES: list[BaseRoute] = [Route("/tools", tools), Route("/tools/{key:path}", tool)]
