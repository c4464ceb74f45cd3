"""Everything POSIX about locks and processes, in one place, so that other systems can come."""

import contextlib
import fcntl
import functools
import os
import signal
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import subprocess

_PR_SET_PDEATHSIG = 1


def lock(fd: int, *, shared: bool = False, wait: bool = False) -> bool:
    """Take the lock of an open file; False when another process holds it and `wait` is not set."""
    try:
        fcntl.flock(fd, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    return True


def spawn(argv: Sequence[str], env: Mapping[str, str], cwd: str | None) -> "subprocess.Popen[bytes]":
    """Start `argv` with pipes on its three streams, as the leader of a process group of its own.

    Raises OSError when it cannot be started.
    """
    import subprocess  # commands that only read records need locks, and no processes

    return subprocess.Popen(
        list(argv),
        bufsize=0,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=dict(env),
        cwd=cwd,
        start_new_session=True,
        preexec_fn=_parent_death_signal(),
    )


def await_exit(process: "subprocess.Popen[bytes]") -> None:
    """Block until the child has exited, leaving it a zombie where that can be (not on macOS before Python 3.13).

    As long as it is one, its id, which is its group's too, is given to no other process.
    """
    if hasattr(os, "waitid"):
        with contextlib.suppress(ChildProcessError):
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    else:
        process.wait()


def signal_group(group: int, number: int) -> bool:
    """Signal every process of a group, or with 0 only ask for them; False when none is left."""
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        return False
    except PermissionError:
        # macOS answers so for a group in which only zombies are left.
        return False
    return True


def detached(leaders: Collection[int]) -> dict[int, dict[int, str]]:
    """What each leader and its children started in groups of their own: pids and names (Linux; elsewhere none)."""
    parents: dict[int, int] = {}
    outside: dict[int, tuple[int, str]] = {}
    for folder in Path("/proc").glob("[0-9]*") if leaders else ():
        with contextlib.suppress(OSError, ValueError, IndexError):
            # "pid (name) state ppid pgrp …"; the name may hold anything, parentheses included
            before, _, after = (folder / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")
            pid = int(folder.name)
            parents[pid] = int(after.split()[1])
            outside[pid] = int(after.split()[2]), before.partition("(")[2]
    return {
        leader: {
            pid: name for pid, (group, name) in outside.items() if group != leader and _descends(pid, leader, parents)
        }
        for leader in leaders
    }


def is_running(pid: int) -> bool:
    """Whether a process of that id exists."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _descends(pid: int, ancestor: int, parents: Mapping[int, int]) -> bool:
    seen: set[int] = set()
    while pid in parents and pid not in seen:
        seen.add(pid)
        pid = parents[pid]
        if pid == ancestor:
            return True
    return False


@functools.cache
def _parent_death_signal() -> Callable[[], None] | None:
    """What a child runs before exec, so that kill -9 of its parent ends it too (Linux alone can)."""
    if sys.platform != "linux":
        return None
    import ctypes  # commands that only read records need locks, and no processes

    # Looked up before any fork: after it, the child must not touch the loader's locks.
    prctl = ctypes.CDLL(None).prctl

    def ask() -> None:
        prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)

    return ask
