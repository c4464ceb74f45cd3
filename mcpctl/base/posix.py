"""Everything POSIX about locks and processes, in one place, so that other systems can be supported."""

import contextlib
import errno
import fcntl
import os
import stat
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import subprocess

_PR_SET_DUMPABLE = 4
_MOST_ENVIRONMENT = 2 << 20  # Linux's limit on arguments and environment together, unless stacks may be larger
_THREADS = 13  # the position of the number of threads in `/proc/PID/stat`, counted from after the session
_MOST_OPEN = 0.8  # the share of the files that may be open from which on no more clients are taken
_UNLIMITED = 1 << 20


def lock(fd: int, *, shared: bool = False, wait: bool = False) -> bool:
    """Lock an open file; False when another process holds the lock and `wait` is not set."""
    try:
        fcntl.flock(fd, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    return True


@contextlib.contextmanager
def opened(path: Path, flags: int, mode: int = 0o600) -> Iterator[int]:
    """The descriptor of a file, closed after the block; no process that is started gets it."""
    fd = os.open(path, flags | os.O_CLOEXEC, mode)
    try:
        yield fd
    finally:
        os.close(fd)


class Process(NamedTuple):
    parent: int
    group: int
    session: int
    name: str


def spawn(argv: Sequence[str], env: Mapping[str, str], cwd: str | None, stdin: int) -> "subprocess.Popen[bytes]":
    """Start the leader of a new session; `stdin` is a descriptor, stdout and stderr are new pipes. Raises OSError."""
    import subprocess  # commands that only read records need locks but no processes

    return subprocess.Popen(
        list(argv), bufsize=0, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=dict(env), cwd=cwd,
        start_new_session=True,
    )  # fmt: skip


def hide_environment() -> None:
    """Let no other process of this user read our environment or memory (Linux). Debuggers cannot attach, either."""
    if sys.platform == "linux":
        import ctypes  # 2 ms

        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def raise_descriptors() -> None:
    """Let this process have as many open files as the system lets its user have."""
    import resource

    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    with contextlib.suppress(ValueError, OSError):  # macOS says that there is no limit, and has one
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def most_descriptors() -> int:
    import resource

    most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return _UNLIMITED if most == resource.RLIM_INFINITY else most


def has_descriptors() -> bool:
    """Whether this process has open so few of the files that it may have that more clients may come."""
    most = most_descriptors()
    return most == _UNLIMITED or sum(1 for _ in Path("/dev/fd").iterdir()) < _MOST_OPEN * most


def resident_memory() -> int:
    """The bytes of memory that this process has now; where that is not told, those that it had at most."""
    import resource

    with contextlib.suppress(OSError):
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * resource.getpagesize()
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most << 10


def give_back_memory() -> None:
    """Give unused memory back: the C library of Linux keeps a good part of it."""
    if sys.platform == "linux":
        import ctypes

        with contextlib.suppress(AttributeError):  # other C libraries
            ctypes.CDLL(None).malloc_trim(0)


def run_aside(script: Path) -> "subprocess.Popen[bytes]":
    """Run a shell script in a new session; its stdin is a pipe that never blocks us. Raises OSError without a shell."""
    import subprocess  # commands that only read records need locks but no processes

    process = subprocess.Popen(
        ["/bin/sh", str(script)], bufsize=0, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL, env={"PATH": "/usr/bin:/bin"}, cwd="/", start_new_session=True,
    )  # fmt: skip
    assert process.stdin
    os.set_blocking(process.stdin.fileno(), False)
    return process


def await_exit(process: "subprocess.Popen[bytes]") -> int:
    """Block until the child has exited; its status, or minus its signal. It stays a zombie until `process.wait()`, so
    that nobody gets its id (but on macOS before Python 3.13)."""
    if hasattr(os, "waitid"):
        with contextlib.suppress(ChildProcessError):
            result = os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
            assert result
            return result.si_status if result.si_code == os.CLD_EXITED else -result.si_status
    return process.wait()


def processes(sessions: Collection[int] | None = None) -> dict[int, Process]:
    """The processes of these sessions by id, without zombies; without `sessions` all, in ten times the time."""
    return _processes_by_proc(sessions) if sys.platform == "linux" else _processes_by_ps()


@cache
def parents() -> Sequence[int]:
    """The parents of this process, of which one may be a launcher; without the system's first, who adopts orphans."""
    parent = os.getppid()
    pids = [parent, table[parent].parent] if parent in (table := processes()) else [parent]
    return [pid for pid in pids if pid > 1]


def environments(variable: str) -> dict[int, str]:
    """The value of a variable when a process started, by id; not of containers, which number them in another way."""
    return dict(_environments_by_proc(variable) if sys.platform == "linux" else _environments_by_ps(variable))


def reads_from(pid: int) -> int | None:
    """The inode of the pipe that is a process's stdin; None where it has none, or that is unknown."""
    try:
        status = os.stat(f"/proc/{pid}/fd/0")  # noqa: PTH116 - as with the files beside it
    except OSError:
        return None
    return status.st_ino if stat.S_ISFIFO(status.st_mode) else None


def in_session(session: int, table: Mapping[int, Process]) -> dict[int, str]:
    return {pid: process.name for pid, process in table.items() if process.session == session}


def detached(session: int, table: Mapping[int, Process]) -> dict[int, str]:
    """Processes of other sessions that processes of this session have started, by id."""
    return {
        pid: process.name
        for pid, process in table.items()
        if process.session != session and _descends(pid, session, table)
    }


def signal_session(session: int, number: int, table: Mapping[int, Process]) -> None:
    """`table` has the processes in other process groups of the session, which our child leads."""
    if session == os.getsid(0):
        raise ValueError("this is our own session")
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(session, number)
    for pid, process in table.items():
        if process.session == session != process.group:
            with contextlib.suppress(ProcessLookupError, PermissionError):  # another process may have the id by now
                if os.getsid(pid) == session:
                    os.kill(pid, number)


def has_terminal() -> bool:
    """Whether this process is in front of a terminal: a person can type there, and nobody pipes into it."""
    with contextlib.suppress(OSError), opened(Path("/dev/tty"), os.O_RDWR | os.O_NOCTTY) as terminal:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    return False


def person(place: str = "") -> str:
    """The user who runs this, the machine, and the place where: without one the terminal, where there is one."""
    import pwd

    try:
        name = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        name = f"user {os.getuid()}"
    for fd in (0, 1, 2) if not place else ():
        with contextlib.suppress(OSError):
            place = os.ttyname(fd)
            break
    return ", ".join(filter(None, (f"{name}@{os.uname().nodename}", place)))


def owner_of_connection(local: tuple[str, int], remote: tuple[str, int]) -> int | None:
    """The user whose process has the `local` end, an address and a port, of a TCP connection here (Linux)."""
    import socket  # commands that only read records need locks but no connections

    kind, family = ("tcp6", socket.AF_INET6) if ":" in local[0] else ("tcp", socket.AF_INET)
    with contextlib.suppress(OSError):
        ends = [f"{_in_hex(socket.inet_pton(family, host))}:{port:04X}" for host, port in (local, remote)]
        for line in Path(f"/proc/net/{kind}").read_text(encoding="ascii").splitlines():
            fields = line.split()
            if fields[1:3] == ends:
                return int(fields[7])
    return None


def _in_hex(address: bytes) -> str:
    """An address as the kernel prints it: by words, in the byte order of the machine."""
    words = (address[start : start + 4] for start in range(0, len(address), 4))
    return "".join(f"{int.from_bytes(word, sys.byteorder):08X}" for word in words)


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError as error:
        return isinstance(error, PermissionError)
    return True


def _descends(pid: int, session: int, table: Mapping[int, Process]) -> bool:
    seen: set[int] = set()
    while pid in table and pid not in seen:
        seen.add(pid)
        if table[pid].session == session:
            return True
        pid = table[pid].parent
    return False


def _pids() -> list[int]:
    with os.scandir("/proc") as folders:
        return [int(folder.name) for folder in folders if folder.name.isdigit()]


def _processes_by_proc(sessions: Collection[int] | None = None) -> dict[int, Process]:
    table: dict[int, Process] = {}
    for pid in _pids():
        with contextlib.suppress(OSError, ValueError):
            if sessions is not None and os.getsid(pid) not in sessions:
                continue
            # "pid (name) state ppid pgrp session …"; the name may hold anything, parentheses included
            before, _, after = _beginning(f"/proc/{pid}/stat").rpartition(b")")
            state, parent, group, session, *rest = after.split()
            threads = rest[_THREADS]
            if state not in b"ZX" or threads != b"1":  # a process of which only the first thread has ended still runs
                name = before.partition(b"(")[2].decode("utf-8", "replace")
                table[pid] = Process(int(parent), int(group), int(session), name)
    return table


def _beginning(path: str, size: int = 4096) -> bytes:
    """Reading it through `Path` would take twice as long."""
    fd = os.open(path, os.O_RDONLY)
    try:
        return os.read(fd, size)
    finally:
        os.close(fd)


def _environments_by_proc(variable: str) -> Iterator[tuple[int, str]]:
    begins = f"{variable}=".encode()
    for pid in _pids():
        with contextlib.suppress(OSError):
            if Path(f"/proc/{pid}").stat().st_uid != os.geteuid():
                continue
            texts = _beginning(f"/proc/{pid}/environ", _MOST_ENVIRONMENT).split(b"\0")
            values = [text.removeprefix(begins).decode("utf-8", "replace") for text in texts if text.startswith(begins)]
            if values and Path(f"/proc/{pid}/ns/pid").readlink() == Path("/proc/self/ns/pid").readlink():
                yield pid, values[0]


def _ps(options: str, *columns: str) -> list[str]:
    import subprocess  # commands that only read records need locks but no processes

    arguments = ["ps", options, *(word for column in columns for word in ("-o", f"{column}="))]
    return subprocess.run(arguments, capture_output=True, check=False).stdout.decode("utf-8", "replace").splitlines()


def _environments_by_ps(variable: str) -> Iterator[tuple[int, str]]:
    for line in _ps("xeww", "pid", "command"):
        pid, _, words = line.strip().partition(" ")
        if (place := words.find(f" {variable}=")) >= 0:
            yield int(pid), words[place + len(variable) + 2 :].partition(" ")[0]


def _processes_by_ps() -> dict[int, Process]:
    table: dict[int, Process] = {}
    for line in _ps("-A", "pid", "ppid", "pgid", "state", "comm"):
        with contextlib.suppress(OSError, ValueError):
            pid, parent, group, state, name = line.split(maxsplit=4)
            if not state.startswith("Z"):
                # Only the `ps` of Linux can print the session.
                table[int(pid)] = Process(int(parent), int(group), os.getsid(int(pid)), name)
    return table


def put(beside: Path, path: Path) -> None:
    """Give a file the name `path`; raises FileExistsError where there is one."""
    try:
        os.link(beside, path)
    except FileExistsError:
        raise
    except OSError:
        # On a file system without links every process looks and renames under the folder's lock.
        with opened(path.parent, os.O_RDONLY) as folder:
            lock(folder, wait=True)
            if os.path.lexists(path):
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path)) from None
            beside.rename(path)


def write(fd: int, *parts: bytes | memoryview) -> None:
    """Write all of it, however little the system takes at once."""
    for part in parts:
        rest = memoryview(part)
        while rest:
            rest = rest[os.write(fd, rest) :]


def sync_folder(folder: Path) -> None:
    with opened(folder, os.O_RDONLY) as fd:
        os.fsync(fd)
