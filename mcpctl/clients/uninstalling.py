"""`uninstall`: mcpctl goes from a client's file, and its servers come back, by the record that `install` keeps.

The record has the bytes of the file before and after the installation, and copies.
"""

import contextlib
import datetime
import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec

from mcpctl.base import files
from mcpctl.base.errors import McpctlError, NotFound
from mcpctl.base.models import INSTALL_FIELDS, Row
from mcpctl.base.paths import Paths
from mcpctl.base.texts import beginning
from mcpctl.clients import client_config, client_kinds, import_preview
from mcpctl.clients.client_config import NAME
from mcpctl.clients.client_draft import ClientDraft, Place
from mcpctl.clients.client_kinds import CLIENTS, ClientKind
from mcpctl.clients.entry_translation import is_mcpctl

SECTIONS: list[Place] = [
    ("mcpServers",), ("servers",), ("mcp_servers",), ("context_servers",), ("mcp", "servers"), ("mcp",),
]  # fmt: skip
_MOST_COPIES = 5
_HINT = "make it writable, or name another place with --data-dir or MCPCTL_DATA_DIR"
_NAMED = 12
_TOLD = 20  # servers that a summary names


class _About(msgspec.Struct, kw_only=True):
    client: str
    path: str
    before: str | None  # the hash of the bytes before; None if there was no file
    after: str
    in_repository: bool = False


def content(path: Path) -> bytes | None:
    try:
        return files.read(path, files.MAX_LARGE_BYTES, "client_config")
    except NotFound:
        return None


@dataclass
class FileChange(ABC):
    client: ClientKind
    path: Path
    repository: Path | None  # whose file it is; none for one of the user's own
    action: str = field(default="unchanged", init=False)
    backup: Path | None = field(default=None, init=False)

    @abstractmethod
    def apply(self, before: bytes | None) -> bytes | None:
        """The file's new bytes, or None if it goes; the file may have changed since it was looked at."""

    def preview(self, sections: list[Place]) -> list[str]:
        before = content(self.path)
        old, new = ((data or b"").decode("utf-8-sig") for data in (before, self.apply(before)))
        return import_preview.of_client(self.path, old, new, sections)

    def write(self, paths: Paths) -> None:
        """Make the change, once a copy of the file is kept."""
        if self.action != "unchanged":
            hint = "make it writable; nothing in it has changed"
            files.edit(
                self.path, lambda before: self._applied(paths, before), hint, private=not self.repository,
                within=self.repository or client_kinds.project_of(self.path),
            )  # fmt: skip

    def row(self, servers: list[str], entry: dict[str, Any] | None = None) -> Row:
        client, backup = self.client, str(self.backup) if self.backup else None
        scope = "project" if self.repository else "user"
        command = client_config.add_command(client.name, entry, scope) if entry else None
        values = client.name, str(self.path), self.action, servers, entry, backup, client.restart, command
        return dict(zip(INSTALL_FIELDS, values, strict=True))

    def _applied(self, paths: Paths, before: bytes | None) -> bytes | None:
        after = self.apply(before)
        if before is not None and after != before:
            self.backup = copy(paths, self.client.name, self.path, before, self.backup)
        return after


@dataclass(frozen=True)
class Installed:
    """A client's file before mcpctl was installed in it (None: there was no file), and after."""

    client: str
    path: Path
    before: bytes | None
    after: bytes
    in_repository: bool = False


def load(paths: Paths, client: str, path: Path) -> Installed | None:
    """The record of this file; None if there is none, or not as it was written."""
    return _read(_folder(paths, client, path))


def every(paths: Paths, client: str, *, in_repository: bool = False) -> Iterator[Installed]:
    """The records of the user's own files of a client, or of its files of repositories."""
    for folder in sorted(paths.installs.glob(f"{client}-*")):
        record = _read(folder)
        is_whole = record and record.client == client and folder == _folder(paths, client, record.path)
        if record and is_whole and record.in_repository is in_repository:
            yield record


