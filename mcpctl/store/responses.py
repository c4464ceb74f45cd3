"""Whole answers of which a client got a part: a file a call, in a folder a session. Not part of the record.

A file is one line of JSON that says whose it is, and then the result byte for byte. Secrets are not redacted in it.
"""

import contextlib
import errno
import os
import re
from pathlib import Path
from typing import NamedTuple

import msgspec

from mcpctl.base import bounds, files, posix
from mcpctl.base.errors import McpctlError
from mcpctl.base.paths import Paths, private_dir

_MIB = 1 << 20
_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_LONGEST_OWNER = 1 << 16


class ResponseOwner(msgspec.Struct, frozen=True, kw_only=True):
    session_id: str
    server: str
    tool: str
    project: str = ""
    token_id: str = ""

    def lets(self, other: "ResponseOwner") -> bool:
        """Whether another may read it: in the same session, for the same project, or with the same token."""
        return (
            (self.session_id, self.token_id) == (other.session_id, other.token_id)
            or (self.project != "" and self.project == other.project)
            or (self.token_id != "" and self.token_id == other.token_id)
        )


class Kept(NamedTuple):
    owner: ResponseOwner
    result: bytes


_owner: msgspec.json.Decoder[ResponseOwner] = msgspec.json.Decoder(ResponseOwner)


def is_id(text: str) -> bool:
    """Whether a text can be the id of a call, and so be in a path."""
    return _ID.fullmatch(text) is not None


def keep(
    paths: Paths, call_id: str, owner: ResponseOwner, result: bytes | memoryview, *, keep_mb: int, fsync: bool = False
) -> None:
    """Write a result to disk at once; the oldest make room. Raises OSError, or `Unusable` for one that is too large."""
    line = msgspec.json.encode(owner) + b"\n"
    if keep_mb:
        _make_room(paths, keep_mb * _MIB - len(line) - len(result))
    path = _path(paths, owner.session_id, call_id)
    private_dir(path.parent)
    with files.beside(path) as (fd, beside):
        posix.write(fd, line, result)
        if fsync:
            os.fsync(fd)
        beside.rename(path)


def find(paths: Paths, call_id: str, session_id: str = "") -> Kept | None:
    """The answer of a call, looked for in this session first; None where it is not kept, or not any more."""
    if not is_id(call_id):
        return None
    sessions = [session_id] if session_id else []
    sessions += [folder.name for folder in _folders(paths)]
    for session in dict.fromkeys(sessions):
        with contextlib.suppress(McpctlError, msgspec.DecodeError):
            text = files.read(_path(paths, session, call_id), bounds.MESSAGE + _LONGEST_OWNER)
            line, _, result = text.partition(b"\n")
            return Kept(_owner.decode(line), result)
    return None


def drop(paths: Paths, session_id: str, call_id: str) -> None:
    with contextlib.suppress(OSError):
        _path(paths, session_id, call_id).unlink()


def sweep(paths: Paths) -> None:
    folders = _folders(paths)
    if not folders:
        return
    try:
        journals = os.listdir(paths.sessions)  # noqa: PTH208 - names are all that is needed
    except OSError:
        return
    import shutil  # 3 ms, and nearly always there is nothing to remove

    # Looked at after the folders: a session has its journal before anything of it is kept.
    on_record = {name.removesuffix(".jsonl").partition("_")[2] for name in journals}
    for folder in folders:
        if folder.name not in on_record:
            shutil.rmtree(folder, ignore_errors=True)


def _make_room(paths: Paths, room: int) -> None:
    if room < 0:
        raise OSError(errno.EFBIG, "it is larger than keep_mb")
    kept: list[tuple[float, int, Path]] = []
    for folder in _folders(paths):
        with contextlib.suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                status = entry.stat(follow_symlinks=False)
                kept.append((status.st_mtime, status.st_size, Path(entry.path)))
    used = sum(size for _, size, _ in kept)
    for _, size, path in sorted(kept):
        if used <= room:
            return
        path.unlink(missing_ok=True)
        used -= size


def _folders(paths: Paths) -> list[Path]:
    try:
        with os.scandir(paths.responses) as entries:
            return [Path(entry.path) for entry in entries if is_id(entry.name) and entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []


def _path(paths: Paths, session_id: str, call_id: str) -> Path:
    return paths.responses / session_id / f"{call_id}.json"
