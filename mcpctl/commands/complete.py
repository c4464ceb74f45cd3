"""What Tab offers for servers, projects, tools, sessions, calls and fields: pairs of a value and what it is.

Read from config.toml, the catalog cache and the index as they lie there: nothing is started, nothing is written. A
completer may fail in any way; `mcpctl.tab_completion` then offers nothing.
"""

import importlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from mcpctl.paths import Paths, find

if TYPE_CHECKING:
    from sqlite3 import Connection

    from mcpctl.config import Config, Server

Pair = tuple[str, str]

MOST = 200
"""As many tools are offered at once."""


def servers(ctx: typer.Context, incomplete: str) -> list[Pair]:
    """The names in config.toml, those of unusable entries too."""
    from mcpctl import config

    loaded = config.load(_paths(ctx).config)
    found = {name: "disabled" if not entry.enabled else _how(entry) for name, entry in loaded.servers.items()}
    found.update(dict.fromkeys(loaded.problems, "its entry cannot be used"))
    return sorted((name, told) for name, told in found.items() if name.startswith(incomplete))


def projects(ctx: typer.Context, incomplete: str) -> list[Pair]:
    """The projects in config.toml, with the servers that name them."""
    from mcpctl import config

    loaded = config.load(_paths(ctx).config)
    found: dict[str, list[str]] = {name: [] for name in loaded.projects}
    for server, entry in loaded.servers.items():
        for name in entry.projects:
            found.setdefault(name, []).append(server)
    return sorted((name, ", ".join(servers)) for name, servers in found.items() if name.startswith(incomplete))


def tools(ctx: typer.Context, incomplete: str) -> list[Pair]:
    """The keys of the tools that the enabled servers last listed."""
    import msgspec

    from mcpctl import config
    from mcpctl.models import Tool
    from mcpctl.store import completion_queries

    paths = _paths(ctx)
    with completion_queries.opened(paths.state) as db:
        found = list(_listed(db, config.load(paths.config), incomplete))
        if len(found) > MOST:
            # The first and the last of all: a shell inserts what everything that it is offered begins with.
            found.sort(key=lambda tool: f"{tool[0]}:{tool[1]}")
            found[MOST - 1 :] = found[-1:]
        texts = [
            completion_queries.definition(db, server, fingerprint, position)
            for server, _, fingerprint, position in found
        ]
    rows = (Tool(each[0], each[1], msgspec.json.decode(text), text) for each, text in zip(found, texts, strict=True))
    return [(row.key, row.title or row.description) for row in rows]


def calls(ctx: typer.Context, incomplete: str) -> list[Pair]:
    """The ids of the newest calls on record, and `last`."""
    from mcpctl.store import completion_queries

    found = [
        (id_, f"{server}:{tool}, {status}, {_minute(when)}")
        for id_, server, tool, status, when in completion_queries.calls(_paths(ctx), incomplete)
    ]
    return _with_last(found, incomplete, "the last call")


def sessions(ctx: typer.Context, incomplete: str) -> list[Pair]:
    """The ids of the sessions last active, and `last`."""
    from mcpctl.store import completion_queries

    found = [
        (id_, f"{client or 'unnamed client'}, {count} call{'s' * (count != 1)}, {_minute(when)}")
        for id_, client, count, when in completion_queries.sessions(_paths(ctx), incomplete)
    ]
    return _with_last(found, incomplete, "the last session")


def clients(incomplete: str) -> list[Pair]:
    """The MCP clients whose configuration is known."""
    from mcpctl.clients.client_kinds import CLIENTS

    return [(name, "") for name in CLIENTS if name.startswith(incomplete)]


def toolsets(ctx: typer.Context, incomplete: str) -> list[Pair]:
    """The names of the toolsets in the data directory; one elsewhere is a path."""
    names = sorted(file.stem for file in _paths(ctx).toolsets.glob("*.json"))
    return [(name, "") for name in names if name.startswith(incomplete) and name.isprintable()]


def fields(ctx: typer.Context, incomplete: str) -> list[Pair]:
    """What `--fields` takes, after the comma too: the fields not named yet."""
    before, comma, part = incomplete.rpartition(",")
    given = before.split(",")
    return [(f"{before}{comma}{name}", "") for name in _fields(ctx) if name.startswith(part) and name not in given]


def commands(ctx: typer.Context, incomplete: str) -> list[Pair]:
    """The nouns and verbs that may follow the words of a command."""
    found: Any = ctx.find_root().command
    for word in ctx.params.get("words") or ():
        found = getattr(found, "commands", {}).get(word)
    below: Mapping[str, Any] = getattr(found, "commands", {})
    return [(name, each.get_short_help_str()) for name, each in below.items() if name.startswith(incomplete)]


def choices(*values: str) -> Callable[[str], list[Pair]]:
    """A completer of fixed values."""

    def complete(incomplete: str) -> list[Pair]:
        return [(value, "") for value in values if value.startswith(incomplete)]

    return complete


_COLUMNS = {
    ("calls", "ls"): "CALLS",
    ("calls", "ls", "discovery"): "DISCOVERIES",
    ("servers", "check"): "CHECKED",
    ("servers", "import"): "IMPORTED",
    ("tools", "search"): "FOUND",
    ("tools", "eval"): "measuring.COLUMNS",
    ("tools", "refresh"): "REFRESHED",
}
"""What a command's columns are called in its noun's columns.py, or in another module there, where not COLUMNS."""


def _fields(ctx: typer.Context) -> Iterable[str]:
    _, noun, verb = ctx.command_path.split(" ")
    place = _COLUMNS.get((noun, verb, str(ctx.params.get("kind")))) or _COLUMNS.get((noun, verb), "COLUMNS")
    module, _, name = place.rpartition(".")
    columns = importlib.import_module(f"mcpctl.commands.{noun}.{module or 'columns'}")
    names: Iterable[str] = getattr(columns, name).fields
    return names


def _listed(db: "Connection", loaded: "Config", incomplete: str) -> Iterator[tuple[str, str, str, int]]:
    """The tools whose key begins so: server, name, and where the definition is."""
    from mcpctl.models import Tool
    from mcpctl.policy.decide import ALLOW, COMPLETE, Subject, decide
    from mcpctl.policy.view import View
    from mcpctl.store import completion_queries

    view = View(loaded)
    server, colon, name = incomplete.partition(":")
    for known, entry in loaded.enabled.items():
        if known == server if colon else known.startswith(server):
            fingerprint = entry.fingerprint
            for tool, position in completion_queries.tools(db, known, fingerprint, name):
                subject = Subject(COMPLETE, known, tool, Tool(known, tool, {}, "{}"), view)
                if tool.isprintable() and decide(subject).outcome == ALLOW:
                    yield known, tool, fingerprint, position


def _how(server: "Server") -> str:
    return server.transport if server.url else Path(server.command).name


def _with_last(found: list[Pair], incomplete: str, told: str) -> list[Pair]:
    return [("last", told), *found] if "last".startswith(incomplete) and (found or incomplete) else found


def _minute(when: str) -> str:
    return f"{when[:10]} {when[11:16]}Z"


def _paths(ctx: typer.Context) -> Paths:
    """Where things are, with the options that stand before the cursor; no shell has expanded their `~` yet."""
    config, data_dir = (ctx.params.get(name) for name in ("config", "data_dir"))
    return find(Path(config).expanduser() if config else None, Path(data_dir).expanduser() if data_dir else None)
