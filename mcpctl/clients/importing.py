"""`servers import`: the servers of other clients, decided entry by entry and written at once."""

import os
import re
import shlex
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from mcpctl.base.errors import Unusable, WrongUsage, warn
from mcpctl.base.models import IMPORT_FIELDS, Row
from mcpctl.base.texts import beginning
from mcpctl.clients import client_config, client_files, client_kinds, import_preview
from mcpctl.clients.client_files import ClientEntry, ClientFile
from mcpctl.clients.client_kinds import CLIENTS
from mcpctl.clients.entry_translation import CannotTake, LeftOut, Table, is_mcpctl, table_of
from mcpctl.config import config, editing, server_environment, server_settings
from mcpctl.config.config import Config
from mcpctl.config.server_settings import Server

ITSELF = "it starts mcpctl itself"
TAKEN = ("added", "replaced", "unchanged")  # the actions on entries that the configuration has afterwards
_OUTCOMES = {"failed": "could not be imported", "skipped": "is left out"}
_ADDED = (  # the keys that people add to an entry that they have taken over
    "oauth", "enabled", "start_timeout_s", "call_timeout_s", "projects", "may_ask", "only", "trust_hints", "expose",
)  # fmt: skip
_DENIED = 20  # tools that are named
_DEFAULTS = Server()
_OTHER_CHARACTERS = re.compile(r"[^A-Za-z0-9_-]+")


