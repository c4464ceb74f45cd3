"""Tools as commands list them: one row each, filtered by their effective hints."""

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

from mcpctl import config
from mcpctl.catalog import hints
from mcpctl.catalog.cache import Catalog
from mcpctl.catalog.signature import signature
from mcpctl.errors import NotFound, warn
from mcpctl.models import Found, RawJson, Row, Tool
from mcpctl.paths import Paths
from mcpctl.store import clock, state

HINT_FIELDS = {
    "read_only": "readOnlyHint",
    "destructive": "destructiveHint",
    "idempotent": "idempotentHint",
    "open_world": "openWorldHint",
}
FIELDS = ("key", "server", "tool", "title", "description", *HINT_FIELDS, "label", "signature", "listed_at")


@dataclass(frozen=True)
class Wanted:
    """Which tools; None asks nothing. Hints are compared by the value in effect."""

    server: str | None = None
    read_only: bool | None = None
    destructive: bool | None = None
    idempotent: bool | None = None
    open_world: bool | None = None

    def met_by(self, tool: Tool) -> bool:
        """Whether the tool is one of them."""
        if self.server is not None and tool.server != self.server:
            return False
        effective = hints.effective(tool)
        wanted = ((HINT_FIELDS[name], getattr(self, name)) for name in HINT_FIELDS)
        return all(value is None or effective[hint].value == value for hint, value in wanted)


@contextmanager
def catalog(paths: Paths) -> Iterator[Catalog]:
    """The cached catalog of the configured servers; says which servers it knows nothing of."""
    loaded = config.load(paths.config)
    for problem in loaded.problems.values():
        warn(f"{problem}; this server is skipped")
    with closing(state.opened(paths)) as db:
        found = Catalog(loaded, db)
        if unlisted := found.unlisted():
            warn(f"not listed yet: {', '.join(unlisted)}; list their tools with: mcpctl tools refresh")
        yield found


def listed(found: Catalog, wanted: Wanted) -> Found:
    """The tools that may be found, by server and then as the server lists them."""
    if wanted.server is not None:
        found.config.server(wanted.server)
    rows = [row(tool, found) for tool in found.visible() if wanted.met_by(tool)]
    return Found.of(rows, filtered=wanted != Wanted())


def row(tool: Tool, found: Catalog) -> Row:
    """One tool. A hint is `{declared, override, effective, source}`; `declared` is null where nobody said."""
    from_server = found.listed(tool.server)
    return {
        "key": tool.key,
        "server": tool.server,
        "tool": tool.name,
        "title": tool.title,
        "description": tool.description or None,
        **{field: _hint(tool, name) for field, name in HINT_FIELDS.items()},
        "label": tool.title or tool.description.strip().partition("\n")[0] or None,
        "signature": signature(tool),
        "listed_at": clock.iso(from_server.fetched_at) if from_server else None,
    }


def show(found: Catalog, key: str) -> Row:
    """One tool with its whole definition, as the server sent it."""
    tool = resolve(found, key)
    permitted = found.config.servers[tool.server].permits(tool.name)
    return {**row(tool, found), "permitted": permitted, "definition": RawJson(tool.text)}


def split(key: str) -> tuple[str, str]:
    """The server and tool that `server:tool` or `server.tool` names; the tool is empty when there is no separator."""
    separator = ":" if ":" in key else "."
    server, _, tool = key.partition(separator)
    return server, tool


def resolve(found: Catalog, key: str) -> Tool:
    """The tool of that key; raises `NotFound` with near keys."""
    server, name = split(key)
    tool = found.find(server, name)
    if tool is None:
        raise unknown(found, key)
    return tool


def unknown(found: Catalog, key: str) -> NotFound:
    """The failure for a key that names no tool."""
    from mcpctl.catalog.near import nearest

    server, _ = split(key)
    if (entry := found.config.servers.get(server)) and not entry.enabled:
        return NotFound(
            f"no tool '{key}': server '{server}' is disabled",
            f"enable it with: mcpctl servers enable {server}",
            "server_disabled",
        )
    near = nearest(key, found.keys())
    hint = (
        f"did you mean '{near[0]}'?"
        if near
        else "list tools with: mcpctl tools ls; list them anew with: mcpctl tools refresh"
    )
    return NotFound(f"no tool '{key}'", hint, "tool_not_found")


def hint_cell(value: Any) -> str:
    """A hint's field in one narrow column."""
    return hints.cell(hints.Hint(value["effective"], value["source"]))


def _hint(tool: Tool, name: str) -> Mapping[str, Any]:
    hint = hints.effective(tool)[name]
    declared = tool.annotations.get(name)
    return {
        "declared": declared if isinstance(declared, bool) else None,
        "override": hint.value if hint.source == "override" else None,
        "effective": hint.value,
        "source": hint.source,
    }
