"""Which servers belong to which projects, as the tables of `config.toml` say it."""

from collections.abc import Iterable, Mapping
from typing import Any

from mcpctl.base.errors import NotFound
from mcpctl.base.near_names import did_you_mean

UNASSIGNED = "UNASSIGNED"
"""In place of a project's name: the servers that name no project."""


def members(servers: Mapping[str, Any]) -> dict[str, frozenset[str]]:
    """The projects of each server that names any, as written: an entry that cannot be used belongs to its, too."""
    written = {name: table.get("projects") for name, table in servers.items() if isinstance(table, dict)}
    lists = {name: [given] if isinstance(given, str) else given for name, given in written.items()}
    return {
        name: frozenset(each for each in given if isinstance(each, str))
        for name, given in lists.items()
        if given and isinstance(given, list)
    }


def known(projects: Iterable[str], members: Mapping[str, frozenset[str]]) -> frozenset[str]:
    return frozenset(projects).union(*members.values())


def check(name: str, known: Iterable[str], path: object) -> None:
    """Raises `NotFound` for a project that nothing in the file at `path` names."""
    names = sorted(known)
    if name not in names:
        there_are = f"{path} has {', '.join(names)}" if names else f"{path} has none; write [projects.NAME] there"
        hint = did_you_mean(name, names, there_are)
        raise NotFound(f"no project '{name}'", hint, "project_not_found")


def hidden(members: Mapping[str, frozenset[str]], project: str | None) -> frozenset[str]:
    if project is None:
        return frozenset()
    return frozenset(name for name, names in members.items() if project not in names)
