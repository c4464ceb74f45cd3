"""Filters by name for records: an unknown name is refused, not answered with an empty list."""

from collections.abc import Iterator, Mapping

from mcpctl.models import Found
from mcpctl.paths import Paths
from mcpctl.store.records import Records

_LISTS = {
    "server": "list servers with: mcpctl servers ls",
    "tool": "list tools with: mcpctl tools ls",
    "client": "see who was connected with: mcpctl sessions ls",
    "project": "see config.toml, or the field project under --json",
}

_MAX_NAME = 200
"""Longer names are not compared: a comparison takes the product of their lengths."""


def refuse_strangers(results: Found, records: Records, paths: Paths, filters: Mapping[str, str | None]) -> None:
    """Raise `NotFound` if there are no rows and a filter has a name that is neither configured nor on record.

    The filters are `server`, `tool`, `client` and `project`; None means that a filter was not given.
    """
    if all(name is None for name in filters.values()) or next(results.rows(1, 0), None) is not None:
        return
    from mcpctl.errors import NotFound
    from mcpctl.near_names import did_you_mean

    for noun, name in filters.items():
        if name is not None and name not in (names := set(_names(noun, records, paths))):
            near = sorted(other for other in names if len(other) <= _MAX_NAME)
            hint = did_you_mean(name, near, _LISTS[noun])
            raise NotFound(f"no {noun} '{name}' is configured or on record", hint, f"{noun}_not_found")


def _names(noun: str, records: Records, paths: Paths) -> Iterator[str]:
    from mcpctl import config
    from mcpctl.catalog import rows
    from mcpctl.tool_keys import split

    if noun == "tool":
        with rows.catalog(paths, quiet=True) as catalog:
            keys = {tool.key for tool in catalog.known()}
        for key in keys.union(records.names("tool")):
            server, tool = split(key)
            yield from (key, f"{server}.{tool}", tool)
        return
    yield from records.names(noun)
    if noun == "client":
        return
    loaded = config.load(paths.config)
    if noun == "server":
        yield from (*loaded.servers, *loaded.problems)
    else:
        yield from loaded.projects
        yield from (name for server in loaded.servers.values() for name in server.projects)
