"""Whether a change of config.toml or of toolsets lets more be called without a yes: found out, and put on record."""

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from functools import cache as cached
from pathlib import Path

import msgspec
from msgspec.structs import replace

from mcpctl.base.callers import Client
from mcpctl.base.errors import McpctlError
from mcpctl.base.fields import LOOSENED
from mcpctl.base.models import Tool
from mcpctl.base.paths import Paths
from mcpctl.base.texts import beginning
from mcpctl.base.tool_keys import join, split, split_typed
from mcpctl.catalog import cache, rows
from mcpctl.catalog.cache import Catalog
from mcpctl.catalog.lists_in_memory import Lists
from mcpctl.config import config
from mcpctl.config.config import Config
from mcpctl.config.server_environment import compared
from mcpctl.policy import loosening
from mcpctl.policy.holding import Holding
from mcpctl.policy.loosening import ListedTools
from mcpctl.policy.view import View
from mcpctl.store.recorder import Origin, Recorder
from mcpctl.store.state import State
from mcpctl.toolsets import in_force
from mcpctl.toolsets.toolset import Toolset
from mcpctl.toolsets.toolset_files import NONE, ToolsetFile, located, parsed, place_of, read_text

FILE = "file"  # the channel of an edit of the file, which nobody was asked about
_TOLD = 5
_ToolsetOf = Callable[[str | None], Toolset | None]


def by_config(paths: Paths, before: str, after: str) -> list[str]:
    """The keys that an edit of config.toml lets be called without a yes; none with a text that is unusable."""
    try:
        there = config.parsed(paths.config, after).known_projects
    except McpctlError:
        return []  # what the file said before still counts
    equipped, known = _known(paths, before)
    toolset_of = _toolsets(paths, equipped)
    projects = [project for project in _projects(paths, before) if project is None or project in there]
    old, new = (_views(paths, text, projects, toolset_of) for text in (before, after))
    return loosening.loosened(old, new, known)


def by_toolset(paths: Paths, place: ToolsetFile, before: str, after: str) -> list[str]:
    """The keys that an edit of a toolset's file lets be called without a yes: where it is in force, also for clients
    that name it, and, if it is the user's own, beside a policy."""
    text, file = config.load(paths.config).text, os.path.realpath(place.path)
    with State.opened(paths) as state:
        is_named = state.is_named(file)
    equipped, known = _known(paths, text)
    both = [_toolsets(paths, equipped, {file: content}) for content in (before, after)]
    old, new = (_views(paths, text, _projects(paths, text), toolset_of) for toolset_of in both)
    if is_named or (place.own and before):
        for views, toolset_of in ((old, both[0]), (new, both[1])):
            named = [replace(view, toolset=toolset_of(place.reference)) for view in views]
            views += [view for view in named if is_named or view.config.policy.enforces]
    return loosening.loosened(old, new, known)


def by_equipping(paths: Paths, reference: str | None) -> list[str]:
    text = config.load(paths.config).text
    equipped, known = _known(paths, text)
    both = _toolsets(paths, equipped), _toolsets(paths, reference)
    old, new = (_views(paths, text, _projects(paths, text), toolset_of) for toolset_of in both)
    return loosening.loosened(old, new, known)


def by_document(paths: Paths, name: str, before: str, after: str) -> list[str]:
    """The keys that a new document of an API lets be called without a yes, as another `url` of its entry would: the old
    and the new one in words."""
    text = config.load(paths.config).text
    equipped, known = _known(paths, text)
    views = _views(paths, text, _projects(paths, text), _toolsets(paths, equipped))
    old, new = ([_with_document(view, name, document) for view in views] for document in (before, after))
    return loosening.loosened(old, new, known)


def _with_document(view: View, name: str, document: str) -> View:
    servers = dict(view.config.servers)
    if name in servers:
        servers[name] = msgspec.structs.replace(servers[name], openapi=document)
    return replace(view, config=msgspec.structs.replace(view.config, servers=servers))


def by_naming(paths: Paths, toolset: str | None, project: str | None, typed: str = "") -> list[str]:
    """The keys that are called without a yes where a command names these, and not where it names neither; of one that
    was typed, that alone, and all of its server where it is not listed."""
    loaded = config.load(paths.config, project)
    equipped, known = _known(paths, loaded.text)
    toolset_of = _toolsets(paths, equipped)
    old, new = _views(paths, loaded.text, [None, project], toolset_of)
    if toolset:
        new = replace(new, toolset=toolset_of(toolset))
    seen = {name: entry for name, entry in old.config.servers.items() if name in new.config.servers}
    keys = loosening.loosened([replace(old, config=replace(old.config, servers=seen))], [new], known)
    if not typed:
        return keys
    server, name = split_typed(typed)
    is_listed = name in known.get(server, {})
    return [key for key in keys if (key == join(server, name) if is_listed else split(key)[0] == server)]


