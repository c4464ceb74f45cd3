"""The processes of stdio servers: each server leads a session of its own, and all that is in it ends with it."""

import asyncio
import contextlib
import os
import subprocess
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from mcpctl import posix
from mcpctl.launching import Launch

_WATCHER = Path(__file__).with_name("watcher.sh")


class ServerProcesses:
    """Starts servers, and knows what runs in their sessions."""

    def __init__(self) -> None:
        self._watcher: subprocess.Popen[bytes] | None = None
        self._thread = ThreadPoolExecutor(1, "processes")
        self._looking: asyncio.Task[Mapping[int, posix.Process]] | None = None

    def start(self, launch: Launch) -> tuple["subprocess.Popen[bytes]", int]:
        """A server's process and the descriptor that its stdin is read from; raises OSError."""
        if self._watcher is None:
            with contextlib.suppress(OSError):  # without a shell nobody ends servers after a kill -9; all else works
                self._watcher = posix.run_aside(_WATCHER)
        theirs, ours = os.pipe()
        self._tell(f"starting {os.fstat(theirs).st_ino}")
        try:
            process = posix.spawn(launch.argv, launch.env, launch.cwd, theirs)
        except BaseException:
            self._tell("failed")
            os.close(ours)
            raise
        finally:
            os.close(theirs)
        self._tell(f"started {process.pid}")
        return process, ours

    async def table(self) -> Mapping[int, posix.Process]:
        """Every process that runs now. Many who ask at once share one look, which keeps nobody else waiting."""
        if self._looking is None:
            self._looking = asyncio.get_running_loop().create_task(self._looked())
        return await asyncio.shield(self._looking)

    async def _looked(self) -> Mapping[int, posix.Process]:
        await asyncio.sleep(0)
        self._looking = None  # whoever asks from here on gets what is then
        return await asyncio.get_running_loop().run_in_executor(self._thread, posix.processes)

    def ended(self, process: "subprocess.Popen[bytes]") -> None:
        """Nothing of this server is left that could be ended: from now on its id may be another process's."""
        self._tell(f"ended {process.pid}")
        process.poll()

    def close(self) -> None:
        """Watch no more, once every server has ended."""
        self._thread.shutdown(wait=False, cancel_futures=True)
        if self._watcher and self._watcher.stdin:
            self._watcher.stdin.close()
            self._watcher.kill()
            self._watcher.wait()

    def _tell(self, event: str) -> None:
        """Tell the watcher. One that is gone, or does not read, costs nothing but its service."""
        if self._watcher and self._watcher.stdin:
            with contextlib.suppress(OSError):
                self._watcher.stdin.write(f"{event}\n".encode())
