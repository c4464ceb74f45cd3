"""The values that Tab offers, each with a description.

They are read from config.toml, the catalog cache and the index as they lie there: nothing is started, nothing is
written. A completer may fail in any way; `mcpctl.cli.tab_completion` then offers nothing.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from mcpctl.base.paths import Paths, find
from mcpctl.base.texts import counted

if TYPE_CHECKING:
    from mcpctl.catalog.cache import Catalog
    from mcpctl.config.config import Config
    from mcpctl.store.state import ListedPlace, State

Pair = tuple[str, str]

MOST = 200  # the most tools, arguments, prompts or resources that are offered at once


def _begun(typed: str, pairs: Iterable[Pair]) -> list[Pair]:
    """The pairs whose value begins as it is typed so far, and can be printed."""
    return [pair for pair in pairs if pair[0].startswith(typed) and pair[0].isprintable()]


def servers(ctx: typer.Context, incomplete: str) -> list[Pair]:
    """The names of servers, those of unusable entries too."""
    from mcpctl.config import config

    loaded = config.load(paths_of(ctx).config)
    about = {
        name: (Path(entry.command).name or entry.kind) if entry.enabled else "disabled"
        for name, entry in loaded.servers.items()
    }
    return _begun(incomplete, sorted({**about, **dict.fromkeys(loaded.problems, "its entry cannot be used")}.items()))


def projects(ctx: typer.Context, incomplete: str) -> list[Pair]:
    from mcpctl.config import config

    loaded = config.load(paths_of(ctx).config)
    members: dict[str, list[str]] = {name: [] for name in loaded.projects}
    for server, entry in loaded.servers.items():
        for name in entry.projects:
            members.setdefault(name, []).append(server)
    return _begun(incomplete, sorted((name, ", ".join(servers)) for name, servers in members.items()))


def tools(ctx: typer.Context, incomplete: str) -> list[Pair]:
    return _tools(ctx, incomplete)


def barred_tools(ctx: typer.Context, incomplete: str) -> list[Pair]:
    """The tools that their servers' entries bar."""
    return _tools(ctx, incomplete, code="not_permitted")


def _tools(ctx: typer.Context, incomplete: str, code: str | None = None) -> list[Pair]:
    import msgspec

    from mcpctl.base.models import Tool
    from mcpctl.config import config
    from mcpctl.store.state import State

    paths = paths_of(ctx)
    with State.as_it_lies(paths) as state:
        places = list(_listed(state, config.load(paths.config), incomplete, code))
        if len(places) > MOST:
            # The first and the last of all: a shell inserts what everything that it is offered begins with.
            places.sort(key=lambda each: f"{each[1].server}:{each[0]}")
            places[MOST - 1 :] = places[-1:]
        texts = [(place.server, name, state.definition(place)) for name, place in places]
    offered = (Tool(server, name, msgspec.json.decode(text), text) for server, name, text in texts)
    return [(tool.key, tool.title or tool.description) for tool in offered]


def arguments(ctx: typer.Context, incomplete: str) -> list[Pair]:
    """The arguments that a call of the tool may still have, `name=`, the required ones first; after the `=`, values."""
    given = _given(ctx)
    if given & {"-"} or any(word.startswith(("{", "@")) for word in given) or incomplete.startswith("{"):
        return []
    if files := _files(incomplete):
        return files
    schema = _input_schema(ctx)
    properties, required = schema.get("properties"), schema.get("required")
    if not isinstance(properties, Mapping):
        return []
    name, equals, _ = incomplete.partition("=")
    if equals:
        offered = [(f"{name}={value}", "") for value in _values(properties.get(name))]
    else:
        needed = [each for each in required if each in properties] if isinstance(required, list) else []
        names = [each for each in dict.fromkeys((*needed, *properties)) if each not in given and "=" not in each]
        offered = [(f"{each}=", _about(properties[each], is_needed=each in needed)) for each in names]
    return [pair for pair in offered if pair[0].startswith(incomplete)][:MOST]


def _files(incomplete: str) -> list[Pair]:
    """The files and folders that may be meant after the @ of `@…` or `name=@…`."""
    if not (word := re.match(r"([^=@]*=)?@(?!@)", incomplete)):
        return []
    folder, name = os.path.split(incomplete[word.end() :])
    with os.scandir(Path(folder or ".").expanduser()) as entries:
        found = sorted((each.name, each.is_dir()) for each in entries if each.name.startswith(name))
    lead = incomplete.removesuffix(name)
    offered = [(f"{lead}{each}{'/' * is_folder}", "") for each, is_folder in found if each[0] != "." or name[:1] == "."]
    return _begun(incomplete, offered)[:MOST]


def _given(ctx: typer.Context) -> set[str]:
    return {word.partition("=")[0] for word in ctx.params.get("arguments") or ()}


