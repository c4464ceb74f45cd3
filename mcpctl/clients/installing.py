"""`install`: a client's servers go into config.toml, and one entry for mcpctl stays in the client's file."""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcpctl.base.errors import NotFound, Unusable, WrongUsage
from mcpctl.base.models import CLIENT_FIELDS, Row
from mcpctl.base.paths import Paths
from mcpctl.base.texts import beginning
from mcpctl.clients import (
    client_config,
    client_files,
    client_kinds,
    import_preview,
    importing,
    policy_import,
    uninstalling,
)
from mcpctl.clients.client_config import NAME, ServeOptions
from mcpctl.clients.client_draft import ClientDraft, Place
from mcpctl.clients.client_files import ClientEntry, ClientFile
from mcpctl.clients.client_kinds import CLIENTS, ClientKind
from mcpctl.clients.entry_translation import NEEDS_RULES, is_mcpctl
from mcpctl.clients.importing import Import
from mcpctl.clients.policy_import import PolicyImport
from mcpctl.clients.uninstalling import FileChange, Installed
from mcpctl.config import config, editing
from mcpctl.config.server_settings import check_server

_TOLD = 20  # servers that a summary names


@dataclass
class Installation(FileChange):
    section: Place
    entry: dict[str, Any] | None = None  # none for a second file of the client, which only loses servers
    taken: list[ClientEntry] = field(default_factory=list)
    former: Path | None = None  # another config.toml to which the entry led before, if it is still there
    names: list[str] = field(default_factory=list)

    def apply(self, before: bytes | None) -> bytes | None:
        draft = ClientDraft(self.path, before or b"")
        own = (*self.section, NAME)
        places = [entry.place for entry in self.taken if entry.place != own and draft.at(entry.place) == entry.value]
        # Other entries that start mcpctl, too: the one entry takes their place. Those of a repository are its people's.
        sections = self.sections if self.repository is None else []
        others = ((*section, name) for section in sections for name, value in draft.servers(section).items()
                  if is_mcpctl(value))  # fmt: skip
        places += [place for place in others if self.entry is None or place != own]
        self.action = "updated" if places else "unchanged"
        if self.entry is not None:
            self._put(draft, own)
        draft.drop(places)
        return draft.data if self.action != "unchanged" else before

    def _applied(self, paths: Paths, before: bytes | None) -> bytes | None:
        """The new bytes, with a record of the file before the first installation that nobody has undone."""
        after = super()._applied(paths, before)
        if after is not None and after != before:
            name, older = self.client.name, before
            kept = uninstalling.load(paths, name, self.path)
            if kept and before and not uninstalling.is_undone(kept, before):
                older = uninstalling.restored(kept, before)
            uninstalling.save(paths, Installed(name, self.path, older, after, self.repository is not None))
        return after

    def _put(self, draft: ClientDraft, own: Place) -> None:
        old = draft.at(own)
        if old is not None and not is_mcpctl(old) and own not in [entry.place for entry in self.taken]:
            hint = "give it another name there first"
            raise Unusable(f"{self.path} has an entry '{NAME}' that does not start mcpctl", hint, "name_taken")
        if (entry := _updated(old, self.entry or {})) != old:
            draft.put(own, entry)
            self.action = "updated" if is_mcpctl(old) else "installed"

    def take(self, batch: Import) -> None:
        self.taken = [entry for entry in batch.taken if entry.file.path == self.path]
        rows = [row for row in batch.rows if row["path"] == str(self.path)]
        self.names = [row["name"] for row in rows if row["action"] in importing.TAKEN]

    @property
    def sections(self) -> list[Place]:
        return list(dict.fromkeys([self.section, *(entry.place[:-1] for entry in self.taken)]))


@dataclass
class Plan:
    paths: Paths
    batch: Import
    changes: list[Installation]
    stays: list[ClientEntry]
    rules: list[PolicyImport]
    texts: tuple[str, str] = ("", "")

    @property
    def takes_over(self) -> bool:
        """Whether servers may go into config.toml; those of a repository are for all who have it, and stay."""
        return bool(self.batch.files)

    @property
    def changes_config(self) -> bool:
        return self.texts[0] != self.texts[1]

    @property
    def changes_files(self) -> bool:
        return self.changes_config or any(change.action != "unchanged" for change in self.changes)

    @property
    def consequences(self) -> list[str]:
        """A person must not miss them: servers that are switched off, and those that would not start and stay."""
        return [*self.batch.consequences, *(line for rules in self.rules for line in rules.consequences)]

    def put(self, document: Any) -> None:
        editing.put(document, self.batch.select(config.load(self.paths.config)))
        for rules in self.rules:
            rules.put_beside_servers(document, self.paths.config)