def save(paths: Paths, installed: Installed) -> None:
    folder = _folder(paths, installed.client, installed.path)
    before, after = installed.before, installed.after
    about = _About(
        client=installed.client, path=str(installed.path), after=_hash(after),
        before=None if before is None else _hash(before), in_repository=installed.in_repository,
    )  # fmt: skip
    # The hashes come last: a crash before leaves files that they do not fit.
    for name, content in (("before", before or None), ("after", after), ("about.json", msgspec.json.encode(about))):
        files.edit(folder / name, lambda _, content=content: content, _HINT)  # type: ignore[misc]


def forget(paths: Paths, client: str, path: Path) -> None:
    for name in ("about.json", "before", "after"):
        with contextlib.suppress(OSError):
            (_folder(paths, client, path) / name).unlink()


def copy(paths: Paths, client: str, path: Path, content: bytes, place: Path | None) -> Path:
    folder = _folder(paths, client, path) / "copies"
    stamp = datetime.datetime.now(datetime.UTC).strftime("%Y%m%dT%H%M%S.%fZ")
    place = place or folder / f"{stamp}-{path.name}"
    files.edit(place, lambda _: content, _HINT)
    for oldest in sorted(folder.glob(f"*-{path.name}"))[:-_MOST_COPIES]:
        with contextlib.suppress(OSError):
            oldest.unlink()
    return place


def _read(folder: Path) -> Installed | None:
    try:
        about = msgspec.json.decode(files.read(folder / "about.json"), type=_About)
        after = files.read(folder / "after", files.MAX_LARGE_BYTES)
        is_empty = about.before in (None, _hash(b""))
        before = b"" if is_empty else files.read(folder / "before", files.MAX_LARGE_BYTES)
    except (McpctlError, msgspec.MsgspecError, UnicodeDecodeError):
        return None
    if _hash(after) != about.after or about.before not in (None, _hash(before)):
        return None
    older = None if about.before is None else before
    return Installed(about.client, Path(about.path), older, after, about.in_repository)


def _folder(paths: Paths, client: str, path: Path) -> Path:
    return paths.installs / f"{client}-{_hash(str(path).encode())[:_NAMED]}"


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def restored(installed: Installed, current: bytes) -> bytes | None:
    """The bytes of a client's file without mcpctl and with its former servers; None for no file. A file without changes
    since is as it was, byte for byte. Else the lines that the installation changed are as they were if nobody has
    touched them. If somebody has, the entry for mcpctl goes, and the former servers come back in their own words, but
    not over a new one."""
    installed = _in_line_ends_of(current, installed)
    if current == installed.after:
        return installed.before
    draft, older, after = _drafts(installed.path, current, installed.before, installed.after)
    changed = [section for section in SECTIONS if older.at(section) != after.at(section)]
    # Where somebody has put a server back, the lines that had it would be there twice.
    is_partly_back = any(name in draft.servers(section) for section in changed
                         for name in _taken(older, after, section) if name != NAME)  # fmt: skip
    for section in changed:
        _restore(draft, older, after, section)
    if installed.before is None and not draft.value:
        return None
    if not is_partly_back:
        draft.prefer(_unhunked(older.text, after.text, ClientDraft(installed.path, current).text))
    return draft.data


def is_undone(installed: Installed, current: bytes) -> bool:
    """Whether somebody has undone an installation by hand: nothing starts mcpctl, and a former server is back."""
    draft, older, after = _drafts(installed.path, current, installed.before, installed.after)
    servers = {(section, name): value for section in SECTIONS for name, value in draft.servers(section).items()}
    is_back = any((section, name) in servers for section in SECTIONS for name in _taken(older, after, section))
    return is_back and not any(map(is_mcpctl, servers.values()))


def _in_line_ends_of(current: bytes, installed: Installed) -> Installed:
    def written(data: bytes) -> bytes:
        plain = data.replace(b"\r\n", b"\n")
        return plain.replace(b"\n", b"\r\n") if b"\r\n" in current else plain

    if (b"\r\n" in current) == (b"\r\n" in installed.after):
        return installed
    before = written(installed.before) if installed.before else installed.before
    return replace(installed, before=before, after=written(installed.after))