def follow(paths: Paths, before: Config, after: Config) -> None:
    """Put on record what a followed edit of config.toml has loosened, if no other process has."""
    if keys := by_config(paths, before.text, after.text):
        record(paths, keys, paths.config.name, after.text, FILE, before.text)


def record(paths: Paths, keys: Sequence[str], what: str, after: str, channel: str, before: str = "") -> None:
    """Put on record, once, that a change loosened the configuration: what, where, and the hash of the file then."""
    hashed = hashlib.sha256(after.encode()).hexdigest()
    with State.connect(paths) as state:
        if not state.claim_loosening(hashlib.sha256(f"{before}\0{after}".encode()).hexdigest()):
            return
    recorder = Recorder(paths, config.load(paths.config).records, via="cli")
    recorder.decision_made(
        keys, LOOSENED, "configuration loosened", place=what, channel=channel, arguments_hash=hashed,
        origin=Origin(Client("mcpctl")),
    )  # fmt: skip
    recorder.flush()
    recorder.close()


def told(keys: Sequence[str]) -> str:
    return beginning(keys, _TOLD)


def still(paths: Paths, recorded: Sequence[str]) -> list[str]:
    """For each text of keys that `record` has written, those that are called without a yes now, in words; empty where
    all was taken back. The tools of a new server are named, once it has listed them."""
    if not recorded:
        return []
    try:
        text = config.load(paths.config).text
        equipped, known = _known(paths, text)
        views = _views(paths, text, _projects(paths, text), _toolsets(paths, equipped))
    except McpctlError:  # it is said elsewhere
        return [told(keys.split(", ")) for keys in recorded]
    return [told(list(dict.fromkeys(loosening.still_free(keys.split(", "), views, known)))) for keys in recorded]


def _projects(paths: Paths, text: str) -> list[str | None]:
    return [None, *sorted(config.parsed(paths.config, text).known_projects)]


def _known(paths: Paths, text: str) -> tuple[str | None, ListedTools]:
    loaded = config.parsed(paths.config, text)
    used = {name: msgspec.structs.replace(entry, enabled=True) for name, entry in loaded.servers.items()}
    with State.opened(paths) as state:
        holding = rows.holding(paths, loaded)
        catalog = Catalog(View(replace(loaded, servers=used)), state, Lists(holding, paths.verdicts))
        catalog.check_together()
        return state.equipped(), {name: catalog.newest(name) or _earlier(state, holding, name) for name in used}


def _earlier(state: State, holding: Holding, server: str) -> dict[str, Tool]:
    keys = (key for key in state.generations() if key.server == server and not key.capabilities.startswith("@"))
    lists = [(key, listed) for key in keys if (listed := cache.load(state, key))]
    lists.sort(key=lambda each: each[1].fetched_at)
    return {tool.name: tool for key, listed in lists for tool in holding.judged(key, listed.tools)[0]}


def _views(paths: Paths, text: str, projects: Sequence[str | None], toolset_of: _ToolsetOf) -> list[View]:
    loaded = [config.parsed(paths.config, text, project) for project in projects]
    expanded = [
        replace(each, servers={name: compared(entry, paths.config) for name, entry in each.servers.items()})
        for each in loaded
    ]
    return [View(of_project, toolset_of(in_force.of_project(of_project))) for of_project in expanded]


def _toolsets(paths: Paths, equipped: str | None, texts: Mapping[str, str] | None = None) -> _ToolsetOf:
    """The toolset in force by the name that a project has for it, the equipped one for None; `texts` has new contents
    of files. One that cannot be read has no tools. This command's environment is not that of a client."""

    @cached
    def read(named: str) -> Toolset:
        try:
            place = place_of(paths, named)
            text = texts.get(os.path.realpath(place.path)) if texts else None
            return parsed(place, *located(read_text(place) if text is None else text, place))
        except McpctlError as error:
            return Toolset(named, Path(), own=False, problem=error.message)

    def toolset_of(reference: str | None) -> Toolset | None:
        named = reference or equipped
        return None if not named or named == NONE else read(named)

    return toolset_of
