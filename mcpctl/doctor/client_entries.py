"""The entries in the files of clients: those for mcpctl, and those beside them."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import msgspec
from msgspec.structs import replace

from mcpctl.base.errors import McpctlError, Unusable
from mcpctl.clients import client_config, client_files, client_kinds
from mcpctl.clients.client_files import ClientEntry, ClientFile
from mcpctl.clients.client_kinds import CLIENTS
from mcpctl.clients.entry_translation import CannotTake, is_mcpctl, table_of
from mcpctl.config.server_environment import Launch, launch
from mcpctl.config.server_settings import ALL, MINIMAL, Server


@dataclass(frozen=True)
class OwnEntry:
    """An entry for a server in a client's own file, read like one of config.toml."""

    raw: ClientEntry
    client: str
    server: Server | None  # none where it cannot be read like that
    problem: str = ""

    @property
    def title(self) -> str:
        """The client's name for people, with the project of the entry where it has one."""
        return CLIENTS[self.client].title + (f" ({self.raw.project})" if self.raw.project else "")

    @property
    def has_window(self) -> bool:
        """Whether its client does not start from a shell, and so has no PATH of one."""
        return not CLIENTS[self.client].from_shell

    @property
    def is_mcpctl(self) -> bool:
        return is_mcpctl(self.raw.value)

    @property
    def is_off(self) -> bool:
        return self.server is not None and not self.server.enabled

    @property
    def env(self) -> Mapping[str, str]:
        return self.server.env if self.server else {}

    @property
    def install(self) -> str:
        """The command that puts it in again; `mcpctl install` leaves entries of one project alone."""
        return f"mcpctl {'serve --print-config' if self.raw.project else 'install'} {self.client}"

    def launched(self) -> Launch:
        """The command as the client starts it; raises `CannotLaunch`. It starts in the root: no stranger's mcpctl."""
        assert self.server
        server = msgspec.structs.replace(self.server, inherit_env=ALL)
        started = launch(server, self.raw.file.path, client_config.inherited_from(self.client, self.server))
        return replace(started, cwd=started.cwd or os.sep)


@dataclass(frozen=True)
class OwnFile:
    file: ClientFile
    entries: list[OwnEntry] = field(default_factory=list)
    problem: Unusable | None = None

    @cached_property
    def ours(self) -> list[OwnEntry]:
        return [entry for entry in self.entries if entry.is_mcpctl]


def own_files() -> Iterator[OwnFile]:
    """The files of all clients. Those of the current folder may be a stranger's, and are left out."""
    for client in CLIENTS.values():
        for path in dict.fromkeys(client_kinds.own_places(client)):
            if os.path.lexists(path):
                yield _read(ClientFile(path, client), client.name)


def own_entries() -> list[OwnEntry]:
    return [entry for file in own_files() for entry in file.ours]


def _read(file: ClientFile, client: str) -> OwnFile:
    try:
        return OwnFile(file, [_entry(entry, client) for entry in client_files.entries(file) or ()])
    except McpctlError as error:
        return OwnFile(file, problem=Unusable(error.message, error.hint))


def _entry(raw: ClientEntry, client: str) -> OwnEntry:
    try:
        table, _ = table_of(raw)
    except CannotTake as error:
        return OwnEntry(raw, client, None, str(error))
    return OwnEntry(raw, client, msgspec.convert({"inherit_env": MINIMAL, **table}, Server))
