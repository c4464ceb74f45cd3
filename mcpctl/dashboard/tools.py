"""Tools as REST answers and as pages: which there are, and one of them whole."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from mcpctl.base import definitions, hints
from mcpctl.base.errors import WrongUsage
from mcpctl.base.models import Found, RawJson, Row, Tool, Usage
from mcpctl.base.paths import Paths
from mcpctl.catalog import drift, explained, rows
from mcpctl.catalog.cache import Catalog
from mcpctl.catalog.drift import RULES, Change
from mcpctl.catalog.rows import HINT_FIELDS
from mcpctl.catalog.signature import Parameter, parameters
from mcpctl.config.policy_settings import ASK, DENY
from mcpctl.dashboard import badges, json_text, rest_names
from mcpctl.dashboard.board import Board, board_of
from mcpctl.dashboard.links import Asked, Filter
from mcpctl.dashboard.parameters import OF_TOOLS, WINDOW, Parameters
from mcpctl.dashboard.rendering import page
from mcpctl.dashboard.rest_answers import Operation, answer
from mcpctl.dashboard.summaries import apart
from mcpctl.output import changes
from mcpctl.output.text import MEANINGS
from mcpctl.policy import pins
from mcpctl.policy.decide import ALLOW
from mcpctl.policy.policy_file import PolicyFile
from mcpctl.policy.words import HELD
from mcpctl.search import providers, search_rows
from mcpctl.store import clock
from mcpctl.store.filters import CallFilter
from mcpctl.store.records import recorded_usage
from mcpctl.toolsets.toolset_files import NONE, is_path

MOST_PARAMETERS = 200
_HINT_WORDS = {name: badge.text for name, badge in badges.MARKS.items()}
_RISK_WORDS = {risk: risk.replace("-", " ").capitalize() for risk in hints.RISKS}
_PARAMETERS = ("q", "hint", "risk", "use", "server", "sort", "toolset")
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


class _Definition(msgspec.Struct):
    inputSchema: msgspec.Raw = msgspec.Raw(b"null")


def tools(request: Request, asked: Parameters) -> Response:
    """The tools of all enabled servers, or those that words find."""
    paths = board_of(request).paths
    wanted = rows.Wanted(asked.several("server"), **{name: asked.flag(name) for name in OF_TOOLS})
    order, query = rows.Order(asked.choice("sort", rows.SORTS)), asked.one("q")
    usage = recorded_usage(paths)
    with _catalog(request, asked) as catalog:
        if query is None:
            found = rows.listed(catalog, wanted, order, usage)
        else:
            found = ranked(catalog, query, usage, paths, wanted)
        window = [_told(row, _definition(catalog, row)) for row in found.rows(asked.limit, asked.offset)]
    chosen = asked.chosen(rest_names.TOOL)
    return answer({"tools": [rest_names.renamed(row, chosen) for row in window], "total": found.count()})


def tool(request: Request, asked: Parameters) -> Response:
    """One tool with its definition."""
    paths = board_of(request).paths
    usage = recorded_usage(paths)
    with _catalog(request, asked) as catalog:
        row = rows.show(catalog, request.path_params["key"], usage)
    return answer(rest_names.renamed(_told(row, row["definition"]), rest_names.TOOL_SHOWN))


def _catalog(request: Request, asked: Parameters) -> AbstractContextManager[Catalog]:
    toolset = asked.one("toolset")
    if toolset and is_path(toolset):
        raise WrongUsage("toolset is the path of a file", "give the name of a toolset, or none")
    return board_of(request).catalog(toolset, asked.one("project"))


def ranked(catalog: Catalog, query: str, usage: Usage, paths: Paths, wanted: rows.Wanted | None = None) -> Found:
    """The tools that have the words, as `tools search` ranks them without a model and without a service."""
    return search_rows.search(
        catalog, [query], wanted or rows.Wanted(), usage, providers.build, index_path=paths.search_index, tells=False
    )


def _definition(catalog: Catalog, row: Row) -> str:
    tool = catalog.find(row["server"], row["tool"])
    return tool.text if tool else "{}"


def _told(row: Row, definition: str) -> Row:
    """The row of a tool with what REST puts together of several of its fields."""
    hints = {hint: row[field] for field, hint in HINT_FIELDS.items()}
    annotations: dict[str, Any] = {"title": row["title"]} if row["title"] else {}
    annotations |= {hint: each["effective"] for hint, each in hints.items() if each["source"] != "default"}
    return {
        **row,
        "annotations": annotations or None,
        "hints": {hint: _hint(each) for hint, each in hints.items()},
        "schema": _schema(definition),
    }


def _hint(hint: Mapping[str, Any]) -> Mapping[str, Any]:
    file = {"file": hint["file"]} if hint["file"] else {}
    return {"value": hint["effective"], "source": hint["source"], **file}


def _schema(definition: str) -> RawJson | None:
    schema = bytes(msgspec.json.decode(definition.encode(), type=_Definition).inputSchema)
    return RawJson(schema.decode()) if schema.startswith(b"{") else None


def tools_page(request: Request) -> Response:
    """The tools of all servers that may be found, in the toolset in force, or those that words find."""
    board, asked = board_of(request), Asked.of(request, _PARAMETERS)
    query, sort = asked.get("q").strip(), asked.one_of("sort", _SORTS, "")
    toolset = NONE if asked.get("toolset") == NONE else None
    with board.catalog(toolset) as catalog:
        order, used = rows.Order(sort or None), recorded_usage(board.paths)
        every = list(rows.listed(catalog, rows.Wanted(), order, used, with_signature=False).rows(None, 0))
        found_by = ranked(catalog, query, used, board.paths) if query else None
        having = order.of([*found_by.rows(None, 0)]) if found_by else every
        in_force, unlisted, servers = catalog.toolset, catalog.unlisted(), catalog.config.enabled
    filters = _filters(sorted({row["server"] for row in every}))
    orders = {**_SORTS, "": "Best first"} if query else _SORTS
    found = asked.window(asked.fitting(filters, having))
    return page(
        request, "tools.html",
        tools=found,
        filters=[*asked.counted(filters, having), asked.orders("Order", "sort", orders)],
        marks={"Hint": badges.MARKS}, counts_default=asked.get("hint") in ("destructive", "open-world"),
        of=len(every), unlisted=unlisted, servers=servers, query=query,
        kept=[each for each in asked.values.items() if each[0] != "q"],
        toolset=in_force.name if in_force else None, all_tools=asked.link("toolset", NONE),
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


def tool_page(request: Request) -> Response:
    """One tool: what it says, what was decided of it, what it was used for."""
    board, key = board_of(request), request.path_params["key"]
    with board.catalog() as catalog:
        found = rows.resolve(catalog, key)
        row = rows.show(catalog, found.key, recorded_usage(board.paths))
        as_sent = msgspec.json.decode(found.text)
        policy = explained.explain(catalog, found.key, explained.standing(board.paths))
        about = catalog.toolset.about(found) if catalog.toolset else None
        pinned = _pinned(board.paths, catalog, found)
        suspicions = list(drift.suspicion(catalog)(found)) if row["held"] else []
    return page(
        request, "tool.html", tool=row, risk=badges.RISKS[row["risk"]],
        hints=list(_hints(row, policy)), description=_text(as_sent, "description"),
        notes=about.notes if about else (), policy=policy, decision=_decision(policy), is_on=policy["mode"] != "off",
        pinned=pinned, compared=changes.compared, held=HELD.get(row["held"] or ""), argument=shlex.quote(found.key),
        inputs=_parameters(found.definition.get("inputSchema")),
        outputs=_parameters(found.definition.get("outputSchema")), as_sent=json_text.shown(found.text),
        totals=_totals(board, found) if row["usage"] else None, suspicions=suspicions,
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
        changed = drift.since_pinned(catalog, file, drift.Wanted([found.key]))
    if not of_tool:
        return None
    as_it_is = [pin for pin in of_tool if pin.pin == definitions.pin_of(found)] or of_tool
    approved = max((pin.approved for pin in as_it_is if pin.approved), default=None)
    told = [(change, RULES[change.rule].why) for change in changed]
    return Pinned(clock.iso(of_tool[0].seen), clock.iso(approved) if approved else None, told)


def _totals(board: Board, found: Tool) -> Row | None:
    """What the calls of a tool come to."""
    wanted = CallFilter(servers=(found.server,), tools=(found.key,))
    with board.records() as records:
        rows = apart(records.totals("server", "tool", wanted=wanted))
    return next((row for row in rows if row["tool"] == found.name), None)  # another fits a name with a star


_CATALOG = ("project", "toolset")
OPERATIONS = (
    Operation("/tools", tools, "ToolList", (*WINDOW, "q", "server", *OF_TOOLS, "sort", *_CATALOG)),
    Operation("/tools/{key:path}", tool, "ToolShown", _CATALOG),
)
PAGES: list[BaseRoute] = [Route("/tools", tools_page), Route("/tools/{key:path}", tool_page)]
