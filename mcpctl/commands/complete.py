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
    from mcpctl.config import Config
    from mcpctl.server_settings import Server
    from mcpctl.store.listed_tools import ListedTools, Place

Pair = tuple[str, str]

MOST = 200
"""As many tools are offered at once."""


def servers(ctx: typer.Context, incomplete: str) -> list[Pair]:
    """The names in config.toml, those of unusable entries too."""
    from mcpctl import config

    loaded = config.load(_paths(ctx).config)
    about = {name: "disabled" if not entry.enabled else _how(entry) for name, entry in loaded.servers.items()}
    about.update(dict.fromkeys(loaded.problems, "its entry cannot be used"))
    return sorted(pair for pair in about.items() if pair[0].startswith(incomplete))


def projects(ctx: typer.Context, incomplete: str) -> list[Pair]:
    """The projects in config.toml, with the servers that name them."""
    from mcpctl import config

    loaded = config.load(_paths(ctx).config)
    members: dict[str, list[str]] = {name: [] for name in loaded.projects}
    for server, entry in loaded.servers.items():
        for name in entry.projects:
            members.setdefault(name, []).append(server)
    return sorted((name, ", ".join(servers)) for name, servers in members.items() if name.startswith(incomplete))


def tools(ctx: typer.Context, incomplete: str) -> list[Pair]:
    """The keys of the tools that the enabled servers last listed."""
    import msgspec

    from mcpctl import config
    from mcpctl.models import Tool
    from mcpctl.store.listed_tools import ListedTools

    paths = _paths(ctx)
    with ListedTools(paths) as listed:
        places = list(_listed(listed, config.load(paths.config), incomplete))
        if len(places) > MOST:
            # The first and the last of all: a shell inserts what everything that it is offered begins with.
            places.sort(key=lambda each: f"{each[1].server}:{each[0]}")
            places[MOST - 1 :] = places[-1:]
        texts = [(place.server, name, listed.definition(place)) for name, place in places]
    offered = (Tool(server, name, msgspec.json.decode(text), text) for server, name, text in texts)
    return [(tool.key, tool.title or tool.description) for tool in offered]


def calls(ctx: typer.Context, incomplete: str) -> list[Pair]:
    """The ids of the newest calls on record, and `last`."""
    from mcpctl.store.records import Records

    with Records.as_they_lie(_paths(ctx)) as records:
        rows = records.newest_calls(incomplete)
    pairs = [
        (row["id"], f"{row['server']}:{row['tool']}, {row['status']}, {_minute(row['started_at'])}") for row in rows
    ]
    return _with_last(pairs, incomplete, "the last call")


def sessions(ctx: typer.Context, incomplete: str) -> list[Pair]:
    """The ids of the sessions last active, and `last`."""
    from mcpctl.store.records import Records

    with Records.as_they_lie(_paths(ctx)) as records:
        rows = records.newest_sessions(incomplete)
    return _with_last([(row["id"], _about_session(row)) for row in rows], incomplete, "the last session")


def approvals(ctx: typer.Context, incomplete: str) -> list[Pair]:
    """The ids of the calls that wait for consent, and `last`."""
    from mcpctl.store import approvals as kept

    pairs = [(id_, key) for id_, key in kept.glance(_paths(ctx)) if id_.startswith(incomplete) and key.isprintable()]
    return _with_last(pairs, incomplete, "the newest")


def clients(incomplete: str) -> list[Pair]:
    """The MCP clients whose configuration is known."""
    from mcpctl.clients.client_kinds import CLIENTS

    return [(name, "") for name in CLIENTS if name.startswith(incomplete)]


def toolsets(ctx: typer.Context, incomplete: str) -> list[Pair]:
    """The names of the toolsets in the data directory; one elsewhere is a path."""
    names = sorted(file.stem for file in _paths(ctx).toolsets.glob("*.json"))
    return [(name, "") for name in names if name.startswith(incomplete) and name.isprintable()]


