"""The output of commands in place of `${cmd:COMMAND}`: run once, kept in memory, never stored and never shown."""

import os
import select
import shlex
import signal
import subprocess
import threading
import time
from collections import defaultdict
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from mcpctl.base.errors import McpctlError

PATIENCE_S = 10.0
LONGEST = 64 << 10
_LOOK = "run it in a shell to see why; its output is the value"


class CannotLaunch(McpctlError):
    """A server's entry needs something that this environment does not have."""

    code = "cannot_launch"


_values: dict[str, str] = {}
_running: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)


def of(command: str, env: Mapping[str, str]) -> str:
    """The output of a command without the last line break; raises `CannotLaunch`, which names its program alone. Others
    that ask for the same command meanwhile wait for it; one that failed runs again."""
    with _running[command]:
        if command not in _values:
            _values[command] = _printed(command, env)
        return _values[command]


def known(command: str) -> str:
    """Its output; empty where it has not run."""
    return _values.get(command, "")


def _printed(command: str, env: Mapping[str, str]) -> str:
    try:
        argv = shlex.split(command)
    except ValueError:
        argv = []
    if not argv:
        raise CannotLaunch("${cmd:} names no command", "write a program and its arguments, quoted as in a shell")
    program = repr(Path(argv[0]).name[:100])
    try:
        printed = _run([str(Path(argv[0]).expanduser()), *argv[1:]], env, program)
        text = printed.decode()
        if "\0" in text:
            raise ValueError
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "its output is not text"
        raise CannotLaunch(f"the command {program} cannot be used: {why}", _LOOK) from None
    return text.removesuffix("\n")


def _run(argv: list[str], env: Mapping[str, str], program: str) -> bytes:
    """All its output; a process that takes too long or prints too much is ended with all that it has started."""
    until = time.monotonic() + PATIENCE_S
    process = subprocess.Popen(
        argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=dict(env),
        start_new_session=True,
    )  # fmt: skip
    with process:
        try:
            assert process.stdout
            printed = _read(process.stdout.fileno(), until)
            if len(printed) > LONGEST:
                raise CannotLaunch(f"the command {program} prints more than {LONGEST >> 10} KB", _LOOK)
            status = process.wait(max(until - time.monotonic(), 0.0))
        except BaseException as error:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            if isinstance(error, TimeoutError | subprocess.TimeoutExpired):
                late = f"the command {program} did not end within {PATIENCE_S:g} s"
                raise CannotLaunch(late, _LOOK) from None
            raise
    if status:
        raise CannotLaunch(f"the command {program} failed with status {status}", _LOOK)
    return printed


def _read(fd: int, until: float) -> bytes:
    """All output until nobody has the pipe open any more, or a byte more than allowed; raises TimeoutError. Not a read
    that waits: a process that has left the group, which nothing here ends, may hold the other end for ever."""
    ready = select.poll()
    ready.register(fd, select.POLLIN)
    printed = b""
    while len(printed) <= LONGEST:
        if not ready.poll(max(until - time.monotonic(), 0.0) * 1000):
            raise TimeoutError
        piece = os.read(fd, LONGEST + 1 - len(printed))
        if not piece:
            break
        printed += piece
    return printed