def _input_schema(ctx: typer.Context) -> Mapping[str, Any]:
    import msgspec

    from mcpctl.base.models import Tool
    from mcpctl.base.tool_keys import split_typed
    from mcpctl.config import config
    from mcpctl.store.state import State

    paths = paths_of(ctx)
    server, name = split_typed(ctx.params["key"])
    with State.as_it_lies(paths) as state:
        for tool, place in _listed(state, config.load(paths.config), f"{server}:{name}", None):
            if tool == name:
                text = state.definition(place)
                return Tool(server, name, msgspec.json.decode(text), text).input_schema
    return {}


def _values(schema: Any) -> Iterator[str]:
    import msgspec

    if not isinstance(schema, Mapping):
        return
    alternatives = (schema.get(word) for word in ("anyOf", "oneOf"))
    for each in (schema, *(one for several in alternatives if isinstance(several, list) for one in several)):
        if isinstance(each, Mapping) and isinstance(values := each.get("enum"), list):
            yield from (value if isinstance(value, str) else msgspec.json.encode(value).decode() for value in values)
        elif isinstance(each, Mapping) and each.get("type") == "boolean":
            yield from ("true", "false")


def _about(schema: Any, *, is_needed: bool) -> str:
    text = schema.get("description") or schema.get("title") if isinstance(schema, Mapping) else None
    return ", ".join(part for part in ("required" * is_needed, text) if isinstance(part, str) and part)


def prompts(ctx: typer.Context, incomplete: str) -> list[Pair]:
    from mcpctl.catalog import known_features

    with _catalog(ctx) as catalog:
        return _begun(
            incomplete, [(row["name"], row["label"] or "") for row in known_features.prompts(catalog).rows(None, 0)]
        )[:MOST]


def resources(ctx: typer.Context, incomplete: str) -> list[Pair]:
    from mcpctl.catalog import known_features

    with _catalog(ctx) as catalog:
        rows = known_features.resources(catalog).rows(None, 0)
        return _begun(incomplete, [(row["uri"], row["label"] or row["name"] or "") for row in rows])[:MOST]


def prompt_arguments(ctx: typer.Context, incomplete: str) -> list[Pair]:
    from mcpctl.catalog import known_features

    if files := _files(incomplete):
        return files
    with _catalog(ctx) as catalog:
        arguments = known_features.prompt_arguments(catalog, ctx.params["name"])
    left = [each for each in arguments if each["name"] not in _given(ctx)]
    return _begun(
        incomplete, [(f"{each['name']}=", _about(each, is_needed=each.get("required") is True)) for each in left]
    )


def calls(ctx: typer.Context, incomplete: str) -> list[Pair]:
    from mcpctl.store.records import LocalRecords

    with LocalRecords.as_they_lie(paths_of(ctx)) as records:
        rows = records.newest_calls(incomplete)
    pairs = [
        (row["id"], f"{row['server']}:{row['tool']}, {row['status']}, {_minute(row['started_at'])}") for row in rows
    ]
    return _with_last(pairs, incomplete, "the last call")


def sessions(ctx: typer.Context, incomplete: str) -> list[Pair]:
    from mcpctl.store.records import LocalRecords

    with LocalRecords.as_they_lie(paths_of(ctx)) as records:
        rows = records.newest_sessions(incomplete)
    return _with_last([(row["id"], _about_session(row)) for row in rows], incomplete, "the last session")


def approvals(ctx: typer.Context, incomplete: str) -> list[Pair]:
    return _with_last(open_approvals(ctx, incomplete), incomplete, "the newest")


def open_approvals(ctx: typer.Context, incomplete: str) -> list[Pair]:
    from mcpctl.policy import approvals

    return _begun(incomplete, [(id_, key) for id_, key in approvals.glance(paths_of(ctx)) if key.isprintable()])


def standing(ctx: typer.Context, incomplete: str) -> list[Pair]:
    from mcpctl.policy import approvals
    from mcpctl.policy.policy_file import PolicyFile

    with PolicyFile.as_it_lies(paths_of(ctx)) as file:
        return _begun(incomplete, [(key, "") for key in sorted({each.grant.key for each in approvals.given(file)})])


def clients(incomplete: str) -> list[Pair]:
    from mcpctl.clients.client_kinds import CLIENTS

    return [(name, "") for name in CLIENTS if name.startswith(incomplete)]


def recorded_clients(ctx: typer.Context, incomplete: str) -> list[Pair]:
    from mcpctl.store.records import LocalRecords

    with LocalRecords.as_they_lie(paths_of(ctx)) as records:
        names = {str(row["client_name"] or "") for row in records.newest_sessions(at_most=1000)}
    return _begun(incomplete, [(name, "") for name in sorted(names)])


def toolsets(ctx: typer.Context, incomplete: str) -> list[Pair]:
    return _begun(
        incomplete, [(name, "") for name in sorted(file.stem for file in paths_of(ctx).toolsets.glob("*.json"))]
    )