def plan(clients: Sequence[str], options: ServeOptions, paths: Paths, rename: Sequence[tuple[str, str]] = ()) -> Plan:
    """Raises `NotFound` for a client that is not here, and `Unusable` for a file that cannot be read."""
    batch = Import(rename=rename, ways="")
    changes: list[Installation] = []
    stays: list[ClientEntry] = []
    for client in (CLIENTS[name] for name in dict.fromkeys(clients)):
        if not (programs := _programs(client)):
            looked = ", ".join(map(str, client_kinds.own_places(client)))
            hint = f"looked for {looked} and the folder of it; if {client.title} is installed, start it once"
            raise NotFound(f"{client.title} is not here", hint, "client_not_found")
        for home, places in programs:
            for path in places:
                entries = (client_files.entries(ClientFile(path, client)) or []) if path.exists() else []
                own = _own(client, entries)
                stays += [entry for entry in entries if entry.project is not None]
                if path == home or own:
                    section = next((entry.place[:-1] for entry in own), _section(client, path))
                    changes.append(Installation(client, path, None, section, {} if path == home else None))
                    batch.files.append(ClientFile(path, client))
                    batch.entries += own
    heads = [(change, _old_entry(batch, change)) for change in changes if change.entry is not None]
    for change, old in heads:
        name = change.client.name
        batch.variables[name, change.path.parent] = client_config.of_mcpctl(name, old)
    loaded = config.load(paths.config)
    tables = batch.select(loaded)
    servers = [*loaded.servers.values(), *(check_server(name, table) for name, table in tables.items())]
    for change in changes:
        change.take(batch)
    for change, old in heads:
        change.entry = client_config.entry(change.client.name, options, servers, old)
        former = _config_of(change.client, old) if old else paths.config
        is_there = os.path.exists(former)  # noqa: PTH110 - Path.exists raises for a word too long for a path
        change.former = former if is_there and former != paths.config.absolute() else None
    return Plan(paths, batch, changes, stays, policy_import.of_clients(clients, paths))


def plan_in_repository(clients: Sequence[str], options: ServeOptions, paths: Paths) -> Plan:
    """One entry for the file that each client reads in the repository of the current folder, for all who have it: no
    server moves, and nothing of this machine is in it. Raises `WrongUsage` for a client that reads none there."""
    changes = []
    for client in (CLIENTS[name] for name in dict.fromkeys(clients)):
        repository, path = client_kinds.place_in_repository(client)
        section = _section(client, path)
        old = ClientDraft(path, uninstalling.content(path) or b"").at((*section, NAME))
        entry = client_config.entry(client.name, options, old=old if is_mcpctl(old) else None, is_shared=True)
        changes.append(Installation(client, path, repository, section, entry))
    return Plan(paths, Import(rename=(), ways=""), changes, [], [])


def preview(plan: Plan) -> list[str]:
    """The changes of config.toml and of the clients' files as a diff with secrets masked; nothing is written."""
    plan.texts = editing.edited(plan.paths.config, plan.put) if plan.takes_over else plan.texts
    lines = import_preview.between(plan.paths.config, *plan.texts)
    for change in plan.changes:
        lines += change.preview(change.sections)
    return lines


def write(plan: Plan, permit: editing.Permit) -> None:
    """Make the changes, that of config.toml first: no server is ever in neither file. `permit` may raise `Refused`."""
    if plan.changes_config:
        editing.edit(plan.paths.config, plan.put, permit)
    elif plan.takes_over and not plan.paths.config.exists():  # an entry that names it needs it
        editing.replace(plan.paths.config, None, editing.FIRST_LINE, permit)
    for change in plan.changes:
        change.take(plan.batch)  # somebody may have changed config.toml since it was looked at
        change.write(plan.paths)


def rule_remarks(plan: Plan) -> Iterator[str]:
    for rules in plan.rules:
        copy = next((change.backup for change in plan.changes if change.client.name == rules.name), None)
        yield from rules.install_remarks(str(copy) if copy else None)


def rows(plan: Plan) -> list[Row]:
    return [change.row(change.names, change.entry) for change in plan.changes]


def summary(plan: Plan) -> Iterator[str]:
    """The changes in words, once they were looked at; last comes what a person must not miss."""
    parts = {
        "note": _notes(plan),
        "moves into config.toml": _moves(plan) if plan.takes_over else (),
        "goes into the repository": () if plan.takes_over else _goes_in(plan),
        "stays where it is": _stays(plan),
        "does not work, or not yet": broken(plan),
    }
    for title, each in parts.items():
        if lines := list(each):
            yield f"{title}:"
            yield from (f"  {line}" for line in lines)


def broken(plan: Plan) -> list[str]:
    """Servers that are switched off by it, or do not start."""
    stays = list(_stays(plan))
    return [line for line in plan.consequences if line not in stays]


def _moves(plan: Plan) -> Iterator[str]:
    for change in plan.changes:
        names = beginning(change.names, _TOLD) or "no server, only an entry goes in"
        what = names if change.action != "unchanged" else "nothing: it is in already"
        yield f"{change.client.title}: {what} ({change.path})"