@dataclass
class Import:
    prefix: str = ""
    replace: bool = False
    rename: Sequence[tuple[str, str]] = ()
    """Names of entries with new ones: the first such entry that can keeps its name, each other takes the next new
    one."""
    ways: str = "--replace or --prefix P, or "  # the other options for an entry whose name is taken
    files: list[ClientFile] = field(default_factory=list)
    entries: list[ClientEntry] = field(default_factory=list)
    broken: list[tuple[ClientFile, Unusable]] = field(default_factory=list)  # files that could not be read, and why
    rows: list[Row] = field(default_factory=list)
    taken: list[ClientEntry] = field(default_factory=list)
    variables: dict[tuple[str, Path], Mapping[str, str]] = field(default_factory=dict)
    """The variables of an mcpctl by its client and folder: a server that cannot start with them stays in the client's
    file."""
    consequences: list[str] = field(default_factory=list)  # servers that are switched off, or do not start

    _loaded: Config = field(init=False)
    _count: Counter[str] = field(init=False)
    _imported: dict[str, tuple[Server, ClientEntry]] = field(init=False)
    _changes: dict[str, Table] = field(init=False)

    def select(self, loaded: Config) -> dict[str, Table]:
        """The entries to write into a configuration, by name; afterwards `rows` says what becomes of each entry."""
        self._loaded, self._count = loaded, Counter(entry.name for entry in self.entries)
        self._imported, self._changes, self.taken, self.consequences = {}, {}, [], []
        self.rows = [_row(file, None, None, "failed", error.message) for file, error in self.broken]

        # Within a file a valid name comes first, so that it wins over a name that becomes the same one.
        def order(entry: ClientEntry) -> tuple[int, bool]:
            return self.files.index(entry.file), valid_name(entry.name) != entry.name

        for entry in sorted(self.entries, key=order):
            self.rows.append(self._take(entry))
            if self.rows[-1]["action"] in TAKEN:
                self.taken.append(entry)
        return self._changes

    def _take(self, entry: ClientEntry) -> Row:
        if is_mcpctl(entry.value):
            return _row(entry.file, None, entry.name, "skipped", ITSELF)
        try:
            table, notes = table_of(entry)
        except CannotTake as error:
            action = "skipped" if isinstance(error, LeftOut) else "failed"
            return _row(entry.file, None, entry.name, action, str(error))
        server = msgspec.convert(table, Server)
        if stays := self._why_it_stays(entry, server):
            return _row(entry.file, None, entry.name, "skipped", stays)
        name = self._new_name(entry, server) or self._free_name(entry.name, server)
        is_renamed = (entry.name, name) in self.rename
        if name != self.prefix + entry.name and not is_renamed:
            notes.insert(0, f"named {name}, since a name can only have letters, digits, '_' and '-'")
        if entry.project and not client_kinds.project_of(entry.file.path):
            notes.append(
                f"it was for the project {entry.project} only; "
                "here every project sees it, unless its entry has projects = [...]"
            )
        action, why = self._action(name, server, entry)
        if action in ("added", "replaced"):
            self._changes[name] = table
            self._tell(entry, name, server)
        if action != "skipped":
            self._imported.setdefault(name, (server, entry))
        return _row(entry.file, name, entry.name, action, why, notes)

    def _why_it_stays(self, entry: ClientEntry, server: Server) -> str:
        client = entry.file.client
        variables = self.variables.get((client.name, entry.file.path.parent)) if client else None
        if client is None or variables is None or not server.enabled:
            return ""
        missing, program = _lacks(entry, server, variables)
        if missing:
            why = (
                f"it would not start, since {', '.join(missing)} would not be set for an mcpctl that {client.title} "
                f"starts; take it over with: mcpctl servers import --from {client.name}, and give the value in its "
                "entry in config.toml"
            )
        elif program:
            path = "correct its path in" if os.sep in program else "write its absolute path into"
            why = (
                f"it would not start, since its program '{program}' is not found; install it, or {path} the entry "
                f"there, then run again: mcpctl install {client.name}"
            )
        else:
            return ""
        self.consequences.append(f"{entry.file.source}: '{entry.name}' stays there: {why}")
        return why

    def _tell(self, entry: ClientEntry, name: str, server: Server) -> None:
        existing = self._loaded.servers.get(name)
        known = existing.tools if existing else {}
        if tools := [tool for tool, setting in server.tools.items() if not setting and known.get(tool) is not False]:
            client = entry.file.client
            self.consequences.append(
                denied((f"{name}:{tool}" for tool in tools), client.title if client else entry.file.source)
            )
        if not server.enabled and (existing is None or existing.enabled):
            self.consequences.append(switched_off(name, f"it is off in {entry.file.source}"))
        elif server.enabled and not self.variables and any(lacks := _lacks(entry, server, os.environ)):
            missing, program = lacks
            needed = f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} set"
            if not missing:
                needed = f"its program '{program}' is there"
            self.consequences.append(
                f"'{name}' does not start before {needed}; to see whether it does: mcpctl servers check {name}"
            )

    def _new_name(self, entry: ClientEntry, server: Server) -> str | None:
        names = [new for old, new in self.rename if old == entry.name]
        if names and self._count[entry.name] > 1:
            names.insert(0, self.prefix + valid_name(entry.name))
        free = (name for name in names if self._action(name, server, entry)[0] != "skipped")
        return next(free, names[-1] if names else None)

    def _free_name(self, source_name: str, server: Server) -> str:
        first = name = self.prefix + valid_name(source_name)
        number = 1
        while (
            valid_name(source_name) != source_name
            and (other := self._imported.get(name))
            and (other[1].name != source_name and other[0] != server)
        ):
            number += 1
            name = f"{first}-{number}"
        return name

    def _action(self, name: str, server: Server, entry: ClientEntry) -> tuple[str, str | None]:
        if name in self._imported:
            other_server, other = self._imported[name]
            origin = f"{other.file.source} ({other.file.path})"
            if other_server == server:
                return "unchanged", f"the same as the one from {origin}"
            is_same_file = other.file == entry.file
            where = f"is in the same file, {other.file.path}" if is_same_file else f"comes from {origin}"
            return "skipped", f"another '{name}' {where}; to take both, {self._renaming(entry)}"
        existing = self._loaded.servers.get(name)
        if existing and existing.openapi:
            return "skipped", f"'{name}' in config.toml is an HTTP API; {self._renaming(entry, self.ways)}"
        if existing and _is_in(existing, server, exactly=self.replace):
            return "unchanged", None
        if name not in self._loaded.servers and name not in self._loaded.problems:
            return "added", None
        if self.replace:
            return "replaced", None
        return "skipped", f"there is another '{name}' in config.toml; {self._renaming(entry, self.ways)}"

    def _renaming(self, entry: ClientEntry, ways: str = "") -> str:
        option = f"--rename {shlex.quote(entry.name)}=NEW"
        return f"give {ways}{option}" if self.ways else f"run: mcpctl install {entry.file.source} {option}"


