"""Files that people keep, config.toml and toolsets: changed under a lock, and whole at every moment."""

import os
from collections.abc import Callable
from pathlib import Path

from mcpctl import posix
from mcpctl.paths import cannot_write, private_dir


def edit(path: Path, change: Callable[[bytes | None], bytes], hint: str, *, mode: int = 0o600) -> None:
    """Put in place of a file's content what `change` makes of it; it is given None where there is no file.

    Lock, read, change, write beside, fsync, rename: edits at once lose nothing, a crash leaves a whole file. Nothing
    is written where nothing changes. `mode` is that of a new file. Raises `Unusable` with `hint` when it fails.
    """
    path = path.resolve()
    private_dir(path.parent, hint)
    try:
        while not _edited(path, change, mode):
            pass
    except OSError as error:
        raise cannot_write(path, error, hint) from error


def _edited(path: Path, change: Callable[[bytes | None], bytes], mode: int) -> bool:
    """Whether it is done; False when another edit has put a new file there since this one was opened."""
    try:
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return _created(path, change(None), mode)
    with os.fdopen(fd, "rb") as file:
        # The file itself is the lock: one beside it would be left behind in people's repositories.
        posix.lock(fd, wait=True)
        if not _is_at(path, fd):
            return False
        before = file.read()
        after = change(before)
        if after != before:
            mode = os.fstat(fd).st_mode & 0o777
            beside = _written(path.with_name(f".{path.name}.new"), after, mode)
            beside.chmod(mode)  # whatever the umask
            beside.rename(path)
    return True


def _created(path: Path, content: bytes, mode: int) -> bool:
    if not content:
        return True
    beside = _written(path.with_name(f".{path.name}.{os.getpid()}.new"), content, mode)
    try:
        os.link(beside, path)  # unlike a rename, it puts nothing in the place of what another has created meanwhile
    except FileExistsError:
        return False
    except OSError:
        beside.rename(path)  # a file system that has no links
    finally:
        beside.unlink(missing_ok=True)
    return True


def _is_at(path: Path, fd: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(fd))
    except FileNotFoundError:
        return False


def _written(beside: Path, content: bytes, mode: int) -> Path:
    fd = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, mode)
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(fd)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    return beside
