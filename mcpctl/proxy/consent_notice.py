"""`[policy] notify`: the command that tells a person that a call waits for a yes, by its id and nothing else."""

import asyncio
import os
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from mcpctl.base.errors import warn
from mcpctl.base.paths import Paths
from mcpctl.config.server_environment import inherited
from mcpctl.config.server_settings import Server
from mcpctl.wire.threads import apart

_ID = "{id}"
_LONGEST_S = 10.0
_PAUSE_S = 2.0  # between two; of the calls that begin to wait meanwhile, the last one is told
_DISPLAY = ["DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "DBUS_SESSION_BUS_ADDRESS"]  # without these none is seen


class Notices:
    """Runs one command at a time, in a thread: nobody waits for it, and its failure is told once."""

    def __init__(self, paths: Paths) -> None:
        self._paths = paths
        self._next: tuple[Sequence[str], str] | None = None
        self._telling: asyncio.Task[None] | None = None
        self._running: asyncio.Future[str] | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._is_over = False

    def tell(self, command: Sequence[str], approval_id: str) -> None:
        self._next = command, approval_id
        if self._telling is None or self._telling.done():
            self._telling = asyncio.create_task(self._tell())

    async def _tell(self) -> None:
        while self._next:
            (command, id_), self._next = self._next, None
            program, *arguments = command
            words = [word.replace(_ID, id_) for word in arguments]
            self._running = apart(self._run, [program, *(words if words != arguments else [*words, id_])])
            if problem := await self._running:
                warn(f"[policy] notify: {program} {problem}; the call waits all the same")
            await asyncio.sleep(_PAUSE_S)

    def _run(self, words: Sequence[str]) -> str:
        """Why it failed; empty if it did not."""
        try:
            process = self._process = subprocess.Popen(
                [str(Path(words[0]).expanduser()) if words[0].startswith("~") else words[0], *words[1:]],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/",
                env=self._environment(), start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            return f"cannot be run: {error.strerror}"
        if self._is_over:
            _end(process)
        try:
            status = process.wait(_LONGEST_S)
        except subprocess.TimeoutExpired:
            _end(process)
            return f"has not ended in {_LONGEST_S:.0f} s, and was killed"
        return f"has failed, with status {status}" if status and not self._is_over else ""

    def _environment(self) -> dict[str, str]:
        """The usual variables, without secrets; the command may ask mcpctl of the same home about the call."""
        own = {"MCPCTL_CONFIG": str(self._paths.config), "MCPCTL_DATA_DIR": str(self._paths.data)}
        return inherited(Server(inherit_env=_DISPLAY)) | own

    async def end(self, wait_s: float) -> None:
        """Leave the one that runs a moment, and kill it then."""
        if self._running:
            await asyncio.wait({self._running}, timeout=wait_s)
        self._is_over = True
        if self._process:
            _end(self._process)
        if self._telling:
            self._telling.cancel()


def _end(process: "subprocess.Popen[bytes]") -> None:
    if process.poll() is None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)  # the leader of its own session
        process.wait()
