"""Changes of servers' entries in config.toml: their fields, and which of their tools are offered."""

from collections.abc import Callable, Mapping, MutableMapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from mcpctl.base.errors import WrongUsage
from mcpctl.base.near_names import did_you_mean
from mcpctl.base.tool_keys import join
from mcpctl.config import config
from mcpctl.config.server_settings import LOCAL_ONLY, REMOTE_ONLY, Server
from mcpctl.policy.rules import Offers, refusing
from mcpctl.servers import server_entries

FIELDS = tuple(field.name for field in msgspec.structs.fields(Server))
MERGED = ("env", "headers", "oauth", "tools")
"""The fields that are tables: given members are put beside those that they have."""
Change = Callable[[Any], None]
"""A function that edits the document of a config.toml, for `server_entries.edit` and `edited`."""
Keys = Sequence[tuple[str, str]]


def fields(path: Path, name: str, given: Mapping[str, Any], unset: Sequence[str]) -> Change:
    """The change that takes fields out of an entry and then gives it others; each is `FIELD`, or `env.NAME` and the
    like. It raises `NotFound` for an unknown server, and `WrongUsage` for an entry that could not be used then."""
    if not given and not unset:
        raise WrongUsage("nothing to change was given", "see: mcpctl servers set --help")
    places = [_place(field) for field in unset]

    def change(document: Any) -> None:
        entry = server_entries.entry_of(path, document, name)
        with server_entries.before_comments(entry):
            for field, part in places:
                _take_out(entry, field, part)
            for field, value in given.items():
                if field in MERGED:
                    server_entries.table_of(entry, field).update(value)
                else:
                    entry[field] = value
            if "transport" not in entry and server_entries.is_sse(given.get("url", "")):
                entry["transport"] = "sse"
        _check(path, document, name)

    return change


def _place(field: str) -> tuple[str, str]:
    """The field that `--unset` names, and its member; raises `WrongUsage`."""
    name, _, part = field.partition(".")
    if name not in FIELDS:
        raise WrongUsage(
            f"no field '{name}' of a server",
            did_you_mean(name, FIELDS, f"fields: {', '.join(FIELDS)}"),
            "no_such_field",
        )
    if part and name not in MERGED:
        raise WrongUsage(f"{name} has no fields of its own", f"take all of it out with: --unset {name}")
    return name, part


def _take_out(entry: Any, field: str, part: str) -> None:
    if not part:
        entry.pop(field, None)
    elif isinstance(table := entry.get(field), MutableMapping):
        table.pop(part, None)
        if not table and "#" not in table.as_string():  # type: ignore[attr-defined]
            entry.pop(field)


def deny(path: Path, keys: Keys, changed: set[str]) -> Change:
    """The change that sets tools false; the keys that were not are put into `changed`. It raises `NotFound`."""

    def change(document: Any) -> None:
        changed.clear()
        for server, name in keys:
            with server_entries.before_comments(server_entries.entry_of(path, document, server)) as entry:
                tools = server_entries.table_of(entry, "tools")
                if tools.get(name) is not False:
                    tools[name] = False
                    changed.add(join(server, name))

    return change


def allow(path: Path, keys: Keys, changed: set[str]) -> Change:
    """The change that removes the rules that set tools false, and puts the tools into `only` where it is; the keys of
    those that were barred are put into `changed`. It raises `NotFound`."""

    def change(document: Any) -> None:
        changed.clear()
        for server, name in keys:
            with server_entries.before_comments(server_entries.entry_of(path, document, server)) as entry:
                while (written := refusing(_denials(entry), name)) is not None:
                    _take_out(entry, "tools", written)
                    changed.add(join(server, name))
                if isinstance(only := entry.get("only"), list) and not Offers(only).has(name):
                    only.append(name)
                    changed.add(join(server, name))

    return change


def _denials(entry: Any) -> Mapping[str, bool | str]:
    tools = entry.get("tools")
    return dict(tools) if isinstance(tools, MutableMapping) else {}


def _check(path: Path, document: Any, name: str) -> None:
    import tomlkit

    if problem := config.parsed(path, tomlkit.dumps(document)).problems.get(name):
        reason = problem.removeprefix(f"{path}: servers.{name}").lstrip(".: ")
        entry = document["servers"][name]
        others = LOCAL_ONLY if "url" in entry else REMOTE_ONLY
        unset = " ".join(f"--unset {field}" for field in others if field in entry)
        hint = f"take out what is not for it with: {unset}" if unset else "see: mcpctl servers set --help"
        raise WrongUsage(f"server '{name}' could not be used then: {reason}", hint)
