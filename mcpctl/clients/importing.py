"""`servers import`: what other clients have, decided entry by entry, and written in one go."""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from mcpctl import config, server_entries
from mcpctl.clients import client_files, client_kinds, preview
from mcpctl.clients.client_files import ClientEntry, ClientFile
from mcpctl.clients.client_kinds import CLIENTS
from mcpctl.clients.entry_translation import Table, is_mcpctl, table_of
from mcpctl.clients.entry_variables import CannotTake, LeftOut
from mcpctl.config import Config, Server
from mcpctl.errors import Unusable, WrongUsage, warn
from mcpctl.models import IMPORT_FIELDS, Row

_SAID = {"failed": "could not be imported", "skipped": "is left out"}
_SEVERAL = re.compile(r"[^A-Za-z0-9_-]+")


@dataclass
class Import:
    """What an import found, and what became of it."""

    prefix: str = ""
    replace: bool = False
    files: list[ClientFile] = field(default_factory=list)
    """Those that were read."""
    entries: list[ClientEntry] = field(default_factory=list)
    broken: list[tuple[ClientFile, Unusable]] = field(default_factory=list)
    """Those that could not be read."""
    rows: list[Row] = field(default_factory=list)

    def chosen(self, loaded: Config) -> dict[str, Table]:
        """The entries to write into a configuration, by name; `rows` then say what becomes of every one there is."""
        merged = _Merged(loaded, self.prefix, self.replace)
        self.rows = [_row(file, None, None, "failed", error.message) for file, error in self.broken]
        # Within a file, a name that is right as it is comes before one that is mended into the same.
        for entry in sorted(self.entries, key=lambda one: (self.files.index(one.file), mended(one.name) != one.name)):
            self.rows.append(merged.take(entry))
        return merged.changes


def found(source: str | None, prefix: str = "", replace: bool = False) -> Import:
    """What `--from` names, read; raises `NotFound`, and `Unusable` when the one file there is cannot be used."""
    if prefix and not config.NAME.match(prefix):
        raise WrongUsage(f"'{prefix}' cannot begin a server's name", "use letters, digits, '_' and '-'")
    result = Import(prefix, replace)
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
            hint = "mcpctl knows mcpServers, servers, mcp.servers, context_servers and, in TOML, mcp_servers"
            raise Unusable(f"{file.path} has no MCP servers", hint, "no_servers")
    if result.broken and not result.files:
        raise result.broken[0][1]
    return result


def looked_at(source: str | None) -> list[Path]:
    """The places that `--from` names, whether anything is there or not."""
    if source is not None and source not in CLIENTS:
        return [Path(source)]
    clients = CLIENTS.values() if source is None else [CLIENTS[source]]
    places = (place for client in clients for place in client_kinds.places(client))
    return [place for place in places if source is not None or not client_kinds.project_of(place)]


def mended(name: str) -> str:
    """`name` with what a server's name cannot have taken out or replaced by `-`."""
    ascii_ = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    return _SEVERAL.sub("-", ascii_).strip("-") or "server"


class _Merged:
    """A configuration with imported entries in it."""

    def __init__(self, loaded: Config, prefix: str, replace: bool) -> None:
        self._loaded = loaded
        self._prefix = prefix
        self._replace = replace
        self._imported: dict[str, tuple[Server, ClientEntry]] = {}
        self.changes: dict[str, Table] = {}

    def take(self, entry: ClientEntry) -> Row:
        """Put the entry in, if that can be; the row says how it went."""
        if is_mcpctl(entry.value):
            return _row(entry.file, None, entry.name, "skipped", "it starts mcpctl itself")
        try:
            table, notes = table_of(entry)
        except CannotTake as error:
            action = "skipped" if isinstance(error, LeftOut) else "failed"
            return _row(entry.file, None, entry.name, action, str(error))
        server = msgspec.convert(table, Server)
        name = self._free_name(entry.name, server)
        if name != self._prefix + entry.name:
            notes.insert(0, f"named {name}, since a name has only letters, digits, '_' and '-'")
        if entry.project and not client_kinds.project_of(entry.file.path):
            notes.append(
                f"it was for the project {entry.project} alone; here all see it, unless its entry says projects = [...]"
            )
        action, why = self._action(name, server, entry)
        if action in ("added", "replaced"):
            self.changes[name] = table
        if action != "skipped":
            self._imported.setdefault(name, (server, entry))
        return _row(entry.file, name, entry.name, action, why, notes)

    def _free_name(self, source_name: str, server: Server) -> str:
        """The name for an entry; a mended one gets a number where another of this import has it."""
        first = name = self._prefix + mended(source_name)
        number = 1
        while (
            mended(source_name) != source_name
            and (taken := self._imported.get(name))
            and (taken[1].name != source_name and taken[0] != server)
        ):
            number += 1
            name = f"{first}-{number}"
        return name

    def _action(self, name: str, server: Server, entry: ClientEntry) -> tuple[str, str | None]:
        if name in self._imported:
            same, other = self._imported[name]
            where = f"{other.file.source} ({other.file.path})"
            if same == server:
                return "unchanged", f"the same as that of {where}"
            if other.file == entry.file:
                told = f"another '{name}' is in the same file, {other.file.path}"
                return "skipped", f"{told}; add this one under another name: mcpctl servers add OTHER-NAME …"
            return "skipped", f"another '{name}' comes from {where}; import one of them with --from FILE --prefix P"
        if self._loaded.servers.get(name) == server:
            return "unchanged", None
        if name not in self._loaded.servers and name not in self._loaded.problems:
            return "added", None
        if self._replace:
            return "replaced", None
        return "skipped", f"there is another '{name}' in config.toml; give --replace or --prefix P"


def run(path: Path, wanted: Import, *, dry_run: bool = False) -> list[str]:
    """Write what can be imported into the configuration in `path`; `wanted.rows` then say what was done.

    A dry run writes nothing and returns the change as a diff. Raises `Unusable` when a part could not be imported.
    """
    changes = []
    if dry_run:
        changes = preview.changes(path, wanted.chosen)
    elif wanted.entries:
        server_entries.merge(path, wanted.chosen)
    else:
        wanted.chosen(config.load(path))
    for line in _remarks(wanted.rows):
        warn(line)
    if not dry_run and any(row["action"] == "failed" for row in wanted.rows):
        raise _failure(wanted.rows, path)
    return changes


def _remarks(rows: Iterable[Row]) -> Iterator[str]:
    """What a person should know of an import: what failed, what was left out, what changed on the way."""
    for row in rows:
        what = row["source"] if row["source_name"] is None else f"{row['source']}: '{row['source_name']}'"
        if row["action"] in _SAID:
            yield f"{what} {_SAID[row['action']]}: {row['why']}"
        if row["action"] in ("added", "replaced"):
            yield from (f"{what}: {note}" for note in row["notes"])


def _failure(rows: list[Row], path: Path) -> Unusable:
    failed = sum(row["action"] == "failed" for row in rows)
    done = [row["name"] for row in rows if row["action"] in ("added", "replaced")]
    rest = f"; {', '.join(done)} went into {path}" if done else ""
    hint = "mend what is said above in the client's file, or add it by hand with: mcpctl servers add"
    return Unusable(f"{failed} of {len(rows)} could not be imported{rest}", hint, "import_incomplete")


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
