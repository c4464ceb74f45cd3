"""Servers that have outlived the mcpctl that started them: found by a variable that each of them got."""

import os
import re
import signal
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import partial

from mcpctl.base import posix
from mcpctl.doctor.finding import Case, Finding, found
from mcpctl.upstreams.stdio import OWNER

_TERM_S, _KILL_S = 2.0, 1.0
_LOOK_S = 0.05
_VALUE = re.compile(r"(\d{1,10}):(\d{1,20})")


def of_dead_owners(_: Case) -> Iterator[Finding]:
    """What still runs though the mcpctl that started it is gone.

    Its session is certainly a server's if a process in it still reads from the pipe that the server was given. What
    has made a session of its own may be meant to stay.
    """
    table = posix.processes()
    sessions: dict[int, dict[int, int]] = defaultdict(dict)
    for pid, value in posix.environments(OWNER).items():
        match = _VALUE.fullmatch(value)
        if match and pid in table and int(match[1]) not in table:
            sessions[table[pid].session][pid] = int(match[2])
    for session, pipes in sessions.items():
        if session == os.getsid(0):
            continue
        named = ", ".join(f"{table[pid].name} ({pid})" for pid in sorted(pipes))
        if any(posix.reads_from(pid) == pipe for pid, pipe in pipes.items()):
            repair = partial(_ended, session, frozenset(pipes.items()))
            yield found("D161", f"still running: {named}", f"session {session}", repair=repair)
        else:
            pids = " ".join(map(str, sorted(pipes)))
            yield found("D162", f"still running: {named}", f"session {session}", f"if nothing needs it: kill {pids}")


def _ended(session: int, pipes: frozenset[tuple[int, int]]) -> str:
    """End what is in the session: first asked to, then made to."""
    for number, seconds in ((signal.SIGTERM, _TERM_S), (signal.SIGKILL, _KILL_S)):
        table = posix.processes({session})
        # Asked again: since it was found, its id may have become another's.
        if not any(posix.reads_from(pid) == pipe for pid, pipe in pipes if pid in table):
            break
        posix.signal_session(session, number, table)
        if _is_gone(session, time.monotonic() + seconds):
            return f"ended what was in session {session}"
    left = posix.processes({session})
    return (
        f"session {session} could not be ended: {', '.join(map(str, left))}" if left else f"session {session} is gone"
    )


def _is_gone(session: int, last: float) -> bool:
    while (left := _left(session)) and time.monotonic() < last:
        time.sleep(_LOOK_S)
    return not left


def _left(session: int) -> Mapping[int, posix.Process]:
    return posix.processes({session})
