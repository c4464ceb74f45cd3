"""Tools that a person denies or allows in config.toml, and the decision on them after that."""

from collections.abc import Callable, Sequence
from pathlib import Path

from mcpctl import output, servers
from mcpctl.base.errors import WrongUsage, warn
from mcpctl.base.models import PERMISSION_FIELDS, Found, Row
from mcpctl.base.near_names import nearest
from mcpctl.base.paths import Paths
from mcpctl.base.tool_keys import join, split_typed
from mcpctl.catalog import explained, rows
from mcpctl.catalog.cache import Catalog
from mcpctl.commands.columns import PERMISSIONS
from mcpctl.commands.confirmation import Gate
from mcpctl.config import editing
from mcpctl.output import ListOptions
from mcpctl.policy.decide import ALLOW
from mcpctl.servers import Change, Keys

_STILL = {"deny": "is still denied", "ask": "is asked about at each call", "held": "is still held"}


def write(paths: Paths, rows: Sequence[Row], options: ListOptions) -> None:
    output.write_list(Found.of(rows), PERMISSIONS, options)
    if any(row["action"] != "unchanged" for row in rows):
        output.say(f"written to {paths.config}")


def deny(paths: Paths, keys: Sequence[str]) -> list[Row]:
    outcome = _written(paths, keys, servers.deny, "denied", 'rule of [policy] instead, such as deny = ["{}"]')
    for row in outcome:
        if not row["listed"]:
            warn(f"{row['key']}: its server has not listed it; it is denied as soon as it does{_near(row)}")
    return outcome


def allow(paths: Paths, keys: Sequence[str]) -> list[Row]:
    outcome = _written(paths, keys, servers.allow, "allowed", "pattern in only of its server's entry")
    for row in outcome:
        if not row["listed"]:
            warn(f"{row['key']}: its server has not listed it{_near(row)}")
        if row["decision"] != ALLOW:
            warn(f"{row['key']} {_STILL.get(row['decision'], 'is still refused')}: {_why(row)}")
    return outcome


def _written(
    paths: Paths, typed: Sequence[str], changing: Callable[[Path, Keys, set[str]], Change], done: str, instead: str
) -> list[Row]:
    keys = [_parts(key, instead) for key in dict.fromkeys(typed)]
    changed: set[str] = set()
    editing.edit(paths.config, changing(paths.config, keys, changed), Gate(paths).config)
    with rows.catalog(paths, quiet=True) as catalog:
        return [_row(catalog, paths, join(*parts), done if join(*parts) in changed else "unchanged") for parts in keys]


def _parts(key: str, instead: str) -> tuple[str, str]:
    server, name = split_typed(key)
    if not name:
        raise WrongUsage(f"'{key}' is not a tool", "name tools as server:tool; see: mcpctl tools ls")
    if {"*", "?"} & set(name):
        hint = f"name tools one by one, or write a {instead.format(key)}"
        raise WrongUsage(f"'{key}' is a pattern, and here one tool is named", hint)
    return server, name


def _row(catalog: Catalog, paths: Paths, key: str, action: str) -> Row:
    row = explained.explain(catalog, key, paths)
    place = next((rule for rule in row["rules"] if rule["decides"]), {"file": None, "line": None})
    listed = catalog.listed(row["server"])
    known = [] if row["listed"] or listed is None else [tool.key for tool in listed.tools]
    values = {**row, **place, "action": action, "near": nearest(row["key"], known)}
    return {name: values[name] for name in PERMISSION_FIELDS}


def _why(row: Row) -> str:
    if row["reason"]:
        return f"{row['reason']}; {row['hint']}"
    place = f" ({row['file']}, line {row['line']})" if row["line"] else " (built in)" if row["file"] else ""
    return f"{row['decided_by']}{place}; see: mcpctl policy explain {row['key']}"


def _near(row: Row) -> str:
    return f"; did you mean {' or '.join(row['near'])}?" if row["near"] else ""
