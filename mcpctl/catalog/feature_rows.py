"""Prompts, resources and templates as rows, under the names by which clients and commands ask for them."""

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from mcpctl.base.feature_names import TEMPLATES, kind_of_list
from mcpctl.base.models import Found, Row
from mcpctl.catalog.cache import Catalog
from mcpctl.catalog.features import Feature, Features
from mcpctl.catalog.known_features import KnownFeatures
from mcpctl.store import clock


def features(found: Catalog) -> Features:
    """What is seen of what servers last listed."""
    for server in found.config.enabled:
        found.features(server)
    return KnownFeatures(found.lists).of(found)


def prompts(found: Catalog, servers: Collection[str] = ()) -> Found:
    """The prompts of these servers, or of all; raises `NotFound` for a server that is not there."""
    return _rows(found, features(found).prompts, servers, _prompt)


def resources(found: Catalog, servers: Collection[str] = (), *, templates: bool = False) -> Found:
    """The resources, or the templates, of these servers, or of all; raises as `prompts` does."""
    seen = features(found)
    return _rows(found, seen.templates if templates else seen.resources, servers, _resource)


def prompt_arguments(found: Catalog, name: str) -> list[Mapping[str, Any]]:
    """The arguments that a prompt declares; none of one that is not known."""
    feature = features(found).prompts.get(name)
    declared = feature.definition.get("arguments") if feature else None
    every = declared if isinstance(declared, list) else []
    return [each for each in every if isinstance(each, dict) and isinstance(each.get("name"), str)]


def _rows(
    found: Catalog, named: Mapping[str, Feature], servers: Collection[str], row: Callable[[str, Feature], Row]
) -> Found:
    for server in servers:
        found.config.server(server)
    lists = [(server, each) for server in found.config.enabled for each in found.features(server)]
    listed_at = {(server, kind_of_list(each.capabilities)): each.fetched_at for server, each in lists}

    def made() -> Iterator[Row]:
        for name, feature in named.items():
            if not servers or feature.server in servers:
                when = listed_at.get((feature.server, feature.kind))
                yield {**row(name, feature), **_said(feature), "listed_at": clock.iso(when) if when else None}

    return Found.of(list(made()), filtered=bool(servers))


def _prompt(name: str, feature: Feature) -> Row:
    arguments = feature.definition.get("arguments")
    return {
        "name": name, "server": feature.server, "prompt": feature.name,
        "arguments": arguments if isinstance(arguments, list) else [],
    }  # fmt: skip


def _resource(uri: str, feature: Feature) -> Row:
    size = feature.definition.get("size")
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
    value = feature.definition.get(member)
    return value if isinstance(value, str) and value.strip() else None