def _restore(draft: ClientDraft, older: ClientDraft, after: ClientDraft, section: Place) -> None:
    names = list(older.servers(section))
    # A person may have given the entry another name; one that was there before is theirs.
    ours = [name for name, value in draft.servers(section).items()
            if is_mcpctl(value) and (name == NAME or name not in names)]  # fmt: skip
    draft.drop((*section, name) for name in ours)
    for number, name in reversed(list(enumerate(names))):
        is_taken = name == NAME or name in _taken(older, after, section)
        if is_taken and name not in draft.servers(section):
            following = next((later for later in names[number + 1 :] if later in draft.servers(section)), None)
            draft.copy(older, (*section, name), following)
    # The header of a table without entries is a person's own.
    if draft.at(section) == {} and not older.has(section) and not draft.is_toml:
        draft.drop([section])


def _drafts(path: Path, *contents: bytes | None) -> Iterator[ClientDraft]:
    return (ClientDraft(path, content or b"") for content in contents)


def _taken(older: ClientDraft, after: ClientDraft, section: Place) -> list[str]:
    return [name for name in older.servers(section) if name not in after.servers(section)]


def _unhunked(older: str, after: str, current: str) -> str:
    """The text, its lines of `after` changed back to those of `older`; empty if they are not there just once."""
    old, new = older.splitlines(keepends=True), after.splitlines(keepends=True)
    head = import_preview.alike(old, new)
    tail = import_preview.alike(old[head:][::-1], new[head:][::-1])
    lines = "".join(new[head : len(new) - tail])
    if not lines.strip() or current.count(lines) != 1:
        return ""
    return current.replace(lines, "".join(old[head : len(old) - tail]))


@dataclass
class Removal(FileChange):
    kept: Installed | None  # none if the installation was made by hand, or its record is gone

    def apply(self, before: bytes | None) -> bytes | None:
        self.action = "unchanged"
        if before is None:
            return None
        if self.kept is None:
            draft = ClientDraft(self.path, before)
            places = [(*section, name) for section in SECTIONS for name, value in draft.servers(section).items()
                      if is_mcpctl(value)]  # fmt: skip
            if not places:
                return before
            self.action = "removed"
            draft.drop(places)
            return draft.data
        after = restored(self.kept, before)
        if after is None:
            self.action = "deleted"
        elif after != before:
            self.action = "restored" if before == self.kept.after else "merged"
        return after


def plan(clients: Sequence[str], paths: Paths, *, in_repository: bool = False) -> list[Removal]:
    """The changes of the user's own files, or of those of the repository that the current folder is in. Raises
    `WrongUsage` for a client that reads none of a repository."""
    changes = []
    for client in (CLIENTS[name] for name in dict.fromkeys(clients)):
        kept = {record.path: record for record in every(paths, client.name, in_repository=in_repository)}
        repository, places = None, list(dict.fromkeys([*kept, *client_kinds.own_places(client)]))
        if in_repository:
            repository, place = client_kinds.place_in_repository(client)
            places = [place]
        found = [path for path in places if path in kept or path.exists()]
        changes += [Removal(client, path, repository, kept.get(path)) for path in found]
    return changes


def preview(changes: Sequence[Removal]) -> list[str]:
    return [line for change in changes for line in change.preview(SECTIONS)]


def write(changes: Sequence[Removal], paths: Paths) -> None:
    for change in changes:
        change.write(paths)
        forget(paths, change.client.name, change.path)


def rows(changes: Sequence[Removal]) -> list[Row]:
    return [change.row(_back(change)) for change in changes if change.kept or change.action != "unchanged"]


def _back(change: Removal) -> list[str]:
    if change.kept is None or change.action == "unchanged":
        return []
    older, after = _drafts(change.path, change.kept.before, change.kept.after)
    return [name for section in SECTIONS for name in _taken(older, after, section)]


def summary(changes: Sequence[Removal]) -> Iterator[str]:
    for change in changes:
        if change.action != "unchanged":
            names = beginning(_back(change), _TOLD)
            back = f"; {names} {'comes' if len(_back(change)) == 1 else 'come'} back" if names else ""
            yield f"{change.client.title}: mcpctl goes{back} ({change.path})"
        if change.kept is None and change.action == "removed":
            yield (
                f"{change.path}: there is no record of the file before mcpctl; only its entry goes, and the servers"
                " in config.toml do not come back"
            )
        elif change.kept and change.action == "unchanged" and not change.path.exists():
            yield f"{change.path} is gone; nothing is made of it"
