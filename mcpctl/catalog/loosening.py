"""Whether a change of config.toml or of toolsets lets more be called without a yes: found out, and put on record."""

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec
from msgspec.structs import replace

from mcpctl.base.callers import Client
from mcpctl.base.errors import McpctlError
from mcpctl.base.fields import LOOSENED
from mcpctl.base.models import Tool
from mcpctl.base.paths import Paths
from mcpctl.catalog import cache, rows
from mcpctl.catalog.cache import Catalog
from mcpctl.catalog.lists_in_memory import Lists
from mcpctl.config import config
from mcpctl.config.config import Config
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


def by_config(paths: Paths, before: str, after: str) -> list[str]:
    """The keys that an edit of config.toml lets be called without a yes; none with a text that is unusable."""
    try:
        there = config.parsed(paths.config, after).known_projects
    except McpctlError:
        return []  # what the file said before still counts
    with _opened(paths, before) as (equipped, known):
        toolsets = _Toolsets(paths, equipped)
        projects = [project for project in _projects(paths, before) if project is None or project in there]
        old, new = (_views(paths, text, projects, toolsets) for text in (before, after))
        return loosening.loosened(old, new, known)


def by_toolset(paths: Paths, place: ToolsetFile, before: str, after: str) -> list[str]:
    """The keys that an edit of a toolset's file lets be called without a yes: where it is in force, also for clients
    that name it, and, if it is the user's own, beside a policy."""
    written = _text(paths)
    with State.opened(paths) as state:
        is_named = state.is_named(_real(place.path))
    with _opened(paths, written) as (equipped, known):
        projects = _projects(paths, written)
        both = [_Toolsets(paths, equipped, {_real(place.path): text}) for text in (before, after)]
        old, new = (_views(paths, written, projects, toolsets) for toolsets in both)
        if is_named or (place.own and before):
            for views, toolsets in ((old, both[0]), (new, both[1])):
                named = [replace(view, toolset=toolsets.of(place.reference)) for view in views]
                views += [view for view in named if is_named or view.config.policy.enforces]
        return loosening.loosened(old, new, known)


def by_equipping(paths: Paths, reference: str | None) -> list[str]:
    written = _text(paths)
    with _opened(paths, written) as (equipped, known):
        both = _Toolsets(paths, equipped), _Toolsets(paths, reference)
        projects = _projects(paths, written)
        old, new = (_views(paths, written, projects, toolsets) for toolsets in both)
        return loosening.loosened(old, new, known)


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
        told(keys), LOOSENED, "configuration loosened", place=what, channel=channel, arguments_hash=hashed,
        origin=Origin(Client("mcpctl")),
    )  # fmt: skip
    recorder.flush()
    recorder.close()


def told(keys: Sequence[str]) -> str:
    more = f" and {len(keys) - _TOLD} more" if len(keys) > _TOLD else ""
    return f"{', '.join(keys[:_TOLD])}{more}"


def _text(paths: Paths) -> str:
    return config.load(paths.config).text


def _projects(paths: Paths, text: str) -> list[str | None]:
    """Every project that a request may name; None for a request that names none."""
    return [None, *sorted(config.parsed(paths.config, text).known_projects)]


@contextmanager
def _opened(paths: Paths, text: str) -> Iterator[tuple[str | None, ListedTools]]:
    """The equipped toolset, and the known tools of all servers, also of disabled ones."""
    loaded = config.parsed(paths.config, text)
    used = {name: msgspec.structs.replace(entry, enabled=True) for name, entry in loaded.servers.items()}
    with State.opened(paths) as state:
        holding = rows.holding(paths, loaded)
        catalog = Catalog(View(replace(loaded, servers=used)), state, Lists(holding))
        catalog.check_together()
        yield state.equipped(), {name: catalog.newest(name) or _earlier(state, holding, name) for name in used}


def _earlier(state: State, holding: Holding, server: str) -> dict[str, Tool]:
    """The tools of a server that has not listed them since its entry changed."""
    keys = (key for key in state.generations() if key.server == server and not key.capabilities.startswith("@"))
    lists = [(key, listed) for key in keys if (listed := cache.load(state, key))]
    lists.sort(key=lambda each: each[1].fetched_at)
    return {tool.name: tool for key, listed in lists for tool in holding.judged(key, listed.tools)[0]}


def _views(paths: Paths, text: str, projects: Sequence[str | None], toolsets: "_Toolsets") -> list[View]:
    loaded = [config.parsed(paths.config, text, project) for project in projects]
    return [View(of_project, toolsets.of(in_force.of_project(of_project))) for of_project in loaded]


class _Toolsets:
    """The toolsets that projects name, and the equipped one for projects that name none; `texts` has new contents of
    files. The toolset in this command's environment is not that of a client."""

    def __init__(self, paths: Paths, equipped: str | None, texts: Mapping[str, str] | None = None) -> None:
        self._paths = paths
        self._equipped = equipped
        self._texts = texts or {}
        self._kept: dict[str, Toolset] = {}

    def of(self, reference: str | None) -> Toolset | None:
        """The toolset in force where a project names this one; one that cannot be read has no tools."""
        named = reference or self._equipped
        if not named or named == NONE:
            return None
        if named not in self._kept:
            try:
                self._kept[named] = self._read(place_of(self._paths, named))
            except McpctlError as error:
                self._kept[named] = Toolset(named, Path(), own=False, problem=error.message)
        return self._kept[named]

    def _read(self, place: ToolsetFile) -> Toolset:
        text = self._texts.get(_real(place.path))
        return parsed(place, *located(read_text(place) if text is None else text, place))


def _real(path: Path) -> str:
    return os.path.realpath(path)
