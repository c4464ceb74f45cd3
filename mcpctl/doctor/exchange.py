"""A program started for a moment: what it is told, its first line, and its certain end."""

import contextlib
import os
import selectors
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import NamedTuple

from mcpctl.base import posix
from mcpctl.config.server_environment import Launch

_MOST = 64 << 10
"""How much is read of what a program says; what it says beyond that is nothing that it was asked for."""
_LEAVES_S = 2.0


class Answer(NamedTuple):
    """What a program said: its first line on stdout, without an end where it has none, and its stderr."""

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


def first_line(launch: Launch, said: bytes, limit_s: float) -> Answer:
    """Start a program, tell it something, wait for one line, and end it with all that it has started.

    Raises OSError if it cannot be started.
    """
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
                stdin.write(said)
            answer = _heard(process, time.monotonic() + limit_s)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_LEAVES_S if answer.line.endswith(b"\n") else 0)
        return answer
    finally:
        if left := posix.processes({process.pid}):
            posix.signal_session(process.pid, signal.SIGKILL, left)
        process.wait()
        for stream in (process.stdout, process.stderr):
            if stream:
                stream.close()


def _heard(process: "subprocess.Popen[bytes]", last: float) -> Answer:
    assert process.stdout
    assert process.stderr
    said = {process.stdout: b"", process.stderr: b""}
    with selectors.DefaultSelector() as selector:
        for stream in said:
            selector.register(stream, selectors.EVENT_READ)
        while selector.get_map() and b"\n" not in said[process.stdout] and (left := last - time.monotonic()) > 0:
            for key, _ in selector.select(left):
                stream = process.stdout if key.fileobj is process.stdout else process.stderr
                data = os.read(key.fd, _MOST)
                said[stream] += data
                if not data or len(said[stream]) > _MOST:
                    selector.unregister(stream)
    line, end, _ = said[process.stdout].partition(b"\n")
    return Answer(line + end, said[process.stderr])
