"""Tools as commands list them: one row each, filtered by their effective hints, or one line of JSON in a file."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from mcpctl.base import fields, files, hints
from mcpctl.base.callers import Claims
from mcpctl.base.errors import NotFound, Unusable, warn
from mcpctl.base.models import API_FIELDS, Found, RawJson, Row, Tool, Usage
from mcpctl.base.near_names import nearest
from mcpctl.base.paths import Paths
from mcpctl.base.tool_keys import split, split_typed
from mcpctl.catalog.cache import Catalog
from mcpctl.catalog.lists_in_memory import Lists
from mcpctl.config import config
from mcpctl.config.config import Config
from mcpctl.policy import pins, words
from mcpctl.policy.decide import ALLOW, FIND, SHOW, Subject, decide
from mcpctl.policy.holding import NOTHING, Holding
from mcpctl.policy.policy_file import PolicyFile
from mcpctl.policy.tokens import Token
from mcpctl.policy.view import View, access_by, seen_by
from mcpctl.store import clock
from mcpctl.store.state import State
from mcpctl.toolsets import in_force
from mcpctl.toolsets.toolset_files import NONE

HINT_FIELDS = {
    "read_only": "readOnlyHint",
    "destructive": "destructiveHint",
    "idempotent": "idempotentHint",
    "open_world": "openWorldHint",
}
USAGE_FIELDS = ("usage", "last_used")
FIELDS = fields.names(fields.ToolRow)
SORTS = ("key", "tool", *USAGE_FIELDS)
GROUPS = ("risk",)
_NAMED = 8
_LIST_THEM = "list their tools with: mcpctl tools refresh"
_TOOL = 'a line is {"server": "…", "tool": {"name": "…", …as its server lists it}}; mcpctl tools export prints them'


class ToolFilter(Struct, frozen=True):
    """Filters of tool lists; None and an empty list do not filter. Hints are compared by the value in effect."""

    servers: Sequence[str] = ()
    read_only: bool | None = None
    destructive: bool | None = None
    idempotent: bool | None = None
    open_world: bool | None = None

    def met_by(self, tool: Tool) -> bool:
        if self.servers and tool.server not in self.servers:
            return False
        effective = hints.effective(tool)
        values = ((hint, getattr(self, name)) for name, hint in HINT_FIELDS.items())
        return all(value is None or effective[hint].value == value for hint, value in values)


class Order(Struct, frozen=True):
    sort: str | None = None  # one of `SORTS`: names from a to z, the most or latest used first
    by: str | None = None  # one of `GROUPS`, within which they are sorted

    def of(self, rows: Sequence[Row]) -> Sequence[Row]:
        if name := self.sort:
            rows = sorted(rows, key=lambda row: (row[name] is not None, row[name]), reverse=name in USAGE_FIELDS)
        return sorted(rows, key=lambda row: hints.RISKS.index(row["risk"])) if self.by else rows


@contextmanager
def catalog(
    paths: Paths,
    toolset: str | None = NONE,
    project: str | None = None,
    *,
    servers: Sequence[str] = (),
    quiet: bool = False,
    lists: Lists | None = None,
    loaded: Config | None = None,
    token: Token | None = None,
) -> Iterator[Catalog]:
    """The cached catalog of the servers of `project`, or all, with a toolset in force. Warns of servers (of `servers`)
    that were never listed, unless `quiet`. `lists` of an earlier catalog are not read again if unchanged. A
    configuration may be `loaded` already. With a `token` it is as `serve --http` shows it to who has that."""
    loaded = loaded or config.load(paths.config, project)
    access = access_by(token, time.time())
    if token:
        loaded = seen_by(loaded, Claims(is_checked=True), token)
    for problem in loaded.problems.values():
        warn(f"{problem}; this server is skipped")
    with State.opened(paths) as state:
        view = View(loaded, in_force.current(paths, loaded, toolset, state), access=access)
        judged_by = holding(paths, loaded)
        catalog = Catalog(view, state, lists or Lists(judged_by, paths.verdicts))
        if lists is not None:
            catalog.renew(judged_by)
        unlisted = [name for name in catalog.unlisted() if not servers or name in servers] if not quiet else []
        if unlisted:
            failed = [name for name in unlisted if state.last_failure(name, loaded.fingerprints[name])]
            why = f"see why {failed[0]} failed with: mcpctl servers check {failed[0]}" if failed else _LIST_THEM
            warn(f"not listed yet: {', '.join(unlisted)}; {why}")
        yield catalog


def holding(paths: Paths, loaded: Config, opened: Callable[[Paths], PolicyFile] = PolicyFile.connect) -> Holding:
    """Why tools are held, for a command: pins, where there is a policy, read from the file that `opened` gives."""
    table = loaded.policy.table
    if not loaded.policy.is_on:
        return NOTHING
    if not PolicyFile.is_made(paths):
        return Holding(checks=table.checks)
    with opened(paths) as file:
        return Holding(table.on_change, pins.read(file), checks=table.checks)


def listed(
    catalog: Catalog, filters: ToolFilter, order: Order, used: Usage | None, *, with_signature: bool = True
) -> Found:
    """The rows of tools; they lack usage without `used`. A signature takes longest by far, and may be left out."""
    for server in filters.servers:
        catalog.config.server(server)
    catalog.check_together()
    tools = (tool for tool in catalog.visible(with_held=True) if filters.met_by(tool))
    rows = [row(tool, catalog, used, with_signature=with_signature) for tool in tools]
    return Found.of(order.of(rows), filtered=filters != ToolFilter() or catalog.toolset is not None)


def row(tool: Tool, catalog: Catalog, used: Usage | None, *, with_signature: bool = True) -> dict[str, Any]:
    """A hint's `declared` is null where the server did not say, its `file` is the toolset's that overrides it."""
    from_server = catalog.listed(tool.server)
    effective = hints.effective(tool)
    usage = used.get((tool.server, tool.name), (0, None)) if used is not None else ()
    return {
        "key": tool.key,
        "server": tool.server,
        "tool": tool.name,
        "title": tool.title,
        "description": tool.description or None,
        **{field: _hint(tool, name, effective[name]) for field, name in HINT_FIELDS.items()},
        "risk": hints.risk(effective),
        "label": tool.title or tool.description.strip().partition("\n")[0] or None,
        **(_signature(tool) if with_signature else {}),
        **dict(zip(USAGE_FIELDS, usage, strict=False)),
        "listed_at": clock.iso(from_server.fetched_at) if from_server else None,
        "held": (tool.held or None) if catalog.config.policy.enforces else None,
    }


def show(catalog: Catalog, key: str, used: Usage, paths: Paths) -> Row:
    catalog.check_together()
    tool = resolve(catalog, key)
    toolset = catalog.toolset
    view = msgspec.structs.replace(catalog.view, toolset=None)
    subject = Subject(FIND, tool.server, tool.name, replace(tool, held=""), view)
    more = {
        "permitted": decide(subject).outcome == ALLOW,
        "toolset": toolset.name if toolset else None,
        "in_toolset": toolset.holds(tool) if toolset else None,
        "definition": RawJson(tool.text),
        **_of_api(paths, catalog, tool),
    }
    return {**row(tool, catalog, used), **more}


def _of_api(paths: Paths, catalog: Catalog, tool: Tool) -> Row:
    """The request of a tool of an HTTP API, and the security schemes that it takes; null for others."""
    server = catalog.config.servers.get(tool.server)
    if server is None or not server.openapi:
        return dict.fromkeys(API_FIELDS)
    from mcpctl.openapi import overview

    return overview.of_tool(paths, tool.server, server, tool.name)


def resolve(catalog: Catalog, key: str) -> Tool:
    if tool := shown(catalog, *split_typed(key)):
        return tool
    raise unknown(catalog, key)


def shown(catalog: Catalog, server: str, name: str) -> Tool | None:
    subject = Subject(SHOW, server, name, catalog.find(server, name), catalog.view)
    return subject.tool if decide(subject).outcome == ALLOW else None


def _signature(tool: Tool) -> Row:
    from mcpctl.catalog.signature import signature

    return {"signature": signature(tool)}


def unknown(catalog: Catalog, key: str, following: str = "") -> NotFound:
    """The failure for a key that names no tool; `following` is the word that was typed after it."""
    server, name = split_typed(key)
    failure = decide(Subject(SHOW, server, name, None, catalog.view)).failure
    if failure and failure.code in ("not_in_project", "server_disabled"):
        error = words.for_person(failure)
        return NotFound(f"no tool '{key}': {error.message}", error.hint, error.code)
    known = catalog.keys()
    near = nearest(key, known)
    if ":" not in key and (own := [known_key for known_key in known if split(known_key)[0] == key]):
        meant = f"{key}:{following}"
        near = [meant] if meant in own else nearest(meant, own) if following else []
        if not near:
            more = f" and {len(own) - _NAMED} more: mcpctl tools ls --server {key}" if len(own) > _NAMED else ""
            return NotFound(f"'{key}' is a server", f"its tools: {', '.join(own[:_NAMED])}{more}", "tool_not_found")
    listing = "list tools with: mcpctl tools ls; refresh the list with: mcpctl tools refresh"
    hint = f"did you mean '{near[0]}'?" if near else listing
    if (server or key) in catalog.unlisted():
        hint = f"its server is not listed yet; list its tools with: mcpctl tools refresh {server or key}"
    return NotFound(f"no tool '{key}'", hint, "tool_not_found")


def hint_cell(value: Any) -> str:
    return hints.cell(hints.Hint(value["effective"], value["source"]))


def _hint(tool: Tool, name: str, hint: hints.Hint) -> Mapping[str, Any]:
    declared = tool.annotations.get(name)
    return {
        "declared": declared if isinstance(declared, bool) else None,
        "override": hint.value if hint.source == "override" else None,
        "effective": hint.value,
        "source": hint.source,
        "file": tool.overrides.file if tool.overrides and hint.source == "override" else None,
    }


def exported(catalog: Catalog, filters: ToolFilter) -> Iterator[bytes]:
    for server in filters.servers:
        catalog.config.server(server)
    for tool in catalog.visible():
        if filters.met_by(tool):
            # Some servers indent what they send, and a line is one tool.
            compact = msgspec.json.format(tool.text.encode(), indent=-1)
            yield msgspec.json.encode({"server": tool.server, "tool": msgspec.Raw(compact)})


def tools_in_file(path: Path) -> Iterator[Tool]:
    return (tool for _, tool in numbered_tools(path))


def numbered_tools(path: Path) -> Iterator[tuple[int, Tool]]:
    """The tools of a file with their lines; raises `NotFound` and `Unusable`, with the line."""
    for where, members, text in json_lines(path, _TOOL):
        server, definition = members.get("server"), members.get("tool")
        name = definition.get("name") if isinstance(definition, dict) else None
        if not isinstance(server, str) or not isinstance(name, str) or not isinstance(definition, dict):
            raise wrong_line(where, _TOOL)
        yield int(where.rpartition(":")[2]), Tool(server, name, definition, text)


def json_lines(path: Path, form: str) -> Iterator[tuple[str, Mapping[str, Any], str]]:
    """Each object's place, members and text; raises `Unusable` with the line and the `form` that it should have."""
    data = files.read(path, files.MAX_LARGE_BYTES).removeprefix(b"\xef\xbb\xbf")
    for number, line in enumerate(data.splitlines(), 1):
        if not line.strip():
            continue
        where = f"{path}:{number}"
        try:
            members = msgspec.json.decode(line)
        except (msgspec.MsgspecError, RecursionError) as error:
            raise wrong_line(where, form) from error
        if not isinstance(members, dict):
            raise wrong_line(where, form)
        yield where, members, line.decode("utf-8", "replace")


def wrong_line(where: str, form: str) -> Unusable:
    return Unusable(f"{where}: the line has another form", form, "line_wrong")