def read(source: str | None, prefix: str = "", replace: bool = False, rename: Sequence[tuple[str, str]] = ()) -> Import:
    """The files and entries that `--from` names. Raises `NotFound`, or `Unusable` if no file can be used."""
    if prefix and not server_settings.NAME.match(prefix):
        raise WrongUsage(f"'{prefix}' cannot begin a server's name", "for --prefix use letters, digits, '_' and '-'")
    result = Import(prefix, replace, rename)
    for file in client_files.files(source):
        try:
            entries = client_files.entries(file)
        except Unusable as error:
            result.broken.append((file, error))
            continue
        if entries is not None:
            result.files.append(file)
            result.entries += entries
        elif source is not None and source not in CLIENTS:
            hint = "mcpctl looks for mcpServers, servers, mcp.servers, context_servers and, in TOML, mcp_servers"
            raise Unusable(f"{file.path} has no MCP servers", hint, "no_servers")
    if result.broken and not result.files:
        raise result.broken[0][1]
    return result


def renames(options: Iterable[str]) -> list[tuple[str, str]]:
    pairs = []
    for option in options:
        old, equals, new = option.rpartition("=")
        if not old or not equals or not server_settings.NAME.match(new):
            raise WrongUsage(f"--rename '{option}' is not OLD=NEW", "for NEW use letters, digits, '_' and '-'")
        pairs.append((old, new))
    return pairs


def places(source: str | None) -> list[Path]:
    if source is not None and source not in CLIENTS:
        return [Path(source)]
    if source is None:
        return [path for client in CLIENTS.values() for path in client_kinds.own_places(client)]
    return list(client_kinds.places(CLIENTS[source]))


def valid_name(name: str) -> str:
    ascii_ = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    return _OTHER_CHARACTERS.sub("-", ascii_).strip("-") or "server"


def _lacks(entry: ClientEntry, server: Server, variables: Mapping[str, str]) -> tuple[list[str], str]:
    missing = server_environment.unset(server, entry.file.path, variables)
    return missing, client_config.missing_program(server, variables)


def _is_in(existing: Server, server: Server, *, exactly: bool) -> bool:
    """Whether config.toml has all of a client's entry; unless `exactly`, it may have limits. inherit_env is ours."""
    if exactly or not existing.tools.items() >= server.tools.items():
        return msgspec.structs.replace(existing, inherit_env=server.inherit_env) == server
    set_here = (name for name in _ADDED if getattr(server, name) != getattr(_DEFAULTS, name))
    ours = {name: getattr(existing, name) for name in {"inherit_env", "tools", *_ADDED}.difference(set_here)}
    return msgspec.structs.replace(server, **ours) == existing


def denied(keys: Iterable[str], client: str) -> str:
    return f"denied here for all clients: {beginning(list(keys), _DENIED)} (by {client})"


def switched_off(name: str, why: str) -> str:
    return f"'{name}' is switched off in config.toml, for all clients: {why}; to use it: mcpctl servers enable {name}"


def run(path: Path, batch: Import, permit: editing.Permit, *, dry_run: bool = False) -> list[str]:
    """Write the entries that can be imported; raises `Unusable` if some could not. A dry run returns the diff."""
    diff = []

    def change(document: Any) -> None:
        editing.put(document, batch.select(config.load(path)))

    if dry_run:
        texts = editing.edited(path, change)
        diff = import_preview.between(path, *texts)
        permit(*texts)
    elif batch.entries:
        editing.edit(path, change, permit)
    else:
        batch.select(config.load(path))
    for line in remarks(batch.rows):
        warn(line)
    failed = sum(row["action"] == "failed" for row in batch.rows)
    if failed and not dry_run:
        names = [row["name"] for row in batch.rows if row["action"] in ("added", "replaced")]
        rest = f"; {', '.join(names)} went into {path}" if names else ""
        hint = "fix the problems above in the client's file, or add the server by hand with: mcpctl servers add"
        raise Unusable(f"{failed} of {len(batch.rows)} could not be imported{rest}", hint, "import_incomplete")
    return diff


def remarks(rows: Iterable[Row], outcome: str = "") -> Iterator[str]:
    for row in rows:
        subject = row["source"] if row["source_name"] is None else f"{row['source']}: '{row['source_name']}'"
        if row["action"] in _OUTCOMES:
            yield f"{subject} {outcome or _OUTCOMES[row['action']]}: {row['why']}"
        if row["action"] in ("added", "replaced"):
            yield from (f"{subject}: {note}" for note in row["notes"])


def _row(
    file: ClientFile,
    name: str | None,
    source_name: str | None,
    action: str,
    why: str | None,
    notes: list[str] | None = None,
) -> Row:
    values: tuple[Any, ...] = (name, action, file.source, source_name, str(file.path), why, notes or [])
    return dict(zip(IMPORT_FIELDS, values, strict=True))
