"""Processes: a program started for a moment, and servers that have outlived the mcpctl that started them."""

import contextlib
import os
import re
import selectors
import shutil
import signal
import subprocess
import time
from collections import defaultdict
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from mcpctl.base import posix
from mcpctl.config.server_environment import Launch
from mcpctl.doctor.findings import Case, DoctorFinding, finding
from mcpctl.upstreams.stdio import OWNER

_MOST = 64 << 10  # bytes that are read of a program's output
_LEAVES_S = 2.0
_TERM_S, _KILL_S = 2.0, 1.0
_LOOK_S = 0.05
_VALUE = re.compile(r"(\d{1,10}):(\d{1,20})")


class ProgramOutput(NamedTuple):
    """The first line on stdout, without its end where it has none, and stderr."""

    line: bytes
    stderr: bytes


def program(launch: Launch) -> Path | None:
    """The file that a launch starts, looked for as the system does; None where there is none."""
    command = launch.argv[0]
    if os.sep not in command:
        found = shutil.which(command, path=launch.env.get("PATH", os.defpath))
        return Path(found) if found else None
    file = Path(launch.cwd or Path.cwd()) / command
    return file if file.is_file() and os.access(file, os.X_OK) else None


def first_line(launch: Launch, message: bytes, limit_s: float) -> ProgramOutput:
    """Start a program, send it a message, wait for one line, and end it and all that it started. Raises OSError."""
    theirs, ours = os.pipe()
    try:
        process = posix.spawn(launch.argv, launch.env, launch.cwd, theirs)
    except BaseException:
        os.close(ours)
        raise
    finally:
        os.close(theirs)
    try:
        with open(ours, "wb", buffering=0) as stdin:  # noqa: PTH123 - a descriptor
            with contextlib.suppress(BrokenPipeError):  # it has ended already, and may have said why
                stdin.write(message)
            output = _read(process, time.monotonic() + limit_s)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_LEAVES_S if output.line.endswith(b"\n") else 0)
        return output
    finally:
        if left := posix.processes({process.pid}):
            posix.signal_session(process.pid, signal.SIGKILL, left)
        process.wait()
        for stream in (process.stdout, process.stderr):
            if stream:
                stream.close()


def _read(process: "subprocess.Popen[bytes]", deadline: float) -> ProgramOutput:
    assert process.stdout
    assert process.stderr
    output = {process.stdout: b"", process.stderr: b""}
    with selectors.DefaultSelector() as selector:
        for stream in output:
            selector.register(stream, selectors.EVENT_READ)
        while selector.get_map() and b"\n" not in output[process.stdout] and (left := deadline - time.monotonic()) > 0:
            for key, _ in selector.select(left):
                stream = process.stdout if key.fileobj is process.stdout else process.stderr
                data = os.read(key.fd, _MOST)
                output[stream] += data
                if not data or len(output[stream]) > _MOST:
                    selector.unregister(stream)
    line, end, _ = output[process.stdout].partition(b"\n")
    return ProgramOutput(line + end, output[process.stderr])


def of_dead_owners(_: Case) -> Iterator[DoctorFinding]:
    """Servers that still run though the mcpctl that started them is gone, found by a variable that each of them got. A
    session is certainly a server's if a process in it still reads from the pipe that the server was given. A process
    that has made a session of its own may be meant to stay."""
    table = posix.processes()
    sessions: dict[int, dict[int, int]] = defaultdict(dict)
    for pid, value in posix.environments(OWNER).items():
        match = _VALUE.fullmatch(value)
        if match and pid in table and int(match[1]) not in table:
            sessions[table[pid].session][pid] = int(match[2])
    for session, pipes in sessions.items():
        if session == os.getsid(0):
            continue
        message = f"still running: {', '.join(f'{table[pid].name} ({pid})' for pid in sorted(pipes))}"
        if any(posix.reads_from(pid) == pipe for pid, pipe in pipes.items()):
            repair = partial(_ended, session, frozenset(pipes.items()))
            yield finding("D161", message, f"session {session}", repair=repair)
        else:
            pids = " ".join(map(str, sorted(pipes)))
            yield finding("D162", message, f"session {session}", f"if nothing needs it: kill {pids}")


def _ended(session: int, pipes: frozenset[tuple[int, int]]) -> str:
    """End the processes of the session: first by request, then by force."""
    for number, seconds in ((signal.SIGTERM, _TERM_S), (signal.SIGKILL, _KILL_S)):
        table = posix.processes({session})
        # Checked again: since it was found, its id may have become another's.
        if not any(posix.reads_from(pid) == pipe for pid, pipe in pipes if pid in table):
            break
        posix.signal_session(session, number, table)
        if _is_gone(session, time.monotonic() + seconds):
            return f"ended what was in session {session}"
    if left := posix.processes({session}):
        return f"session {session} could not be ended: {', '.join(map(str, left))}"
    return f"session {session} is gone"


def _is_gone(session: int, deadline: float) -> bool:
    while (left := posix.processes({session})) and time.monotonic() < deadline:
        time.sleep(_LOOK_S)
    return not left
