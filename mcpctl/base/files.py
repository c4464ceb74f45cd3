"""Files of people and of strangers: read up to a size limit, changed under a lock, and never half written."""

import contextlib
import errno
import os
import re
import stat
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from mcpctl.base import posix
from mcpctl.base.errors import NotFound, Refused, Unusable, WrongUsage
from mcpctl.base.paths import cannot_write, private_dir

MAX_BYTES = 16 << 20  # for a file that a person writes, such as a configuration or a toolset
MAX_LARGE_BYTES = 64 << 20  # for a file that a program writes, such as an exported catalog or a client's state
BOM = "\ufeff"
_KINDS = {
    stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}  # fmt: skip
_MAX_NAME = 50  # characters of a file's name that the temporary file repeats: its own name may have 255 bytes
_MOST_TRIES = 200
_AT_REST_NS = 3 * 10**9  # no file system's clock is coarser than two seconds
_BESIDE = re.compile(r"\..{1,50}\.[0-9a-f]{16}\.new", re.DOTALL)

Change = Callable[[bytes | None], bytes | None]  # from the old content of a file to the new; None is no file


@contextlib.contextmanager
def claimed(path: Path) -> Iterator[int | None]:
    """The descriptor of a file that nobody else can claim while the block lasts; None where another process has."""
    private_dir(path.parent)
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise cannot_write(path, error) from error
    try:
        yield fd if posix.lock(fd) else None
    finally:
        os.close(fd)


def read(path: Path, most: int = MAX_BYTES, code: str = "file_unreadable") -> bytes:
    """Raises `NotFound` if it does not exist, and `Unusable` with `code` if it has more than `most` bytes, cannot be
    read, or is not a regular file: a pipe would block, and a device never ends."""
    try:
        with posix.opened(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY) as fd:
            return _content(fd, path, most, code)
    except (FileNotFoundError, NotADirectoryError):
        raise NotFound(f"there is no file {path}", "check the name", "file_not_found") from None
    except OSError as error:
        raise Unusable(f"cannot read {path}: {error.strerror}", "make it readable", code) from error
    except ValueError as error:  # a name with a NUL in it
        raise Unusable(f"cannot read {str(path)!r}: {error}", "check the name", code) from error


def read_text(path: Path, most: int = MAX_BYTES, code: str = "file_unreadable") -> str:
    """The UTF-8 text of a file, with its byte order mark; raises the errors of `read`."""
    try:
        return read(path, most, code).decode()
    except UnicodeDecodeError as error:
        raise Unusable(f"cannot read {path}: it is not UTF-8", "save it as UTF-8", code) from error


def read_stdin(most: int = MAX_BYTES) -> str:
    text = sys.stdin.read(most + 1)
    if len(text) > most:
        size = f"{most >> 20} MB" if most >> 20 else f"{most:,} characters"
        raise WrongUsage(f"stdin has more than {size}", "pass less text", "stdin_too_large")
    return text


def _content(fd: int, path: Path, most: int, code: str) -> bytes:
    kind = stat.S_IFMT(os.fstat(fd).st_mode)
    if kind != stat.S_IFREG:
        message = f"cannot read {path}: it is {_KINDS.get(kind, 'something else')}, not a regular file"
        raise Unusable(message, "name a regular file", code)
    parts: list[bytes] = []
    remaining = most + 1
    # In parts, since Python allocates the whole size before it reads.
    while remaining and (part := os.read(fd, min(remaining, 1 << 20))):
        parts.append(part)
        remaining -= len(part)
    if not remaining:
        size = f"{most >> 20} MB" if most >> 20 else f"{most >> 10} kB"
        raise Unusable(f"cannot read {path}: it is larger than {size}", "name another file", code)
    return b"".join(parts)


def edit(path: Path, change: Change, hint: str, *, private: bool = True, within: Path | None = None) -> None:
    """Replace a file's content by the result of `change`; None stands for no file, before and after. The steps are
    lock, read, change, write beside, fsync, compare, rename: edits at the same time lose nothing, and a crash leaves a
    whole file. If a program without locks writes meanwhile, its content is changed. A file keeps its mode and its
    owner. A new file and the folders made for it are readable only by their owner, unless `private` is false. A link is
    followed and stays a link; with `within`, it must lead to an existing file in that folder. Raises `Unusable` with
    `hint` if the edit fails, and `Refused` for a link that leads elsewhere."""
    try:
        changed = target(path, within)
        if not any(_try_edit(changed, change, private) for _ in range(_MOST_TRIES)):
            raise Unusable(f"{path} was changed {_MOST_TRIES} times meanwhile", "try again later", "file_busy")
    except OSError as error:
        raise cannot_write(path, error, hint) from error


def create(path: Path, content: bytes, *, replaces: bool) -> None:
    """Write a new file; raises `Unusable` where there is one, unless it `replaces` that, and `Refused` for a link."""
    hint = "choose another file"
    if replaces:
        edit(path, lambda _: content, hint, private=False, within=path.absolute().parent)
        return
    try:
        is_new = _create(path, content, private=False)
    except OSError as error:
        raise cannot_write(path, error, hint) from error
    if not is_new:
        raise there_is(path)


def there_is(path: Path) -> Unusable:
    return Unusable(f"{path} exists already", "overwrite it with --force, or choose another name", "file_exists")


