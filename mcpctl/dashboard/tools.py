"""Tools as REST answers and as pages: a list with its filters, and one of them whole."""

import shlex
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from itertools import islice
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from mcpctl.base import definitions, hints
from mcpctl.base.errors import WrongUsage
from mcpctl.base.models import Found, RawJson, Row, Tool, Usage
from mcpctl.base.paths import Paths
from mcpctl.catalog import drift, explained, rows
from mcpctl.catalog.cache import Catalog
from mcpctl.catalog.drift import RULES
from mcpctl.catalog.rows import HINT_FIELDS
from mcpctl.catalog.signature import ToolParameter, parameters
from mcpctl.dashboard import badges, rest_names
from mcpctl.dashboard.dashboard import Dashboard, dashboard_of
from mcpctl.dashboard.page_query import PageQuery
from mcpctl.dashboard.rendering import indented, page
from mcpctl.dashboard.rest import OF_TOOLS, WINDOW, Operation, Parameters, answer, listing
from mcpctl.output import findings
from mcpctl.output.text import meaning_of
from mcpctl.policy import pins
from mcpctl.policy.policy_file import PolicyFile
from mcpctl.policy.words import HELD
from mcpctl.search import providers, search_rows
from mcpctl.store import clock
from mcpctl.store.filters import CallFilter
from mcpctl.toolsets.toolset_files import NONE, is_path

_MOST_PARAMETERS = 200
_HINT_WORDS = {name: badge.text for name, badge in badges.MARKS.items()}
_RISK_WORDS = {risk: risk.replace("-", " ").capitalize() for risk in hints.RISKS}
_PARAMETERS = ("q", "hint", "risk", "use", "server", "sort", "toolset")
_USES = {"used": "Used", "unused": "Never used", "held": "Held"}
_SORTS = {"": "As listed", "key": "Key", "tool": "Name", "usage": "Calls", "last_used": "Last used"}


class _Definition(msgspec.Struct):
    inputSchema: msgspec.Raw = msgspec.Raw(b"null")


def tools(request: Request, query: Parameters) -> Response:
    """The tools of all enabled servers, or those that words find."""
    dashboard = dashboard_of(request)
    wanted = rows.ToolFilter(query.several("server"), **{name: query.flag(name) for name in OF_TOOLS})
    order, words = rows.Order(query.choice("sort", rows.SORTS)), query.one("q")
    usage = dashboard.usage()
    with _catalog(request, query) as catalog:
        if words is None:
            found = rows.listed(catalog, wanted, order, usage)
        else:
            found = _ranked(catalog, words, usage, dashboard.paths, wanted)

        def window(limit: int | None, offset: int) -> Iterator[Row]:
            for row in found.rows(limit, offset):
                tool = catalog.find(row["server"], row["tool"])
                yield _as_rest(row, tool.text if tool else "{}")

        return listing(query, "tools", replace(found, rows=window), rest_names.TOOL)


def tool(request: Request, query: Parameters) -> Response:
    """One tool with its definition."""
    dashboard = dashboard_of(request)
    with _catalog(request, query) as catalog:
        row = rows.show(catalog, request.path_params["key"], dashboard.usage(), dashboard.paths)
    return answer(rest_names.renamed(_as_rest(row, row["definition"]), rest_names.TOOL_SHOWN))


def _catalog(request: Request, query: Parameters) -> AbstractContextManager[Catalog]:
    toolset = query.one("toolset")
    if toolset and is_path(toolset):
        raise WrongUsage("toolset is the path of a file", "give the name of a toolset, or none")
    return dashboard_of(request).catalog(toolset, query.one("project"))


def _ranked(catalog: Catalog, words: str, usage: Usage, paths: Paths, wanted: rows.ToolFilter) -> Found:
    return search_rows.search(
        catalog, [words], wanted, usage, providers.build, index_path=paths.search_index, tells=False
    )


def _as_rest(row: Row, definition: str) -> Row:
    """The row of a tool with the members that REST puts together of several fields."""
    in_effect = badges.hints_of(row)
    annotations: dict[str, Any] = {"title": row["title"]} if row["title"] else {}
    annotations |= {name: hint["value"] for name, hint in in_effect.items() if hint["source"] != "default"}
    schema = bytes(msgspec.json.decode(definition.encode(), type=_Definition).inputSchema)
    return {
        **row,
        "annotations": annotations or None,
        "hints": in_effect,
        "schema": RawJson(schema.decode()) if schema.startswith(b"{") else None,
    }


