"""Filters of what is on record: a name that nobody has is refused, not answered with an empty list."""

from collections.abc import Iterator, Mapping

from mcpctl.models import Found
from mcpctl.paths import Paths
from mcpctl.store.records import Records

_LISTS = {
    "server": "list servers with: mcpctl servers ls",
    "tool": "list tools with: mcpctl tools ls",
    "client": "see who was connected with: mcpctl sessions ls",
    "project": "see config.toml, or what is on record with --json",
}

_LONGEST = 200
"""As long are names that may be meant: comparing two takes the product of their lengths."""


def refuse_strangers(rows: Found, records: Records, paths: Paths, named: Mapping[str, str | None]) -> None:
    """Raise `NotFound` where there are no rows and a filter of `named` has a name neither configured nor on record.

    The filters are of `server`, `tool`, `client` and `project`; None is one that was not given.
    """
    if all(name is None for name in named.values()) or next(rows.rows(1, 0), None) is not None:
        return
    from mcpctl.errors import NotFound
    from mcpctl.near_names import did_you_mean

    for noun, name in named.items():
        if name is not None and name not in (known := set(_known(noun, records, paths))):
            near = sorted(each for each in known if len(each) <= _LONGEST)
            hint = did_you_mean(name, near, _LISTS[noun])
            raise NotFound(f"no {noun} '{name}' is configured or on record", hint, f"{noun}_not_found")


def _known(noun: str, records: Records, paths: Paths) -> Iterator[str]:
    from mcpctl import config
    from mcpctl.catalog import rows

    if noun == "tool":
        with rows.catalog(paths, quiet=True) as catalog:
            keys = {tool.key for tool in catalog.permitted()}
        for key in keys.union(records.names("tool")):
            server, _, tool = key.partition(":")
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
