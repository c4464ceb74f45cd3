"""The processes of stdio servers: each server leads a session of its own, and all that is in it ends with it."""

import asyncio
import contextlib
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from mcpctl.base import posix
from mcpctl.config.server_environment import Launch
from mcpctl.wire.threads import beside

OWNER = "MCPCTL_OWNER"
"""The variable by which a server that is left over is known: who started it, and the inode of the pipe it reads."""
_WATCHER = Path(__file__).with_name("watcher.sh")


class ServerProcesses:
    """Starts servers, and knows what runs in their sessions."""

    def __init__(self) -> None:
        self._watcher: subprocess.Popen[bytes] | None = None
        self._sessions: set[int] = set()
        self._looking: dict[bool, asyncio.Task[Mapping[int, posix.Process]]] = {}

    def start(self, launch: Launch) -> tuple["subprocess.Popen[bytes]", int]:
        """A server's process and the descriptor that its stdin is read from; raises OSError."""
        if self._watcher is None:
            with contextlib.suppress(OSError):  # without a shell nobody ends servers after a kill -9; all else works
                self._watcher = posix.run_aside(_WATCHER)
        theirs, ours = os.pipe()
        pipe = os.fstat(theirs).st_ino
        self._tell(f"starting {pipe}")
        try:
            process = posix.spawn(launch.argv, {**launch.env, OWNER: f"{os.getpid()}:{pipe}"}, launch.cwd, theirs)
        except BaseException:
            self._tell("failed")
            os.close(ours)
            raise
        finally:
            os.close(theirs)
        self._tell(f"started {process.pid}")
        self._sessions.add(process.pid)
        return process, ours

    async def table(self, *, everything: bool = False) -> Mapping[int, posix.Process]:
        """What runs now in the servers' sessions, or on the whole machine.

        Many who ask at once share one look, which keeps nobody else waiting.
        """
        if everything not in self._looking:
            self._looking[everything] = asyncio.get_running_loop().create_task(self._looked(everything))
        return await asyncio.shield(self._looking[everything])

    async def _looked(self, everything: bool) -> Mapping[int, posix.Process]:
        await asyncio.sleep(0)
        del self._looking[everything]  # whoever asks from here on gets what is then
        sessions = None if everything else set(self._sessions)
        return await beside(posix.processes, sessions)

    def ended(self, process: "subprocess.Popen[bytes]") -> None:
        """Nothing of this server is left that could be ended: from now on its id may be another process's."""
        self._tell(f"ended {process.pid}")
        self._sessions.discard(process.pid)
        process.poll()

    def close(self) -> None:
        """Watch no more, once every server has ended."""
        if self._watcher and self._watcher.stdin:
            self._watcher.stdin.close()
            self._watcher.kill()
            self._watcher.wait()

    def _tell(self, event: str) -> None:
        """Tell the watcher. One that is gone, or does not read, costs nothing but its service."""
        if self._watcher and self._watcher.stdin:
            with contextlib.suppress(OSError):
                self._watcher.stdin.write(f"{event}\n".encode())
