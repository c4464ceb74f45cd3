"""`uninstall`: the entry for mcpctl goes from a client's files, and the servers that they had come back."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mcpctl.base.models import Row
from mcpctl.base.paths import Paths
from mcpctl.clients import client_kinds, installed_files, installing
from mcpctl.clients.client_draft import ClientDraft
from mcpctl.clients.client_kinds import CLIENTS
from mcpctl.clients.installed_files import SECTIONS, FileChange, Installed


@dataclass
class Removal(FileChange):
    kept: Installed | None
    """None if the installation was made by hand, or its record is gone."""

    def apply(self, before: bytes | None) -> bytes | None:
        if before is None:
            self.action = "unchanged"
            return None
        if self.kept is None:
            draft = ClientDraft(self.path, before)
            self.action = "removed" if installed_files.without_mcpctl(draft) else "unchanged"
            return draft.data if self.action == "removed" else before
        after = installed_files.restored(self.kept, before)
        is_exact = before == self.kept.after
        self.action = "deleted" if after is None else "restored" if is_exact else "merged"
        if after == before:
            self.action = "unchanged"
        return after


def plan(clients: Sequence[str], paths: Paths) -> list[Removal]:
    """The files that an installation has changed, or in which there is an entry for mcpctl."""
    changes = []
    for client in (CLIENTS[name] for name in dict.fromkeys(clients)):
        kept = {each.path: each for each in installed_files.every(paths, client.name)}
        places = dict.fromkeys([*kept, *client_kinds.own_places(client)])
        changes += [Removal(client, path, kept.get(path)) for path in places if path in kept or path.exists()]
    return changes


def preview(changes: Sequence[Removal]) -> list[str]:
    return [line for change in changes for line in change.preview(SECTIONS)]


def write(changes: Sequence[Removal], paths: Paths) -> None:
    for change in changes:
        change.write(paths)
        installed_files.forget(paths, change.client.name, change.path)


def rows(changes: Sequence[Removal]) -> list[Row]:
    return [installing.row_of(change.client, change.path, change.action, _back(change), None, change.backup)
            for change in changes if change.kept or change.action != "unchanged"]  # fmt: skip


def _back(change: Removal) -> list[str]:
    if change.kept is None or change.action == "unchanged":
        return []
    older, after = (ClientDraft(change.path, data or b"") for data in (change.kept.before, change.kept.after))
    return list(installed_files.taken(older, after))


def remarks(changes: Sequence[Removal]) -> Iterator[str]:
    for change in changes:
        if change.kept is None and change.action == "removed":
            yield (
                f"{change.path}: nothing is known of what was there before mcpctl; only its entry goes, and the servers"
                " in config.toml do not come back"
            )
        elif change.kept and not change.path.exists():
            yield f"{change.path} is gone; nothing is made of it"