def tokens(ctx: typer.Context, incomplete: str) -> list[Pair]:
    """The ids of the tokens that are not revoked."""
    from mcpctl.store import tokens
    from mcpctl.store.policy_file import PolicyFile

    paths = _paths(ctx)
    if not paths.policy.exists():
        return []
    with PolicyFile.as_it_lies(paths) as file:
        kept = [token for token in tokens.every(file) if token.revoked is None and token.id.startswith(incomplete)]
    return [(token.id, ", ".join(sorted(token.projects | token.servers))) for token in kept]


def fields(ctx: typer.Context, incomplete: str) -> list[Pair]:
    """What `--fields` takes, after the comma too: the fields not named yet."""
    before, comma, part = incomplete.rpartition(",")
    given = before.split(",")
    return [(f"{before}{comma}{name}", "") for name in _fields(ctx) if name.startswith(part) and name not in given]


def commands(ctx: typer.Context, incomplete: str) -> list[Pair]:
    """The nouns and verbs that may follow the words of a command."""
    command: Any = ctx.find_root().command
    for word in ctx.params.get("words") or ():
        command = getattr(command, "commands", {}).get(word)
    below: Mapping[str, Any] = getattr(command, "commands", {})
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
    ("policy", "import"): "IMPORTED",
    ("servers", "import"): "IMPORTED",
    ("tools", "search"): "FOUND",
    ("tools", "eval"): "measuring.COLUMNS",
    ("tools", "refresh"): "REFRESHED",
    ("tools", "deny"): "PERMITTED",
    ("tools", "allow"): "PERMITTED",
}
"""What a command's columns are called in its noun's columns.py, or in another module there, where not COLUMNS."""


def _fields(ctx: typer.Context) -> Iterable[str]:
    _, noun, verb = ctx.command_path.split(" ")
    place = _COLUMNS.get((noun, verb, str(ctx.params.get("kind")))) or _COLUMNS.get((noun, verb), "COLUMNS")
    module, _, name = place.rpartition(".")
    columns = importlib.import_module(f"mcpctl.commands.{noun}.{module or 'columns'}")
    names: Iterable[str] = getattr(columns, name).fields
    return names


def _listed(listed: "ListedTools", loaded: "Config", incomplete: str) -> Iterator[tuple[str, "Place"]]:
    """The tools whose key begins so: their names, and where the definitions are."""
    from mcpctl.models import Tool
    from mcpctl.policy.decide import ALLOW, COMPLETE, Subject, decide
    from mcpctl.policy.view import View

    view = View(loaded)
    server, colon, name = incomplete.partition(":")
    for known, entry in loaded.enabled.items():
        if known == server if colon else known.startswith(server):
            for tool, place in listed.names(known, entry.fingerprint, name):
                subject = Subject(COMPLETE, known, tool, Tool(known, tool, {}, "{}"), view)
                if tool.isprintable() and decide(subject).outcome == ALLOW:
                    yield tool, place


def _how(server: "Server") -> str:
    return server.transport if server.url else Path(server.command).name


def _about_session(row: Mapping[str, Any]) -> str:
    count = row["tool_call_count"]
    return (
        f"{row['client_name'] or 'unnamed client'}, {count} call{'s' * (count != 1)}, {_minute(row['last_activity'])}"
    )


def _with_last(pairs: list[Pair], incomplete: str, about_last: str) -> list[Pair]:
    return [("last", about_last), *pairs] if "last".startswith(incomplete) and (pairs or incomplete) else pairs


def _minute(when: str) -> str:
    return f"{when[:10]} {when[11:16]}Z"


def _paths(ctx: typer.Context) -> Paths:
    """Where things are, with the options that stand before the cursor; no shell has expanded their `~` yet."""
    config, data_dir = (ctx.params.get(name) for name in ("config", "data_dir"))
    return find(Path(config).expanduser() if config else None, Path(data_dir).expanduser() if data_dir else None)