def _goes_in(plan: Plan) -> Iterator[str]:
    for change in plan.changes:
        what = "an entry for all who have it" if change.action != "unchanged" else "nothing: it is in already"
        condition = f"; {change.client.condition}" if change.client.condition else ""
        yield f"{change.client.title}: {what} ({change.path}){condition}"


def _stays(plan: Plan) -> Iterator[str]:
    rows = (row for row in plan.batch.rows if row["action"] not in importing.TAKEN and row["why"] != importing.ITSELF)
    yield from importing.remarks(rows, "stays there")
    for entry in plan.stays:
        yield (
            f"{entry.file.source}: '{entry.name}' is only for {entry.project} and stays there; "
            f"take it over for all projects with: mcpctl servers import --from {entry.file.source}"
        )


def _notes(plan: Plan) -> Iterator[str]:
    rows = (row for row in plan.batch.rows if row["action"] in importing.TAKEN)
    # Rules are reported once they are written.
    ours = ({**row, "notes": [note for note in row["notes"] if note != NEEDS_RULES]} for row in rows)
    yield from importing.remarks(ours)
    for change in plan.changes:
        if change.former:
            yield f"{change.client.name}: its entry used {change.former} so far; the servers there stay there"
    names = {entry.name for entry in plan.batch.entries}
    for old, _ in plan.batch.rename:
        if old not in names:
            yield f"--rename {old}: no server of that name is in the files"


def check_clients(names: Iterable[str]) -> None:
    for name in names:
        if name not in CLIENTS:
            raise WrongUsage(f"there is no client '{name}'", f"clients: {', '.join(CLIENTS)}")


def here() -> Iterator[Row]:
    """A row for each program on this machine that is a client: its file, its servers, and whether mcpctl is in it."""
    for client in CLIENTS.values():
        for home, places in _programs(client):
            problem, entries = None, list[ClientEntry]()
            try:
                for path in filter(Path.exists, places):
                    entries += _own(client, client_files.entries(ClientFile(path, client)) or [])
            except Unusable as error:
                problem = error.message
            names = [entry.name for entry in entries if not is_mcpctl(entry.value)]
            installed = len(names) < len(entries)
            command = f"mcpctl install {client.name}" if not problem and (names or not installed) else None
            values = client.name, installed, len(names), names, str(home), command, problem
            yield dict(zip(CLIENT_FIELDS, values, strict=True))


def _programs(client: ClientKind) -> list[tuple[Path, list[Path]]]:
    """The file into which mcpctl goes of each program of a client that is installed, and that with its other files."""
    by_folder: dict[Path, list[Path]] = {}
    for path in client_kinds.own_places(client):
        by_folder.setdefault(path.parent, []).append(path)
    programs = []
    for places in by_folder.values():
        if any(client_kinds.is_here(client, path) for path in places):
            home = client_kinds.home_of(client, places)
            programs.append((home, list(dict.fromkeys((home, *places)))))
    return programs


def _own(client: ClientKind, entries: Iterable[ClientEntry]) -> list[ClientEntry]:
    """The entries that are the user's own, and in force."""
    read = [(client.section,), *([("mcp", "servers")] if client.name in ("vscode", "opencode") else [])]
    return [entry for entry in entries if entry.project is None and entry.place[:-1] in read]


def _section(client: ClientKind, path: Path) -> Place:
    if client.name == "opencode":
        newer = ("mcp", "servers")
        if isinstance(ClientDraft(path, uninstalling.content(path) or b"").at(newer), dict):
            return newer
    return (client.section,)


def _old_entry(batch: Import, change: Installation) -> Any:
    own = change.path, NAME
    ours = {(entry.file.path, entry.name): entry.value for entry in batch.entries
            if entry.file.path.parent == change.path.parent and is_mcpctl(entry.value)}  # fmt: skip
    return ours.get(own, next(iter(ours.values()), None))


def _config_of(client: ClientKind, entry: dict[str, Any]) -> Path:
    env = dict(os.environ) if client.from_shell else {}
    for key in ("env", "environment"):
        if isinstance(entry.get(key), dict):
            env.update({name: str(value) for name, value in entry[key].items()})
    return client_config.config_file(client_config.start_words(entry), env).absolute()


def _updated(old: Any, new: dict[str, Any]) -> dict[str, Any]:
    """The entry with what the client or a person has added to the old one, such as tools that need no question."""
    if not is_mcpctl(old):
        return new
    merged = {**old, **new}
    for key in ("env", "environment"):
        if isinstance(old.get(key), dict):
            # The old ones would lead mcpctl to a config.toml into which nothing was taken over.
            theirs = {name: value for name, value in old[key].items() if name not in client_config.VARIABLES}
            merged[key] = {**theirs, **new.get(key, {})}
            if not merged[key]:
                del merged[key]
    return merged