def notes(ctx: typer.Context, incomplete: str) -> list[Pair]:
    from mcpctl.catalog import tool_notes

    key, toolset, project = (ctx.params.get(name) for name in ("key", "toolset", "project"))
    rows = tool_notes.listed(tool_notes.ToolsetChoice(paths_of(ctx), toolset, project), key).rows(None, 0)
    return _begun(incomplete, [(row["name"], row["value"]) for row in rows if row["kind"] == "note"])


def tokens(ctx: typer.Context, incomplete: str) -> list[Pair]:
    from mcpctl.policy import tokens
    from mcpctl.policy.policy_file import PolicyFile

    paths = paths_of(ctx)
    if not paths.policy.exists():
        return []
    with PolicyFile.as_it_lies(paths) as file:
        valid = [token for token in tokens.every(file) if token.revoked is None]
    about = {token.id: (token.name, *sorted(token.projects | token.servers)) for token in valid}
    return _begun(incomplete, [(id_, ", ".join(filter(None, parts))) for id_, parts in about.items()])


def fields(ctx: typer.Context, incomplete: str) -> list[Pair]:
    """The fields for `--fields` that are not named yet, after a comma too."""
    from mcpctl.commands.columns import named_by_fields

    before, comma, part = incomplete.rpartition(",")
    given = before.split(",")
    _, noun, verb = ctx.command_path.split(" ")
    kind = ",".join(ctx.params["by"] or ()) if "by" in ctx.params else ctx.params.get("kind")
    names = named_by_fields(f"{noun} {verb}", kind or "")
    return [(f"{before}{comma}{name}", "") for name in names if name.startswith(part.lower()) and name not in given]


def commands(ctx: typer.Context, incomplete: str) -> list[Pair]:
    command: Any = ctx.find_root().command
    for word in ctx.params.get("words") or ():
        command = getattr(command, "commands", {}).get(word)
    below: Mapping[str, Any] = getattr(command, "commands", {})
    about = [(name, each.get_short_help_str()) for name, each in below.items()]
    return _begun(incomplete, about if ctx.params.get("words") else [*about, *guides()])


def guides() -> Iterator[Pair]:
    """The guides of `mcpctl help`, with their titles."""
    import mcpctl

    for file in sorted((Path(mcpctl.__file__).parent / "docgen" / "guides").glob("*.md")):
        yield f"{file.stem}-guide", file.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")


def choices(*values: str) -> Callable[[str], list[Pair]]:
    """A completer of fixed values, after a comma too."""

    def complete(incomplete: str) -> list[Pair]:
        before, comma, part = incomplete.rpartition(",")
        given = before.split(",")
        return [(f"{before}{comma}{value}", "") for value in values if value.startswith(part) and value not in given]

    return complete


def _listed(state: "State", loaded: "Config", incomplete: str, code: str | None) -> Iterator[tuple[str, "ListedPlace"]]:
    from mcpctl.base.models import Tool
    from mcpctl.policy.decide import ALLOW, COMPLETE, Subject, decide
    from mcpctl.policy.view import View

    view = View(loaded)
    server, colon, name = incomplete.partition(":")
    for known, entry in loaded.enabled.items():
        if known == server if colon else known.startswith(server):
            for tool, place in state.listed_names(known, entry.fingerprint, name):
                verdict = decide(Subject(COMPLETE, known, tool, Tool(known, tool, {}, "{}"), view))
                refusal = verdict.failure.code if verdict.failure and verdict.outcome != ALLOW else None
                if tool.isprintable() and refusal == code:
                    yield tool, place


@contextmanager
def _catalog(ctx: typer.Context) -> "Iterator[Catalog]":
    from mcpctl.catalog.cache import Catalog
    from mcpctl.config import config
    from mcpctl.policy.view import View
    from mcpctl.store.state import State

    paths = paths_of(ctx)
    with State.as_it_lies(paths) as state:
        yield Catalog(View(config.load(paths.config)), state)


def _about_session(row: Mapping[str, Any]) -> str:
    calls = counted(row["tool_call_count"], "call")
    return f"{row['client_name'] or 'unnamed client'}, {calls}, {_minute(row['last_activity'])}"


def _with_last(pairs: list[Pair], incomplete: str, about_last: str) -> list[Pair]:
    return [("last", about_last), *pairs] if "last".startswith(incomplete) and (pairs or incomplete) else pairs


def _minute(when: str) -> str:
    return f"{when[:10]} {when[11:16]}Z"


def paths_of(ctx: typer.Context) -> Paths:
    """The paths of the options before the cursor; no shell has expanded their `~` yet."""
    config, data_dir = (ctx.params.get(name) for name in ("config", "data_dir"))
    return find(Path(config).expanduser() if config else None, Path(data_dir).expanduser() if data_dir else None)
