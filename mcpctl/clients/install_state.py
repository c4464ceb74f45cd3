"""What `install` keeps of a client's file, so that `uninstall` can undo it: its bytes before and after, and copies."""

import contextlib
import datetime
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from mcpctl.base import files
from mcpctl.base.errors import McpctlError
from mcpctl.base.paths import Paths

_MOST_COPIES = 5
_HINT = "make it writable, or name another place with --data-dir or MCPCTL_DATA_DIR"
_NAMED = 12
"""How many digits of the hash of a file's path are in the name of its folder."""


class _About(msgspec.Struct, kw_only=True):
    client: str
    path: str
    before: str | None
    """The hash of the bytes before; None if there was no file."""
    after: str


@dataclass(frozen=True)
class Installed:
    """A client's file before mcpctl was installed in it, or None if there was none, and after."""

    client: str
    path: Path
    before: bytes | None
    after: bytes


def load(paths: Paths, client: str, path: Path) -> Installed | None:
    """What is kept of this file; None if nothing is, or not as it was written."""
    return _read(_folder(paths, client, path))


def every(paths: Paths, client: str) -> Iterator[Installed]:
    """What is kept of the files of a client."""
    for folder in sorted(paths.installs.glob(f"{client}-*")):
        found = _read(folder)
        if found and found.client == client and folder == _folder(paths, client, found.path):
            yield found


def save(paths: Paths, installed: Installed) -> None:
    """Keep this, in place of what was kept of the file before."""
    folder = _folder(paths, installed.client, installed.path)
    before, after = installed.before, installed.after
    about = _About(
        client=installed.client, path=str(installed.path), after=_hash(after),
        before=None if before is None else _hash(before),
    )  # fmt: skip
    # The hashes come last: a crash before leaves files that they do not fit.
    for name, content in (("before", before or None), ("after", after), ("about.json", msgspec.json.encode(about))):
        files.edit(folder / name, lambda _, content=content: content, _HINT)  # type: ignore[misc]


def forget(paths: Paths, client: str, path: Path) -> None:
    """Keep nothing of the file any more, except for its copies."""
    for name in ("about.json", "before", "after"):
        with contextlib.suppress(OSError):
            (_folder(paths, client, path) / name).unlink()


def copy(paths: Paths, client: str, path: Path, content: bytes, place: Path | None) -> Path:
    """Keep a copy of the file as it is, at `place` if that is known from a former try; returns where.

    The oldest copies go.
    """
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
    return Installed(about.client, Path(about.path), None if about.before is None else before, after)


def _folder(paths: Paths, client: str, path: Path) -> Path:
    return paths.installs / f"{client}-{_hash(str(path).encode())[:_NAMED]}"


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
