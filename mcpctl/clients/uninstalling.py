"""`uninstall`: the entry for mcpctl goes from a client's files, and the servers that they had come back."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from mcpctl.base import files
from mcpctl.base.models import Row
from mcpctl.base.paths import Paths
from mcpctl.clients import client_kinds, import_preview, install_state, installing, restoring
from mcpctl.clients.client_draft import Draft
from mcpctl.clients.client_kinds import CLIENTS, ClientKind
from mcpctl.clients.install_state import Installed


@dataclass
class FileChange:
    """One file of a client, and what happens to it."""

    client: ClientKind
    path: Path
    kept: Installed | None
    """What is known of the installation; None if it was made by hand, or its record is gone."""
    action: str = "unchanged"
    backup: Path | None = None

    def apply(self, before: bytes | None) -> bytes | None:
        """The file's new bytes, or None if it goes; the file may have changed since it was looked at."""
        if before is None:
            self.action = "unchanged"
            return None
        if self.kept is None:
            draft = Draft(self.path, before)
            self.action = "removed" if restoring.without_mcpctl(draft) else "unchanged"
            return draft.data if self.action == "removed" else before
        after = restoring.restored(self.kept, before)
        is_exact = before == self.kept.after
        self.action = "deleted" if after is None else "restored" if is_exact else "merged"
        if after == before:
            self.action = "unchanged"
        return after


def plan(clients: Sequence[str], paths: Paths) -> list[FileChange]:
    """The files that an installation has changed, or in which there is an entry for mcpctl."""
    changes = []
    for client in (CLIENTS[name] for name in dict.fromkeys(clients)):
        kept = {each.path: each for each in install_state.every(paths, client.name)}
        places = dict.fromkeys([*kept, *client_kinds.own_places(client)])
        changes += [FileChange(client, path, kept.get(path)) for path in places if path in kept or path.exists()]
    return changes


def preview(changes: Sequence[FileChange]) -> list[str]:
    """The changes as a diff with secrets masked; nothing is written."""
    lines: list[str] = []
    for change in changes:
        before = installing.read(change.path)
        after = change.apply(before)
        texts = installing.text(before), installing.text(after)
        lines += import_preview.of_client(change.path, *texts, list(restoring.SECTIONS))
    return lines


def write(changes: Sequence[FileChange], paths: Paths) -> None:
    """Make the changes, and forget what was kept of the files."""
    for change in changes:
        if change.action != "unchanged":
            within = client_kinds.project_of(change.path)
            files.edit(
                change.path,
                lambda before, change=change: _kept(paths, change, before),  # type: ignore[misc]
                installing.HINT,
                within=within,
            )
        install_state.forget(paths, change.client.name, change.path)


def _kept(paths: Paths, change: FileChange, before: bytes | None) -> bytes | None:
    after = change.apply(before)
    if before is not None and after != before:
        change.backup = install_state.copy(paths, change.client.name, change.path, before, change.backup)
    return after


def rows(changes: Sequence[FileChange]) -> list[Row]:
    """A row for each file that had mcpctl in it."""
    return [installing.row_of(change.client, change.path, change.action, _back(change), None, change.backup)
            for change in changes if change.kept or change.action != "unchanged"]  # fmt: skip


def _back(change: FileChange) -> list[str]:
    """The names of the servers that the file had before."""
    if change.kept is None or change.action == "unchanged":
        return []
    older, after = (Draft(change.path, data or b"") for data in (change.kept.before, change.kept.after))
    return list(restoring.taken(older, after))


def remarks(changes: Sequence[FileChange]) -> Iterator[str]:
    """What a person should know."""
    for change in changes:
        if change.kept is None and change.action == "removed":
            yield (
                f"{change.path}: nothing is known of what was there before mcpctl; only its entry goes, and the servers"
                " in config.toml do not come back"
            )
        elif change.kept and not change.path.exists():
            yield f"{change.path} is gone; nothing is made of it"
