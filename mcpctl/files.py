"""Files that people keep or strangers bring: read in bounds, changed under a lock, and whole at every moment."""

import contextlib
import errno
import os
import re
import stat
import sys
from collections.abc import Callable
from pathlib import Path

from mcpctl import posix
from mcpctl.errors import NotFound, Refused, Unusable, WrongUsage
from mcpctl.paths import cannot_write

MAX_BYTES = 16 << 20
"""What a file has at most that a person writes; configurations, toolsets."""
MAX_LARGE_BYTES = 64 << 20
"""What a file has at most that a program writes: an exported catalog, a client's own state."""
BOM = "\ufeff"
_KINDS = {
    stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}  # fmt: skip
_NAME_KEPT = 50
"""Characters of a file's name that the file written beside it has: both names may have 255 bytes."""
_BESIDE = re.compile(r"\..{1,50}\.[0-9a-f]{16}\.new", re.DOTALL)


def read(path: Path, most: int = MAX_BYTES, code: str = "file_unreadable") -> bytes:
    """The bytes of a regular file.

    Raises `NotFound` when there is none, and `Unusable` with `code` for one that has more than `most` bytes, that may
    not be read, or that is no regular file: a pipe would block, and a device never ends.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        try:
            return _content(fd, path, most, code)
        finally:
            os.close(fd)
    except (FileNotFoundError, NotADirectoryError):
        raise NotFound(f"there is no file {path}", "check the name", "file_not_found") from None
    except OSError as error:
        raise Unusable(f"cannot read {path}: {error.strerror}", "make it readable", code) from error
    except ValueError as error:  # a name with a NUL in it
        raise Unusable(f"cannot read {str(path)!r}: {error}", "check the name", code) from error


def read_text(path: Path, most: int = MAX_BYTES, code: str = "file_unreadable") -> str:
    """The text of a regular file, in UTF-8, a byte order mark included; raises what `read` does."""
    try:
        return read(path, most, code).decode()
    except UnicodeDecodeError as error:
        raise Unusable(f"cannot read {path}: it is not UTF-8", "save it as UTF-8", code) from error


def read_stdin(most: int = MAX_BYTES) -> str:
    """All that is on stdin; raises `WrongUsage` when it has more than `most` characters."""
    text = sys.stdin.read(most + 1)
    if len(text) > most:
        size = f"{most >> 20} MB" if most >> 20 else f"{most:,} characters"
        raise WrongUsage(f"stdin has more than {size}", "give it less", "stdin_too_large")
    return text


def _content(fd: int, path: Path, most: int, code: str) -> bytes:
    kind = stat.S_IFMT(os.fstat(fd).st_mode)
    if kind != stat.S_IFREG:
        told = f"cannot read {path}: it is {_KINDS.get(kind, 'something else')}, not a regular file"
        raise Unusable(told, "name a regular file", code)
    parts: list[bytes] = []
    left = most + 1
    # What is asked for is allotted before it is read.
    while left and (part := os.read(fd, min(left, 1 << 20))):
        parts.append(part)
        left -= len(part)
    if not left:
        size = f"{most >> 20} MB" if most >> 20 else f"{most >> 10} kB"
        raise Unusable(f"cannot read {path}: it is larger than {size}", "name another file", code)
    return b"".join(parts)


def edit(
    path: Path,
    change: Callable[[bytes | None], bytes],
    hint: str,
    *,
    private: bool = True,
    within: Path | None = None,
) -> None:
    """Put in place of a file's content what `change` makes of it; it is given None where there is no file.

    Lock, read, change, write beside, fsync, rename: edits at once lose nothing, a crash leaves a whole file. Nothing
    is written where nothing changes. A file keeps its mode and its owner; a new one is its owner's alone, as are the
    folders made for it, unless it is not `private`. A link is followed, and stays one: `within` a folder only to what
    is there, and only to a file that exists. Raises `Unusable` with `hint` when it fails, `Refused` for such a link.
    """
    try:
        target = _led_to(path, within)
        while not _edited(target, change, private):
            pass
    except OSError as error:
        raise cannot_write(path, error, hint) from error


def _led_to(path: Path, within: Path | None) -> Path:
    try:
        target = path.resolve()
    except RuntimeError as error:
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP)) from error
    if within is not None:
        if not target.is_relative_to(within.resolve()):
            told = f"{path} leads to {target}, which is outside of {within}"
            raise Refused(told, f"if that is the file you mean, name it: {target}", "leads_outside")
        if path.is_symlink() and not target.exists():
            raise Refused(
                f"{path} is a link to {target}, which does not exist", "delete the link first", "leads_nowhere"
            )
    return target


def _edited(path: Path, change: Callable[[bytes | None], bytes], private: bool) -> bool:
    """Whether it is done; False when another edit has put a new file there since this one was opened."""
    try:
        fd = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except FileNotFoundError:
        return _created(path, change(None), private)
    try:
        # The file itself is the lock: one beside it would be left behind in people's repositories.
        posix.lock(fd, wait=True)
        if not _is_at(path, fd):
            return False
        before = _content(fd, path, MAX_LARGE_BYTES, "file_unreadable")
        after = change(before)
        if after == before:
            return True
        _put(path, after, os.fstat(fd))
    finally:
        os.close(fd)
    _sweep(path.parent)
    return True


def _put(path: Path, content: bytes, old: os.stat_result) -> None:
    beside, fd = _beside(path, 0o600)
    try:
        if (old.st_uid, old.st_gid) != (os.geteuid(), os.getegid()):
            with contextlib.suppress(PermissionError):
                os.fchown(fd, old.st_uid, old.st_gid)
        os.fchmod(fd, stat.S_IMODE(old.st_mode) & 0o777)
        _fill(fd, content)
        beside.rename(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    finally:
        os.close(fd)
    _settle(path.parent)


def _created(path: Path, content: bytes, private: bool) -> bool:
    if not content:
        return True
    made: list[Path] = []
    try:
        _make_folders(path.parent, 0o700 if private else 0o777, made)
        beside, fd = _beside(path, 0o600 if private else 0o666)
        try:
            _fill(fd, content)
            try:
                os.link(beside, path)  # unlike a rename, it puts nothing in the place of what another has created
            except FileExistsError:
                return False
            except OSError:
                beside.rename(path)  # a file system that has no links
        finally:
            beside.unlink(missing_ok=True)
            os.close(fd)
    except BaseException:
        for folder in reversed(made):
            with contextlib.suppress(OSError):
                folder.rmdir()
        raise
    _settle(path.parent)
    _sweep(path.parent)
    return True


def _make_folders(folder: Path, mode: int, made: list[Path]) -> None:
    """Make a folder and those it is in; which were made goes into `made`, the outermost first."""
    for missing in reversed([each for each in (folder, *folder.parents) if not each.exists()]):
        with contextlib.suppress(FileExistsError):
            missing.mkdir(mode=mode)
            made.append(missing)


def _beside(path: Path, mode: int) -> tuple[Path, int]:
    """A new file beside another, locked while its writer lives; its name cannot be guessed, so no link waits there."""
    while True:
        beside = path.with_name(f".{path.name[:_NAME_KEPT]}.{os.urandom(8).hex()}.new")
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        fd = os.open(beside, flags, mode)
        with contextlib.suppress(OSError):  # a file system that has no locks; nothing is swept there either
            posix.lock(fd, wait=True)
        if _is_at(beside, fd):
            return beside, fd
        os.close(fd)  # swept before it was locked


def _fill(fd: int, content: bytes) -> None:
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(fd, rest) :]
    os.fsync(fd)


def _settle(folder: Path) -> None:
    """See to it that a new name survives a power failure, where the file system can."""
    with contextlib.suppress(OSError):
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


def _sweep(folder: Path) -> None:
    """Remove what killed writers have left in a folder: files of ours that nobody has locked any more."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for left in [Path(entry.path) for entry in entries if _BESIDE.fullmatch(entry.name)]:
            with contextlib.suppress(OSError):
                fd = os.open(left, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
                try:
                    found = os.fstat(fd)
                    is_ours = stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid()
                    if is_ours and posix.lock(fd) and _is_at(left, fd):
                        left.unlink()
                finally:
                    os.close(fd)


def _is_at(path: Path, fd: int) -> bool:
    try:
        return os.path.samestat(path.lstat(), os.fstat(fd))
    except FileNotFoundError:
        return False


def stamp(path: Path) -> object:
    """What changes whenever the file does; None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size