def tools_page(request: Request) -> Response:
    dashboard, query = dashboard_of(request), PageQuery.of(request, _PARAMETERS)
    words, sort = query.get("q").strip(), query.one_of("sort", _SORTS, "")
    toolset = NONE if query.get("toolset") == NONE else None
    with dashboard.catalog(toolset) as catalog:
        wanted, order, usage = rows.ToolFilter(), rows.Order(sort or None), dashboard.usage()
        every = list(rows.listed(catalog, wanted, order, usage, with_signature=False).rows(None, 0))
        matches = every
        if words:
            matches = list(order.of([*_ranked(catalog, words, usage, dashboard.paths, wanted).rows(None, 0)]))
        in_force, unlisted, servers = catalog.toolset, catalog.unlisted(), catalog.config.enabled
    names = sorted({row["server"] for row in every})
    filters = {"hint": _HINT_WORDS, "risk": _RISK_WORDS, "use": _USES, "server": {name: name for name in names}}
    orders = {**_SORTS, "": "Best first"} if words else _SORTS
    return page(
        request, "tools.html",
        tools=query.window(Found.of(query.fitting(filters, matches, _fits))),
        filters=[*query.counted(filters, matches, _fits), query.orders("Order", "sort", orders)],
        marks={"Hint": badges.MARKS}, counts_default=query.get("hint") in ("destructive", "open-world"),
        of=len(every), unlisted=unlisted, servers=servers, words=words,
        kept=[each for each in query.values.items() if each[0] != "q"],
        toolset=in_force.name if in_force else None, all_tools=query.link("toolset", NONE),
    )  # fmt: skip


def _fits(row: Row, name: str, value: str) -> bool:
    """Whether a filter of the page leaves a tool; by its hints in effect, as `tools ls` filters."""
    if (name, value) == ("hint", "undeclared"):
        name, value = "risk", "not-declared"
    if name == "hint":
        return bool(row[value.replace("-", "_")]["effective"])
    if name == "use":
        return bool(row["held"]) if value == "held" else bool(row["usage"]) == (value == "used")
    return bool(row[name] == value)


def tool_page(request: Request) -> Response:
    dashboard, key = dashboard_of(request), request.path_params["key"]
    with dashboard.catalog() as catalog:
        tool = rows.resolve(catalog, key)
        row = rows.show(catalog, tool.key, dashboard.usage(), dashboard.paths)
        description = msgspec.json.decode(tool.text).get("description")  # without the notes of a toolset
        policy = explained.explain(catalog, tool.key, dashboard.paths)
        about = catalog.toolset.about(tool) if catalog.toolset else None
        pinned = _pinned(dashboard.paths, catalog, tool)
        suspicions = list(drift.suspicion(catalog)(tool)) if row["held"] else []
    return page(
        request, "tool.html", tool=row, risk=badges.RISKS[row["risk"]], hint_fields=HINT_FIELDS, titles=_HINT_WORDS,
        meaning_of=meaning_of, meaningless=hints.MEANINGLESS_IF_READ_ONLY, notes=about.notes if about else (),
        policy=policy, is_on=policy["mode"] != "off",
        description=description.strip() if isinstance(description, str) else "",
        pinned=pinned, compared=findings.compared, held=HELD.get(row["held"] or ""), argument=shlex.quote(tool.key),
        inputs=_parameters(tool.definition.get("inputSchema")),
        outputs=_parameters(tool.definition.get("outputSchema")), as_sent=indented(tool.text),
        totals=_totals(dashboard, tool) if row["usage"] else None, suspicions=suspicions,
    )  # fmt: skip


def _parameters(schema: Any) -> list[ToolParameter]:
    return list(islice(parameters(schema if isinstance(schema, dict) else {}), _MOST_PARAMETERS))


def _pinned(paths: Paths, catalog: Catalog, tool: Tool) -> Row | None:
    """The tool when it was pinned, and the changes since, each with its reason; None where it never was."""
    if not catalog.config.policy.is_on or not PolicyFile.is_made(paths):
        return None
    with PolicyFile.connect(paths) as file:
        fingerprint = catalog.config.fingerprints.get(tool.server)
        of_tool = [
            pin for pin in pins.pinned(file, tool.server)
            if pin.name == tool.name and pin.of.fingerprint == fingerprint
        ]  # fmt: skip
        changed = drift.since_pinned(catalog, file, drift.ChangeFilter([tool.key]))
    if not of_tool:
        return None
    as_it_is = [pin for pin in of_tool if pin.pin == definitions.pin_of(tool)] or of_tool
    approved = max((pin.approved for pin in as_it_is if pin.approved), default=None)
    return {
        "seen": clock.iso(of_tool[0].seen),
        "approved": clock.iso(approved) if approved else None,
        "changes": [(change, RULES[change.rule].why) for change in changed],
    }


def _totals(dashboard: Dashboard, tool: Tool) -> Row | None:
    wanted = CallFilter(servers=(tool.server,), tools=(tool.key,))
    with dashboard.records() as records:
        rows = records.totals("server", "tool", criteria=wanted)
    return next((row for row in rows if row["tool"] == tool.name), None)  # a name with a star matches others, too


_CATALOG = ("project", "toolset")
OPERATIONS = (
    Operation("/tools", tools, "ToolList", (*WINDOW, "q", "server", *OF_TOOLS, "sort", *_CATALOG)),
    Operation("/tools/{key:path}", tool, "ToolShown", _CATALOG),
)
PAGES = {"/tools": tools_page, "/tools/{key:path}": tool_page}