def target(path: Path, within: Path | None) -> Path:
    """The file that a link leads to; raises `Refused` if it does not exist in `within`, `OSError` for a circle."""
    try:
        target = path.resolve()
        is_circle = target.is_symlink()  # as Python 3.13 resolves links in a circle
    except RuntimeError:  # as older ones do
        is_circle = True
    if is_circle:
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    if within is not None:
        if not target.is_relative_to(within.resolve()):
            message = f"{path} leads to {target}, which is outside of {within}"
            raise Refused(message, f"if that is the file you mean, name it: {target}", "leads_outside")
        if path.is_symlink() and not target.exists():
            raise Refused(
                f"{path} is a link to {target}, which does not exist", "delete the link first", "leads_nowhere"
            )
    return target


def _try_edit(path: Path, change: Change, private: bool) -> bool:
    """False if another process has changed the file since this edit opened it."""
    try:
        fd = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except FileNotFoundError:
        return _create(path, change(None), private)
    try:
        # The file itself is locked: a lock file beside it would stay in people's repositories.
        posix.lock(fd, wait=True)
        if not is_at(path, fd):
            return False
        before = _content(fd, path, MAX_LARGE_BYTES, "file_unreadable")
        after = change(before)
        if after == before:
            return True
        if after is None:
            if not _still_has(path, before):
                return False
            path.unlink()
            _sync_folder(path.parent)
        elif not _replace(path, after, os.fstat(fd), before):
            return False
    finally:
        os.close(fd)
    _sweep(path.parent)
    return True


def _replace(path: Path, content: bytes, old: os.stat_result, before: bytes) -> bool:
    """False if the file no longer has the bytes that it had."""
    with beside(path) as (fd, new):
        if (old.st_uid, old.st_gid) != (os.geteuid(), os.getegid()):
            with contextlib.suppress(PermissionError):
                os.fchown(fd, old.st_uid, old.st_gid)
        os.fchmod(fd, stat.S_IMODE(old.st_mode) & 0o777)
        _fill(fd, content)
        is_unchanged = _still_has(path, before)
        if is_unchanged:
            new.rename(path)
    _sync_folder(path.parent)
    return is_unchanged


def _still_has(path: Path, content: bytes) -> bool:
    try:
        return read(path, MAX_LARGE_BYTES) == content
    except NotFound:
        return False


def _create(path: Path, content: bytes | None, private: bool) -> bool:
    if not content:
        return True
    folders: list[Path] = []
    try:
        _make_folders(path.parent, 0o700 if private else 0o777, folders)
        with beside(path, 0o600 if private else 0o666) as (fd, new):
            _fill(fd, content)
            posix.put(new, path)
    except FileExistsError:
        return False
    except BaseException:
        for folder in reversed(folders):
            with contextlib.suppress(OSError):
                folder.rmdir()
        raise
    _sync_folder(path.parent)
    _sweep(path.parent)
    return True


def _make_folders(folder: Path, mode: int, created: list[Path]) -> None:
    for missing in reversed([parent for parent in (folder, *folder.parents) if not parent.exists()]):
        with contextlib.suppress(FileExistsError):
            missing.mkdir(mode=mode)
            created.append(missing)


@contextlib.contextmanager
def beside(path: Path, mode: int = 0o600) -> Iterator[tuple[int, Path]]:
    """A new file, open and locked, which is gone after the block unless it has got another name."""
    fd, new = create_beside(path, mode)
    try:
        yield fd, new
    finally:
        new.unlink(missing_ok=True)
        os.close(fd)


def create_beside(path: Path, mode: int = 0o600, *, shared: bool = False, must_lock: bool = False) -> tuple[int, Path]:
    """A descriptor of a new file beside another, and that file, locked while its writer lives; its name is random."""
    while True:
        new = path.with_name(f".{path.name[:_MAX_NAME]}.{os.urandom(8).hex()}.new")
        fd = os.open(new, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
        try:
            posix.lock(fd, shared=shared, wait=True)
        except OSError:
            if must_lock:
                os.close(fd)
                new.unlink(missing_ok=True)
                raise
        if is_at(new, fd):
            return fd, new
        os.close(fd)  # another process swept it before it was locked


def _fill(fd: int, content: bytes) -> None:
    posix.write(fd, content)
    os.fsync(fd)


def _sync_folder(folder: Path) -> None:
    with contextlib.suppress(OSError):
        posix.sync_folder(folder)


def _sweep(folder: Path) -> None:
    """Remove the files of killed writers: those of our own that no process has locked."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for leftover in [Path(entry.path) for entry in entries if _BESIDE.fullmatch(entry.name)]:
            with contextlib.suppress(OSError):
                fd = os.open(leftover, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
                try:
                    status = os.fstat(fd)
                    is_ours = stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid()
                    if is_ours and posix.lock(fd) and is_at(leftover, fd):
                        leftover.unlink()
                finally:
                    os.close(fd)


def is_at(path: Path, fd: int) -> bool:
    try:
        return os.path.samestat(path.lstat(), os.fstat(fd))
    except FileNotFoundError:
        return False


def stamp(path: Path) -> tuple[int, int, int] | None:
    """A value that changes whenever the file does; None where there is none."""
    try:
        status = os.stat(path)  # noqa: PTH116 - half the time of Path.stat, at every call
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size


def stamp_at_rest(path: Path) -> object:
    """The stamp of a file; one that was written just now equals none, since another write may leave the same stamp."""
    now, last = time.time_ns(), stamp(path)
    return last if last and now - last[1] > _AT_REST_NS else object()
