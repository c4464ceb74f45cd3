"""The servers of config.toml that are a client's own, whatever their names: its rules that loosen are about no others,
since another client may have another server of the same name."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from mcpctl.base.paths import Paths
from mcpctl.clients import client_files, client_kinds, uninstalling
from mcpctl.clients.client_files import ClientEntry, ClientFile
from mcpctl.clients.client_kinds import ClientKind
from mcpctl.clients.entry_translation import CannotTake, is_mcpctl, table_of
from mcpctl.config.server_settings import Server

_SAME = ("kind", "command", "args", "url", "cwd", "env", "env_file", "headers")  # they choose what a call reaches


def entries(client: ClientKind, source: Path | None, paths: Paths) -> list[ClientEntry]:
    """The servers that the client has, and those that it had when mcpctl was installed in it; raises `Unusable`. Those
    of projects' own files only count for rules from `source`, which is a project's file or an older one."""
    places = [source, *client_kinds.places(client)] if source else client_kinds.own_places(client)
    found: list[ClientEntry] = []
    for path in places:
        if path.is_file():
            found += client_files.entries(ClientFile(path, client)) or []
    now = {entry.name for entry in found if entry.project is None}
    for record in uninstalling.every(paths, client.name):
        if record.before:
            document = client_files.decoded(record.path, record.before)
            older = client_files.entries(ClientFile(record.path, client), document) or []
            found += [entry for entry in older if entry.name not in now]
    return [entry for entry in found if not is_mcpctl(entry.value)]


def named(entries: Iterable[ClientEntry], servers: Mapping[str, Server], *, each: bool) -> dict[str, list[str]]:
    """For each name that the client has, the servers here that are the same; with `each`, none where one of several
    servers of this name is not here."""
    found: dict[str, list[list[str]]] = {}
    for entry in entries:
        try:
            theirs = _identity(msgspec.convert(table_of(entry)[0], Server))
        except CannotTake:
            theirs = None
        found.setdefault(entry.name, []).append([name for name, ours in servers.items() if _identity(ours) == theirs])
    return {
        name: [] if each and not all(here) else list(dict.fromkeys(server for one in here for server in one))
        for name, here in found.items()
    }


def _identity(server: Server) -> tuple[object, ...]:
    return tuple(getattr(server, key) for key in _SAME)
