"""Tools and servers in REST's names."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from mcpctl import server_entries
from mcpctl.catalog import rows
from mcpctl.catalog.cache import Catalog
from mcpctl.catalog.rows import HINT_FIELDS, Wanted
from mcpctl.dashboard import rest_names
from mcpctl.dashboard.board import board_of
from mcpctl.dashboard.rest_answers import Operation, answer, listing
from mcpctl.dashboard.rest_parameters import OF_TOOLS, WINDOW, Parameters
from mcpctl.errors import WrongUsage
from mcpctl.models import Found, RawJson, Row, Usage
from mcpctl.paths import Paths
from mcpctl.search import providers, search_rows
from mcpctl.store.records import recorded_usage
from mcpctl.toolsets.toolset_files import is_path


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
        window = [_told(row, _text(catalog, row)) for row in found.rows(asked.limit, asked.offset)]
    chosen = asked.chosen(rest_names.TOOL)
    return answer({"tools": [rest_names.renamed(row, chosen) for row in window], "total": found.count()})


def tool(request: Request, asked: Parameters) -> Response:
    """One tool with its definition."""
    paths = board_of(request).paths
    usage = recorded_usage(paths)
    with _catalog(request, asked) as catalog:
        row = rows.show(catalog, request.path_params["key"], usage)
    return answer(rest_names.renamed(_told(row, row["definition"]), rest_names.TOOL_SHOWN))


def servers(request: Request, asked: Parameters) -> Response:
    """The configured servers, their secrets masked."""
    entries = server_entries.ls(board_of(request).paths, asked.one("project"))
    return listing(
        asked, "servers", Found.of(entries), [rest_names.Name(field, field) for field in server_entries.FIELDS]
    )


def _catalog(request: Request, asked: Parameters) -> AbstractContextManager[Catalog]:
    toolset = asked.one("toolset")
    if toolset and is_path(toolset):
        raise WrongUsage("toolset is the path of a file", "give the name of a toolset, or none")
    return board_of(request).catalog(toolset, asked.one("project"))


def ranked(catalog: Catalog, query: str, usage: Usage, paths: Paths, wanted: Wanted | None = None) -> Found:
    """The tools that have the words, as `tools search` ranks them without a model and without a service."""
    return search_rows.search(
        catalog, [query], wanted or Wanted(), usage, providers.build, index_path=paths.search_index, tells=False
    )


def _text(catalog: Catalog, row: Row) -> str:
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


_CATALOG = ("project", "toolset")
OPERATIONS = (
    Operation("/tools", tools, "ToolList", (*WINDOW, "q", "server", *OF_TOOLS, "sort", *_CATALOG)),
    Operation("/tools/{key:path}", tool, "ToolShown", _CATALOG),
    Operation("/servers", servers, "ServerList", (*WINDOW, "project")),
)
