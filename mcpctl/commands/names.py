"""Filters by name for records: an unknown name is refused, not answered as if there were nothing to find."""

from collections.abc import Iterable, Iterator

from mcpctl.base.paths import Paths
from mcpctl.store.filters import CallFilter, is_glob
from mcpctl.store.records import Records

_LISTS = {
    "server": "list servers with: mcpctl servers ls",
    "tool": "list tools with: mcpctl tools ls",
    "client": "see who was connected with: mcpctl sessions ls",
    "project": "see config.toml, or the field project under --json",
}

_MAX_NAME = 200
"""Longer names are not compared: a comparison takes the product of their lengths."""


def refuse_strangers(wanted: CallFilter, records: Records, paths: Paths) -> None:
    """Raise `NotFound` if a filter has a name that is neither configured nor on record, or a glob that fits none."""
    asked = {"server": wanted.servers, "tool": wanted.tools, "client": wanted.clients, "project": wanted.projects}
    for noun, values in asked.items():
        left = list(values)
        names = _names(noun, records, paths)
        while left and (name := next(names, None)) is not None:
            left = [value for value in left if not _fits(value, name)]
        if left:
            _refuse(noun, left[0], set(_names(noun, records, paths)))


def _fits(value: str, name: str) -> bool:
    if value == name or not is_glob(value):
        return value == name
    from fnmatch import fnmatchcase

    return fnmatchcase(name, value.replace("[", "[[]"))


def _refuse(noun: str, name: str, names: set[str]) -> None:
    from mcpctl.base.errors import NotFound
    from mcpctl.base.near_names import did_you_mean

    near = sorted(other for other in names if len(other) <= _MAX_NAME)
    hint = did_you_mean(name, near, _LISTS[noun])
    raise NotFound(f"no {noun} '{name}' is configured or on record", hint, f"{noun}_not_found")


def _names(noun: str, records: Records, paths: Paths) -> Iterator[str]:
    """Those on record, then those that are configured: most are found before anything else has to be read."""
    from mcpctl.catalog import rows
    from mcpctl.config import config

    yield from _spelled(noun, records.names(noun))
    if noun == "tool":
        with rows.catalog(paths, quiet=True) as catalog:
            yield from _spelled(noun, (tool.key for tool in catalog.known()))
    elif noun != "client":
        loaded = config.load(paths.config)
        if noun == "server":
            yield from (*loaded.servers, *loaded.problems)
        else:
            yield from loaded.projects
            yield from (name for server in loaded.servers.values() for name in server.projects)


def _spelled(noun: str, names: Iterable[str]) -> Iterator[str]:
    """Each name as it may be typed: a tool by its key, with a dot, or alone."""
    from mcpctl.base.tool_keys import split

    for name in names:
        yield name
        if noun == "tool":
            server, tool = split(name)
            yield from (f"{server}.{tool}", tool)
