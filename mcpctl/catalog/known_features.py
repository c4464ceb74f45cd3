"""The prompts, resources and templates that servers last listed: for each request that asks, and as rows."""

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from mcpctl.base import feature_names
from mcpctl.base.feature_names import EXPOSABLE, EXPOSED_AS, KINDS, PROMPTS, RESOURCES, TEMPLATES, kind_of_list
from mcpctl.base.models import Found, Newest, Row, Tool
from mcpctl.catalog.cache import Catalog
from mcpctl.catalog.features import Feature, FeaturePart, Features
from mcpctl.catalog.lists_in_memory import HELD, Listed, Lists
from mcpctl.config.config import Config
from mcpctl.policy.decide import ALLOW, READ, Subject, decide
from mcpctl.policy.view import View
from mcpctl.store import clock
from mcpctl.store.state import ListKey

_MOST_VIEWS = 16
_MOST_PARTS = 1000
ANNOUNCED: Mapping[str, Mapping[str, Any]] = {  # the capabilities that a client is told of
    PROMPTS: {"listChanged": True},
    RESOURCES: {"subscribe": True, "listChanged": True},
}


class KnownFeatures:
    def __init__(self, lists: Lists) -> None:
        self._lists = lists
        self._made: dict[tuple[Any, ...], tuple[int, Features]] = Newest(_MOST_VIEWS)
        self._parts: dict[tuple[str, str, bool], tuple[Sequence[Tool], FeaturePart]] = {}
        self._run = time.time_ns()
        self._count = 0

    def of(self, catalog: Catalog) -> Features:
        view, changes = catalog.view, self._lists.changes
        seen = (view.config, view.toolset, view.access.is_barred, view.access.only_reads, view.is_locked)
        known = self._made.get(seen)
        if known and known[0] == changes:
            return known[1]
        parts = [*self._seen(catalog)]
        if known and known[1].parts == parts:
            features = known[1]
        else:
            self._count += 1
            features = Features(parts, f"{self._run:x}.{self._count}")  # a cursor of an earlier process is outdated
        self._made[seen] = changes, features
        return features

    def _seen(self, catalog: Catalog) -> Iterator[FeaturePart]:
        view = catalog.view
        for server, fingerprint in view.config.fingerprints.items():
            known = self._lists.features(server, fingerprint)
            listed = catalog.listed(server) if known else None
            for kind, of_kind in known.items():
                subject = Subject(READ, server, feature_names.join(kind, ""), None, view)
                if decide(subject._replace(tools=listed.tools if listed else ())).outcome == ALLOW:
                    yield self.part(server, kind, of_kind.tools, view)

    def part(self, server: str, kind: str, tools: Sequence[Tool], view: View) -> FeaturePart:
        """The features of one list: the same object each time; any thread may build it."""
        key = server, kind, view.config.policy.enforces
        known = self._parts.get(key)
        if known and known[0] is tools:
            return known[1]
        read = (Subject(READ, tool.server, tool.name, tool, view) for tool in tools if tool.held)
        held = [subject.tool for subject in read if subject.tool and decide(subject).outcome != ALLOW]
        out = set(map(id, held))
        part = FeaturePart.of(kind, server, (tool for tool in tools if id(tool) not in out), held)
        part.schemes  # noqa: B018 - made here, aside, and not at the first read
        if len(self._parts) >= _MOST_PARTS:
            self._parts.clear()
        self._parts[key] = tools, part
        return part

    def make_ready(self, pairs: Iterable[tuple[str, str]], config: Config) -> None:
        """Build the parts of these servers, by name and fingerprint, in a thread where that delays no request."""
        view = View(config)
        for server, fingerprint in pairs:
            for kind, listed in self._lists.features(server, fingerprint).items():
                self.part(server, kind, listed.tools, view)

    def as_known(self, of: ListKey, kept: Listed) -> Listed:
        """The list with the tools of the known one where they are the same: nothing has to be built again."""
        known = self._lists.get(of)
        if known is None or known.generation != kept.generation or kept.generation == HELD:
            return kept
        return replace(kept, tools=known.tools, drifts=known.drifts)

    def announced(self, catalog: Catalog) -> Mapping[str, Mapping[str, Any]]:
        """The capabilities that a client is told of: those of which there is any feature, or may be."""
        if catalog.view.access.is_barred or catalog.view.is_locked:
            return {}
        of = self.of(catalog)
        has = {EXPOSED_AS[part.kind] for part in of.parts if part.features}
        has |= {EXPOSED_AS[kind] for _, kind in self.unknown(catalog.config)}
        announced = {name: ANNOUNCED[name] for name in EXPOSABLE if name in has}
        return {**announced, "completions": {}} if announced else {}

    def unknown(self, config: Config) -> Iterator[tuple[str, str]]:
        for server, fingerprint in config.fingerprints.items():
            known = self._lists.features(server, fingerprint)
            exposed = config.exposes(server)
            yield from ((server, kind) for kind in KINDS if EXPOSED_AS[kind] in exposed and kind not in known)


def features(catalog: Catalog) -> Features:
    for server in catalog.config.enabled:
        catalog.features(server)
    return KnownFeatures(catalog.lists).of(catalog)


def prompts(catalog: Catalog, servers: Collection[str] = ()) -> Found:
    return _rows(catalog, features(catalog).prompts, servers, _prompt)


def resources(catalog: Catalog, servers: Collection[str] = (), *, templates: bool = False) -> Found:
    seen = features(catalog)
    return _rows(catalog, seen.templates if templates else seen.resources, servers, _resource)


def prompt_arguments(catalog: Catalog, name: str) -> list[Mapping[str, Any]]:
    feature = features(catalog).prompts.get(name)
    declared = feature.tool.definition.get("arguments") if feature else None
    every = declared if isinstance(declared, list) else []
    return [argument for argument in every if isinstance(argument, dict) and isinstance(argument.get("name"), str)]


def _rows(
    catalog: Catalog, named: Mapping[str, Feature], servers: Collection[str], row: Callable[[str, Feature], Row]
) -> Found:
    for server in servers:
        catalog.config.server(server)
    lists = [(server, listed) for server in catalog.config.enabled for listed in catalog.features(server)]
    listed_at = {(server, kind_of_list(listed.capabilities)): listed.fetched_at for server, listed in lists}

    rows = []
    for name, feature in named.items():
        if not servers or feature.server in servers:
            when = listed_at.get((feature.server, feature.kind))
            rows.append({**row(name, feature), **_said(feature), "listed_at": clock.iso(when) if when else None})
    return Found.of(rows, filtered=bool(servers))


def _prompt(name: str, feature: Feature) -> Row:
    arguments = feature.tool.definition.get("arguments")
    return {
        "name": name, "server": feature.server, "prompt": feature.name,
        "arguments": arguments if isinstance(arguments, list) else [],
    }  # fmt: skip


def _resource(uri: str, feature: Feature) -> Row:
    size = feature.tool.definition.get("size")
    return {
        "uri": uri, "server": feature.server, "name": _text(feature, "name"), "mime_type": _text(feature, "mimeType"),
        "size": size if isinstance(size, int) and not isinstance(size, bool) else None,
        "is_template": feature.kind == TEMPLATES,
    }  # fmt: skip


def _said(feature: Feature) -> Row:
    title, description = _text(feature, "title"), _text(feature, "description")
    label = title or (description or "").strip().partition("\n")[0] or None
    return {"title": title, "description": description, "label": label}


def _text(feature: Feature, member: str) -> str | None:
    value = feature.tool.definition.get(member)
    return value if isinstance(value, str) and value.strip() else None
