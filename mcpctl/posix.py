"""Everything POSIX about locks and processes, in one place, so that other systems can come."""

import contextlib
import fcntl
import os
import sys
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import subprocess

_THREADS = 13
"""Where `/proc/PID/stat` has the number of threads, after the session."""


def lock(fd: int, *, shared: bool = False, wait: bool = False) -> bool:
    """Take the lock of an open file; False when another process holds it and `wait` is not set."""
    try:
        fcntl.flock(fd, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    return True


class Process(NamedTuple):
    """A process that runs, as the table of processes has it."""

    parent: int
    group: int
    session: int
    name: str


def spawn(argv: Sequence[str], env: Mapping[str, str], cwd: str | None, stdin: int) -> "subprocess.Popen[bytes]":
    """Start `argv` as the leader of a session of its own: `stdin` is a descriptor, stdout and stderr are new pipes.

    Raises OSError when it cannot be started.
    """
    import subprocess  # commands that only read records need locks, and no processes

    return subprocess.Popen(
        list(argv),
        bufsize=0,
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=dict(env),
        cwd=cwd,
        start_new_session=True,
    )


def run_aside(script: Path) -> "subprocess.Popen[bytes]":
    """Run a shell script in a session of its own, its stdin a pipe that never blocks us; it holds nothing else of ours.

    Raises OSError when there is no shell.
    """
    import subprocess  # commands that only read records need locks, and no processes

    process = subprocess.Popen(
        ["/bin/sh", str(script)],
        bufsize=0,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={"PATH": "/usr/bin:/bin"},
        cwd="/",
        start_new_session=True,
    )
    assert process.stdin
    os.set_blocking(process.stdin.fileno(), False)
    return process


def await_exit(process: "subprocess.Popen[bytes]") -> int:
    """Block until the child has exited: its exit status, or the number of the signal that ended it, negative.

    It is left a zombie, until `process.wait()`, where that can be (not on macOS before Python 3.13). As long as it is
    one, its id, which is its session's too, is given to no other process.
    """
    if hasattr(os, "waitid"):
        with contextlib.suppress(ChildProcessError):
            found = os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
            assert found
            return found.si_status if found.si_code == os.CLD_EXITED else -found.si_status
    return process.wait()


def processes(sessions: Collection[int] | None = None) -> dict[int, Process]:
    """The processes that run, by id, of these sessions or, which takes ten times as long, of all.

    Those that have ended and were not waited for are not among them. Takes some milliseconds.
    """
    return _listed_by_proc(sessions) if sys.platform == "linux" else _listed_by_ps()


def in_session(session: int, table: Mapping[int, Process]) -> dict[int, str]:
    """The processes of a session, whatever their group: ids and names."""
    return {pid: process.name for pid, process in table.items() if process.session == session}


def detached(session: int, table: Mapping[int, Process]) -> dict[int, str]:
    """What processes of a session have started in sessions of their own: ids and names."""
    return {
        pid: process.name
        for pid, process in table.items()
        if process.session != session and _descends(pid, session, table)
    }


def signal_session(session: int, number: int, table: Mapping[int, Process]) -> None:
    """Signal every process of a session that a child of ours leads, those in other groups as `table` has them."""
    if session == os.getsid(0):
        raise ValueError("this is the session that we are in ourselves")
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(session, number)
    for pid, process in table.items():
        if process.session == session != process.group:
            # By now the id may be another process's.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                if os.getsid(pid) == session:
                    os.kill(pid, number)


def is_running(pid: int) -> bool:
    """Whether a process of that id exists."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _descends(pid: int, session: int, table: Mapping[int, Process]) -> bool:
    seen: set[int] = set()
    while pid in table and pid not in seen:
        seen.add(pid)
        if table[pid].session == session:
            return True
        pid = table[pid].parent
    return False


def _listed_by_proc(sessions: Collection[int] | None = None) -> dict[int, Process]:
    found: dict[int, Process] = {}
    with os.scandir("/proc") as folders:
        pids = [int(folder.name) for folder in folders if folder.name.isdigit()]
    for pid in pids:
        with contextlib.suppress(OSError, ValueError):
            if sessions is not None and os.getsid(pid) not in sessions:
                continue
            # "pid (name) state ppid pgrp session …"; the name may hold anything, parentheses included
            before, _, after = _beginning(f"/proc/{pid}/stat").rpartition(b")")
            state, parent, group, session, *rest = after.split()
            threads = rest[_THREADS]
            if state not in b"ZX" or threads != b"1":  # one whose first thread alone has ended still runs
                name = before.partition(b"(")[2].decode("utf-8", "replace")
                found[pid] = Process(int(parent), int(group), int(session), name)
    return found


def _beginning(path: str) -> bytes:
    """As much of a file as is read at once; by its `Path` it would take twice as long."""
    fd = os.open(path, os.O_RDONLY)
    try:
        return os.read(fd, 4096)
    finally:
        os.close(fd)


def _listed_by_ps() -> dict[int, Process]:
    import subprocess  # commands that only read records need locks, and no processes

    columns = ["ps", "-A", "-o", "pid=", "-o", "ppid=", "-o", "pgid=", "-o", "state=", "-o", "comm="]
    found: dict[int, Process] = {}
    for line in (
        subprocess.run(columns, capture_output=True, check=False).stdout.decode("utf-8", "replace").splitlines()
    ):
        with contextlib.suppress(OSError, ValueError):
            pid, parent, group, state, name = line.split(maxsplit=4)
            if not state.startswith("Z"):
                # No `ps` but that of Linux says which session a process is in.
                found[int(pid)] = Process(int(parent), int(group), os.getsid(int(pid)), name)
    return found
